//! An HTTP server on its own port that records requests and sends the responses that the test sets.

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

/// A request that a [`TestReceiver`] received.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    /// The method and the path: "POST /hook".
    pub line: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

#[derive(Clone, Debug)]
pub enum ReceiverResponse {
    Status(u16),
    Json(u16, Value),
    /// Status 429 with `Retry-After` in seconds.
    RetryAfter(u32),
    /// No response: the request stays open.
    Never,
    /// The response that the function computes from the JSON body.
    FromBody(fn(&Value) -> ReceiverResponse),
}

/// A receiver that stops when it is dropped.
pub struct TestReceiver {
    url: String,
    state: Arc<State>,
    _server: JoinSet<()>,
}

struct State {
    received: Mutex<Vec<ReceivedRequest>>,
    response: Mutex<ReceiverResponse>,
    /// Responses by the end of the path. The last one that matches takes precedence over `response`.
    by_path: Mutex<Vec<(String, ReceiverResponse)>>,
}

impl State {
    fn new(response: ReceiverResponse) -> Arc<State> {
        Arc::new(State { received: Mutex::default(), response: Mutex::new(response), by_path: Mutex::default() })
    }

    fn response_to(&self, path: &str) -> ReceiverResponse {
        let by_path = self.by_path.lock();
        let found = by_path.iter().rev().find(|(end, _)| path.ends_with(end.as_str()));
        found.map_or_else(|| self.response.lock().clone(), |(_, response)| response.clone())
    }
}

impl ReceivedRequest {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a body of JSON")
    }

    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name}")).to_str().expect("a string")
    }

    /// Returns the id of the event.
    pub fn id(&self) -> String {
        self.header("webhook-id").to_owned()
    }
}

impl TestReceiver {
    pub async fn start(response: ReceiverResponse) -> TestReceiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let state = State::new(response);
        let mut server = JoinSet::new();
        server.spawn(serve(listener, None, state.clone()));
        TestReceiver { url, state, _server: server }
    }

    /// Starts a receiver over TLS.
    pub async fn start_encrypted(response: ReceiverResponse, certificate: &TestCertificate) -> TestReceiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("https://{}/hook", listener.local_addr().expect("an address"));
        let state = State::new(response);
        let mut server = JoinSet::new();
        server.spawn(serve(listener, Some(certificate.acceptor()), state.clone()));
        TestReceiver { url, state, _server: server }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the URL without its path.
    pub fn base(&self) -> &str {
        self.url.trim_end_matches("/hook")
    }

    pub fn respond_with(&self, response: ReceiverResponse) {
        *self.state.response.lock() = response;
    }

    /// Sets the response for paths with this end.
    pub fn respond_at(&self, end_of_path: &str, response: ReceiverResponse) {
        self.state.by_path.lock().push((end_of_path.to_owned(), response));
    }

    pub fn received(&self) -> Vec<ReceivedRequest> {
        self.state.received.lock().clone()
    }

    /// Waits for at least `count` requests and returns all of them.
    pub async fn wait_for(&self, count: usize) -> Vec<ReceivedRequest> {
        let what = format!("{count} requests");
        eventually(&what, async || Some(self.received()).filter(|received| received.len() >= count)).await
    }
}

async fn serve(listener: TcpListener, acceptor: Option<TlsAcceptor>, state: Arc<State>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, state) = (acceptor.clone(), state.clone());
        connections.spawn(async move {
            // The host may reject the certificate, and may close the connection at any time.
            match acceptor {
                None => serve_connection(stream, state).await,
                Some(acceptor) => {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve_connection(stream, state).await;
                    }
                }
            }
        });
    }
}

async fn serve_connection(stream: impl AsyncRead + AsyncWrite + Unpin, state: Arc<State>) {
    let service = service_fn(|request| receive(state.clone(), request));
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn receive(state: Arc<State>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.expect("a whole body").to_bytes();
    let (line, response) = (format!("{} {}", head.method, head.uri), state.response_to(head.uri.path()));
    let response = match response {
        ReceiverResponse::FromBody(compute) => compute(&serde_json::from_slice(&body).expect("a body of JSON")),
        response => response,
    };
    state.received.lock().push(ReceivedRequest { line, headers: head.headers, body });
    let (builder, body) = match response {
        ReceiverResponse::Status(status) => (Response::builder().status(status), String::new()),
        ReceiverResponse::Json(status, body) => {
            (Response::builder().status(status).header("content-type", "application/json"), body.to_string())
        }
        ReceiverResponse::RetryAfter(seconds) => {
            (Response::builder().status(429).header("retry-after", seconds), String::new())
        }
        ReceiverResponse::Never | ReceiverResponse::FromBody(_) => return std::future::pending().await,
    };
    Ok(builder.body(Full::from(body)).expect("a response that can be sent"))
}
