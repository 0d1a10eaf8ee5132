//! Addresses and what answers them.

use std::collections::HashMap;
use std::sync::Arc;

use ::words::{Language, Message, Text};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Query, Request, State};
use axum::http::Method;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderName, HeaderValue, ORIGIN,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::access::RequestAccess;
use crate::board::Board;
use crate::creation::{Creation, DrivesToErase};
use crate::http::Admission;
use crate::questions::LayoutQuestions;
use crate::refusal::Refusal;
use crate::verbs::{Measure, SavedPlan, Verb};
use crate::views::ComparedRuns;
use crate::{Shared, catalogue, events, views, words};

/// The page: one file, with nothing in it that is fetched.
const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What every answer may do that says nothing else: nothing.
const NOTHING: &str =
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// A report is a page of its own with scripts in it. It runs apart from this one, as if it came
/// from elsewhere: it can ask nothing.
const REPORT: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
    img-src data: blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; \
    sandbox allow-scripts allow-downloads";

/// All addresses, behind the gate.
pub(crate) fn router(app: Shared) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/report", get(report))
        .route("/api/about", get(about))
        .route("/api/drives", get(drives))
        .route("/api/events", get(events::events))
        .route("/api/choose", post(choose))
        .route("/api/plan", get(starter).post(plan))
        .route("/api/plan/save", post(save))
        .route("/api/board", post(board))
        .route("/api/board/stop", post(stop))
        .route("/api/run", post(run))
        .route("/api/run/stop", post(stop))
        .route("/api/run/delete", post(delete))
        .route("/api/compare", post(compare))
        .route("/api/do", post(act))
        .route("/api/create", post(create))
        .route("/api/create/drives", post(erased))
        .fallback(|| async { Refusal::not_found(catalogue::NO_PAGE) })
        .layer(middleware::from_fn_with_state(Arc::clone(&app), gate))
        .with_state(app)
}

/// Answers what may be asked, and says in every answer how little may be done with it.
async fn gate(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let mut answer = match judge(&app, &request) {
        Ok(()) => {
            if let Some(admission) = request.extensions().get::<Admission>() {
                admission.keep();
            }
            next.run(request).await
        }
        Err(why) => Refusal::forbidden(why).into_response(),
    };
    let headers = answer.headers_mut();
    for (name, value) in [
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(NOTHING));
    answer
}

fn judge(app: &crate::App, request: &Request) -> Result<(), Message> {
    let text = |name: &HeaderName| request.headers().get(name).and_then(|text| text.to_str().ok());
    let said = Query::<HashMap<String, String>>::try_from_uri(request.uri());
    app.access.judge(&RequestAccess {
        changes: !matches!(*request.method(), Method::GET | Method::HEAD),
        host: text(&HOST),
        origin: text(&ORIGIN),
        site: text(&HeaderName::from_static("sec-fetch-site")),
        token: said.as_ref().ok().and_then(|said| said.get("token")).map(String::as_str),
    })
}

type Answer = Result<Response, Refusal>;

fn document(value: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

/// Runs what waits for files and sockets where it holds up nothing else.
async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, host::Error> + Send + 'static,
) -> Result<T, Refusal> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result.map_err(Refusal::from),
        Err(_) => Err(Refusal::failed(catalogue::NOT_LOOKED)),
    }
}

/// A request's document.
fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T, Refusal> {
    serde_json::from_slice(body)
        .map_err(|error| Refusal::bad(Text::verbatim(&error)).at(catalogue::SENT))
}

async fn page(State(app): State<Shared>) -> Answer {
    // Each answer has a word of its own, and only what carries it is run or used as a style.
    let nonce = crate::access::secret()
        .map_err(|error| Refusal::failed(host::Error::from_io(catalogue::MAKING_PAGE, &error)))?;
    let script = SCRIPT.replacen("{japanese}", &words::japanese(), 1);
    let page = PAGE
        .replace("{nonce}", &nonce)
        .replace("{language}", app.language.tag())
        .replace("{style}", STYLE)
        .replace("{script}", &script);
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
        connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'; \
        form-action 'none'"
    );
    let headers =
        [(CONTENT_TYPE, "text/html; charset=utf-8".to_owned()), (CONTENT_SECURITY_POLICY, policy)];
    Ok((headers, page).into_response())
}

/// What a request's address says beside the path.
type Said = Query<HashMap<String, String>>;

async fn report(State(app): State<Shared>, Query(said): Said) -> Answer {
    let id = said.get("run").cloned().ok_or_else(|| Refusal::bad(catalogue::NAME_A_RUN))?;
    let language = app.language_of(&said);
    let page = beside(move || app.runs.report(&id, language)).await?;
    let headers = [(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_SECURITY_POLICY, REPORT)];
    Ok((headers, page).into_response())
}

