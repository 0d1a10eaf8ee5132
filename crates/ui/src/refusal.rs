//! Why a request was not done.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use host::{Ending, Error};
use serde_json::json;

/// Why a request was not done: a status, and one line for people.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    text: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, text: impl Into<String>) -> Refusal {
        Refusal { status, text: text.into() }
    }

    /// The line.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What was sent makes no sense.
    pub(crate) fn bad(text: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::BAD_REQUEST, text)
    }

    /// It may not be done.
    pub(crate) fn forbidden(text: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::FORBIDDEN, text)
    }

    /// There is no such thing.
    pub(crate) fn not_found(text: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::NOT_FOUND, text)
    }

    /// The same with where it stands in front.
    pub(crate) fn at(self, place: &str) -> Refusal {
        Refusal { text: format!("{place}: {}", self.text), ..self }
    }

    /// It was tried and failed.
    pub(crate) fn failed(text: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, text)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        let status = match error.ending() {
            Ending::Usage => StatusCode::BAD_REQUEST,
            Ending::Refused => StatusCode::FORBIDDEN,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Refusal::new(status, error.to_string())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let text = json!({ "error": self.text }).to_string();
        (self.status, [(CONTENT_TYPE, "application/json")], text).into_response()
    }
}
