//! A receiver of webhooks on a port of its own: it notes what arrives, and answers as the test says.

use std::{convert::Infallible, sync::Arc};

use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper::{
    body::{Bytes, Incoming},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
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

#[derive(Clone, Copy, Debug)]
pub enum Reply {
    Status(u16),
    /// 429, with so many seconds of Retry-After.
    Busy(u32),
    /// Never.
    Nothing,
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
}

impl Arrived {
    pub fn json(&self) -> serde_json::Value {
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
        let desk = Arc::new(Desk { arrived: Mutex::default(), reply: Mutex::new(reply) });
        let mut server = JoinSet::new();
        server.spawn(serve(listener, None, desk.clone()));
        TestReceiver { url, desk, _server: server }
    }

    /// The same over TLS.
    pub async fn start_encrypted(reply: Reply, certificate: &TestCertificate) -> TestReceiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("https://{}/hook", listener.local_addr().expect("an address"));
        let desk = Arc::new(Desk { arrived: Mutex::default(), reply: Mutex::new(reply) });
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

async fn receive(desk: Arc<Desk>, request: Request<Incoming>) -> Result<Response<Empty<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.expect("a whole body").to_bytes();
    let line = format!("{} {}", head.method, head.uri);
    desk.arrived.lock().push(Arrived { line, headers: head.headers, body });
    let reply = *desk.reply.lock();
    match reply {
        Reply::Status(status) => {
            Ok(Response::builder().status(status).body(Empty::new()).expect("an answer that can be sent"))
        }
        Reply::Busy(seconds) => {
            let busy = Response::builder().status(429).header("retry-after", seconds);
            Ok(busy.body(Empty::new()).expect("an answer that can be sent"))
        }
        Reply::Nothing => std::future::pending().await,
    }
}
