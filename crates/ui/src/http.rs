//! HTTP for what this machine alone may ask: connections that are limited in number and in time.
//!
//! ```text
//!   accept ──> no room left: the oldest connection goes of whose requests none was let in
//!      └─────> a request's head has to be there in its time, or the connection ends
//! ```
//!
//! Any user of the machine can connect. Who only holds connections, or sends half a request, must
//! not keep out those who may ask.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::Extension;
use axum::http::StatusCode;
use axum::http::header::{CONNECTION, CONTENT_TYPE};
use axum::routing::get;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

/// How much strangers may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Connections at a time.
    pub(crate) connections: usize,
    /// How long a request's head may take, from the moment when one could come.
    pub(crate) head_time: Duration,
}

/// Browsers have up to six to a page; the rest is for several of them.
const LIMITS: Limits = Limits { connections: 128, head_time: Duration::from_secs(10) };

/// After a failure to accept, which passes when connections end.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The connection that a request came over.
#[derive(Clone, Debug, Default)]
pub(crate) struct Admission(Arc<AtomicBool>);

impl Admission {
    /// Who asks may ask: the connection is not ended for another.
    pub(crate) fn keep(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_kept(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Answers requests for ever.
pub(crate) async fn serve(listener: TcpListener, router: Router) -> Infallible {
    serve_within(LIMITS, listener, router).await
}

async fn serve_within(limits: Limits, listener: TcpListener, router: Router) -> Infallible {
    let mut open: VecDeque<(Admission, AbortHandle)> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        open.retain(|(_, task)| !task.is_finished());
        if open.len() >= limits.connections {
            let idle = open.iter().position(|(admission, _)| !admission.is_kept());
            match idle.and_then(|idle| open.remove(idle)) {
                Some((_, task)) => task.abort(),
                None => continue,
            }
        }
        let admission = Admission::default();
        let service = TowerToHyperService::new(router.clone().layer(Extension(admission.clone())));
        let answered = async move {
            // Who hangs up early, or too late, gets nothing.
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(limits.head_time)
                .serve_connection(TokioIo::new(stream), service)
                .await;
        };
        open.push_back((admission, tokio::spawn(answered).abort_handle()));
    }
}

/// Answers `GET PATH` with a text of this type, and everything else with what there is. Blocks for
/// ever, unless there is nothing to serve with: then it says why.
pub fn serve_text(
    listener: std::net::TcpListener,
    (path, content_type): (&'static str, &'static str),
    text: impl Fn() -> String + Clone + Send + Sync + 'static,
) -> io::Error {
    let answer = move || {
        let text = text();
        async move { ([(CONTENT_TYPE, content_type), (CONNECTION, "close")], text) }
    };
    let unknown = move || async move {
        let text = format!("only GET {path} is answered\n");
        (StatusCode::NOT_FOUND, [(CONNECTION, "close")], text)
    };
    let router = Router::new()
        .route(path, get(answer))
        .method_not_allowed_fallback(unknown)
        .fallback(unknown);
    let served = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        listener.set_nonblocking(true)?;
        runtime.block_on(async { Ok(serve(TcpListener::from_std(listener)?, router).await) })
    };
    match served() {
        Ok(never) => match never {},
        Err(error) => error,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};
    use std::time::Duration;

    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    /// A page that lets in who asks for `/kept`.
    fn start(limits: Limits) -> SocketAddr {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            let kept = |Extension(admission): Extension<Admission>| async move {
                admission.keep();
                "kept"
            };
            let router =
                Router::new().route("/", get(|| async { "page" })).route("/kept", get(kept));
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                listener.set_nonblocking(true).expect("not blocking");
                serve_within(limits, TcpListener::from_std(listener).expect("a port"), router).await
            })
        });
        address
    }

    fn connect(address: SocketAddr) -> TcpStream {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a deadline");
        stream
    }

    fn ask(mut stream: &TcpStream, path: &str) -> String {
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").expect("asked");
        let mut answer = Vec::new();
        while !answer.ends_with(b"page") && !answer.ends_with(b"kept") {
            let mut byte = [0];
            match stream.read(&mut byte) {
                Ok(1) => answer.push(byte[0]),
                ended => panic!("{ended:?} after {}", String::from_utf8_lossy(&answer)),
            }
        }
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn has_ended(mut stream: &TcpStream) -> bool {
        matches!(stream.read(&mut [0]), Ok(0) | Err(_))
    }

    #[test]
    fn half_a_request_and_none_end_in_their_time() {
        let address = start(Limits { connections: 8, head_time: Duration::from_millis(50) });
        let (silent, half) = (connect(address), connect(address));
        (&half).write_all(b"GET / HTTP/1.1\r\nHo").expect("half a request");
        assert!(has_ended(&silent) && has_ended(&half));
    }

    #[test]
    fn connections_that_ask_nothing_keep_nobody_out() {
        let address = start(Limits { connections: 4, head_time: LONG });
        let kept = connect(address);
        assert!(ask(&kept, "/kept").ends_with("kept"));
        let held: Vec<TcpStream> = (0..20).map(|_| connect(address)).collect();
        assert!(ask(&connect(address), "/").ends_with("page"));
        assert!(has_ended(&held[0]), "the oldest went first");
        assert!(ask(&kept, "/").ends_with("page"), "who was let in stays");
    }
}
