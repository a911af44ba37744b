//! A receiver of webhooks on a port of its own: it notes what arrives, and answers as the test says.

use std::{convert::Infallible, sync::Arc};

use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{
    body::{Bytes, Incoming},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

use super::{TestCertificate, eventually};

/// One request.
#[derive(Clone, Debug)]
pub struct Arrived {
    /// "POST /hook"
    pub line: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

#[derive(Clone, Debug)]
pub enum Reply {
    Status(u16),
    Json(u16, Value),
    /// 429, with so many seconds of Retry-After.
    Busy(u32),
    /// Never.
    Nothing,
    /// What this makes of the body.
    Of(fn(&Value) -> Reply),
}

/// Stops with the test.
pub struct TestReceiver {
    url: String,
    desk: Arc<Desk>,
    _server: JoinSet<()>,
}

struct Desk {
    arrived: Mutex<Vec<Arrived>>,
    reply: Mutex<Reply>,
    /// By the end of the path; the last one that fits counts, before `reply`.
    by_path: Mutex<Vec<(String, Reply)>>,
}

impl Desk {
    fn open(reply: Reply) -> Arc<Desk> {
        Arc::new(Desk { arrived: Mutex::default(), reply: Mutex::new(reply), by_path: Mutex::default() })
    }

    fn reply_to(&self, path: &str) -> Reply {
        let by_path = self.by_path.lock();
        let found = by_path.iter().rev().find(|(end, _)| path.ends_with(end.as_str())).map(|(_, reply)| reply.clone());
        found.unwrap_or_else(|| self.reply.lock().clone())
    }
}

impl Arrived {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a body of JSON")
    }

    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name}")).to_str().expect("a text")
    }

    /// The id of the event.
    pub fn id(&self) -> String {
        self.header("webhook-id").to_owned()
    }
}

impl TestReceiver {
    pub async fn start(reply: Reply) -> TestReceiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let desk = Desk::open(reply);
        let mut server = JoinSet::new();
        server.spawn(serve(listener, None, desk.clone()));
        TestReceiver { url, desk, _server: server }
    }

    /// The same over TLS.
    pub async fn start_encrypted(reply: Reply, certificate: &TestCertificate) -> TestReceiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("https://{}/hook", listener.local_addr().expect("an address"));
        let desk = Desk::open(reply);
        let mut server = JoinSet::new();
        server.spawn(serve(listener, Some(certificate.acceptor()), desk.clone()));
        TestReceiver { url, desk, _server: server }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Without a path.
    pub fn base(&self) -> &str {
        self.url.trim_end_matches("/hook")
    }

    pub fn reply(&self, reply: Reply) {
        *self.desk.reply.lock() = reply;
    }

    /// For paths that end so.
    pub fn reply_at(&self, end_of_path: &str, reply: Reply) {
        self.desk.by_path.lock().push((end_of_path.to_owned(), reply));
    }

    pub fn arrived(&self) -> Vec<Arrived> {
        self.desk.arrived.lock().clone()
    }

    /// All, once there are so many.
    pub async fn wait_for(&self, count: usize) -> Vec<Arrived> {
        let what = format!("{count} webhooks");
        eventually(&what, async || Some(self.arrived()).filter(|arrived| arrived.len() >= count)).await
    }
}

async fn serve(listener: TcpListener, acceptor: Option<TlsAcceptor>, desk: Arc<Desk>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, desk) = (acceptor.clone(), desk.clone());
        connections.spawn(async move {
            // The host may not believe us, and may go away at any time.
            match acceptor {
                None => answer(stream, desk).await,
                Some(acceptor) => {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        answer(stream, desk).await;
                    }
                }
            }
        });
    }
}

async fn answer(stream: impl AsyncRead + AsyncWrite + Unpin, desk: Arc<Desk>) {
    let answer = service_fn(|request| receive(desk.clone(), request));
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
}

async fn receive(desk: Arc<Desk>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.expect("a whole body").to_bytes();
    let (line, reply) = (format!("{} {}", head.method, head.uri), desk.reply_to(head.uri.path()));
    let reply = match reply {
        Reply::Of(makes) => makes(&serde_json::from_slice(&body).expect("a body of JSON")),
        reply => reply,
    };
    desk.arrived.lock().push(Arrived { line, headers: head.headers, body });
    let (answer, body) = match reply {
        Reply::Status(status) => (Response::builder().status(status), String::new()),
        Reply::Json(status, body) => {
            (Response::builder().status(status).header("content-type", "application/json"), body.to_string())
        }
        Reply::Busy(seconds) => (Response::builder().status(429).header("retry-after", seconds), String::new()),
        Reply::Nothing | Reply::Of(_) => return std::future::pending().await,
    };
    Ok(answer.body(Full::from(body)).expect("an answer that can be sent"))
}
