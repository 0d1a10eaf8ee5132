//! Server-sent events: `arrays`, `runs`, `job`, `course` and `making`, each with one JSON document,
//! when it has changed.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::State;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_core::Stream;
use serde_json::Value;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::watch;

use crate::{App, Shared, views};

/// How often arrays are asked and runs looked at.
const EVERY: Duration = Duration::from_secs(1);

/// What a page hears; it ends when the page is closed.
struct EventStream(Receiver<Event>);

impl Stream for EventStream {
    type Item = Result<Event, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|event| event.map(Ok))
    }
}

/// The answer that goes on.
pub(crate) async fn events(State(app): State<Shared>) -> impl IntoResponse {
    let (sender, receiver) = mpsc::channel(8);
    tokio::spawn(pass_on("job", app.changes.watch(), sender.clone()));
    tokio::spawn(pass_on("course", app.changes.watch_course(), sender.clone()));
    tokio::spawn(pass_on("making", app.changes.watch_making(), sender.clone()));
    tokio::spawn(look(app, sender));
    Sse::new(EventStream(receiver)).keep_alive(KeepAlive::default())
}

/// Sends what is being done, at once and whenever it changes.
async fn pass_on(name: &str, mut told: watch::Receiver<String>, sender: Sender<Event>) {
    loop {
        let event = Event::default().event(name).data(told.borrow_and_update().clone());
        if sender.send(event).await.is_err() {
            return;
        }
        tokio::select! {
            changed = told.changed() => if changed.is_err() { return },
            () = sender.closed() => return,
        }
    }
}

/// Looks again and again, and sends what is not as it was.
async fn look(app: Shared, sender: Sender<Event>) {
    let (mut arrays, mut runs) = (Value::Null, Value::Null);
    loop {
        let shared = Arc::clone(&app);
        let looked = tokio::task::spawn_blocking(move || both(&shared)).await;
        let Ok((new_arrays, new_runs)) = looked else { return };
        for (name, was, is) in [("arrays", &mut arrays, new_arrays), ("runs", &mut runs, new_runs)]
        {
            if *was == is {
                continue;
            }
            let event = Event::default().event(name).data(is.to_string());
            *was = is;
            if sender.send(event).await.is_err() {
                return;
            }
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY) => (),
            () = sender.closed() => return,
        }
    }
}

fn both(app: &App) -> (Value, Value) {
    // Which runs go on is asked first: their arrays have no buttons.
    let runs = app.runs.all();
    (views::arrays(&app.machine, &app.runs), runs)
}
