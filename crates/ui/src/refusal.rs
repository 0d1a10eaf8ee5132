//! Why a request was not done.

use ::words::Text;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use host::{Ending, Error};
use serde_json::json;

/// Why a request was not done: a status, and one line for people, which the page puts into its
/// language.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    text: Text,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, text: impl Into<Text>) -> Refusal {
        Refusal { status, text: text.into() }
    }

    /// The line.
    pub(crate) fn text(&self) -> &Text {
        &self.text
    }

    /// What was sent makes no sense.
    pub(crate) fn bad(text: impl Into<Text>) -> Refusal {
        Refusal::new(StatusCode::BAD_REQUEST, text)
    }

    /// It may not be done.
    pub(crate) fn forbidden(text: impl Into<Text>) -> Refusal {
        Refusal::new(StatusCode::FORBIDDEN, text)
    }

    /// There is no such thing.
    pub(crate) fn not_found(text: impl Into<Text>) -> Refusal {
        Refusal::new(StatusCode::NOT_FOUND, text)
    }

    /// The same with where it stands in front.
    pub(crate) fn at(self, place: impl Into<Text>) -> Refusal {
        Refusal { text: self.text.at(place), ..self }
    }

    /// It was tried and failed.
    pub(crate) fn failed(text: impl Into<Text>) -> Refusal {
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
        Refusal::new(status, error.text().clone())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let text = json!({ "error": self.text.english(), "parts": self.text.parts() }).to_string();
        (self.status, [(CONTENT_TYPE, "application/json")], text).into_response()
    }
}