/// What the page has to know of this start.
async fn about(State(app): State<Shared>) -> Answer {
    Ok(document(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "allow_changes": app.allow_changes,
        "runs": app.runs.folder(),
        "folder": std::env::current_dir().unwrap_or_default(),
        "profiles": Board::profiles(),
    })))
}

async fn drives() -> Answer {
    Ok(document(&beside(|| Ok(json!(host::guard::drives()))).await?))
}

/// What models say to the three questions. Nothing is changed, so it asks for no leave.
async fn choose(body: Bytes) -> Answer {
    let asked: LayoutQuestions = read(&body)?;
    Ok(document(&beside(move || asked.answer()).await?))
}

/// A commented plan to start from.
async fn starter() -> Answer {
    Ok(document(&json!({ "text": lab::plan::starter() })))
}

/// What a plan comes to. Nothing is changed, so it asks for no leave.
async fn plan(State(app): State<Shared>, body: Bytes) -> Answer {
    let text: HashMap<String, String> = read(&body)?;
    let text = text.get("text").cloned().unwrap_or_default();
    Ok(document(&beside(move || views::plan(&text, app.runs.folder())).await?))
}

async fn save(State(app): State<Shared>, body: Bytes) -> Answer {
    app.allows_changes()?;
    let plan: SavedPlan = read(&body)?;
    Ok(document(&beside(move || plan.save(app.runs.folder())).await?))
}

async fn board(State(app): State<Shared>, Query(said): Said, body: Bytes) -> Answer {
    app.allows_changes()?;
    let board: Board = read(&body)?;
    app.changes.start_board(board, app.language_of(&said))?;
    Ok(document(&json!({ "started": true })))
}

async fn run(State(app): State<Shared>, Query(said): Said, body: Bytes) -> Answer {
    app.allows_changes()?;
    let measure: Measure = read(&body)?;
    let shared = Shared::clone(&app);
    let (what, arguments) = beside(move || measure.arguments(&shared.runs)).await?;
    let folder = app.runs.folder().to_owned();
    app.changes.start_run(what, arguments, folder, app.language_of(&said))?;
    Ok(document(&json!({ "started": true })))
}

async fn stop(State(app): State<Shared>) -> Answer {
    app.allows_changes()?;
    Ok(document(&json!({ "stopping": app.changes.stop() })))
}

async fn act(State(app): State<Shared>, Query(said): Said, body: Bytes) -> Answer {
    app.allows_changes()?;
    let verb: Verb = read(&body)?;
    if let Some(name) = verb.running_array().map(str::to_owned) {
        let shared = Shared::clone(&app);
        beside(move || views::need_unmeasured(&name, &shared.runs)).await?;
    }
    Ok(document(&app.changes.act(verb, app.language_of(&said)).await?))
}

/// What two runs are against each other. Nothing is changed, so it asks for no leave.
async fn compare(State(app): State<Shared>, body: Bytes) -> Answer {
    let asked: ComparedRuns = read(&body)?;
    Ok(document(&beside(move || app.runs.compare(&asked)).await?))
}

/// Deletes a run of the folder.
async fn delete(State(app): State<Shared>, body: Bytes) -> Answer {
    app.allows_changes()?;
    let said: HashMap<String, String> = read(&body)?;
    let run = said.get("run").cloned().ok_or_else(|| Refusal::bad(catalogue::NAME_A_RUN))?;
    let held = app.changes.begin()?;
    let shared = Shared::clone(&app);
    let deleted = beside(move || shared.runs.delete(&run)).await;
    drop(held);
    Ok(document(&deleted?))
}

/// What is on the drives that would be erased.
async fn erased(State(app): State<Shared>, body: Bytes) -> Answer {
    app.allows_changes()?;
    let erasing: DrivesToErase = read(&body)?;
    Ok(document(&beside(move || erasing.drives()).await?))
}

async fn create(State(app): State<Shared>, Query(said): Said, body: Bytes) -> Answer {
    app.allows_changes()?;
    let creation: Creation = read(&body)?;
    let creation = beside(move || creation.check().map(|()| creation)).await?;
    let folder = app.runs.folder().to_owned();
    app.changes.start_making(creation, folder, app.language_of(&said))?;
    Ok(document(&json!({ "started": true })))
}

impl crate::App {
    fn allows_changes(&self) -> Result<(), Refusal> {
        if self.allow_changes {
            return Ok(());
        }
        Err(Refusal::forbidden(catalogue::LOOKING_ONLY))
    }

    /// The language that the page speaks, as it says in a request.
    fn language_of(&self, said: &HashMap<String, String>) -> Language {
        let tag = said.get("lang").map_or("", String::as_str);
        Language::ALL.into_iter().find(|language| language.tag() == tag).unwrap_or(self.language)
    }
}
