//! Connections: slow callers, keep-alive, shutdown, HTTP/2.

use std::cell::Cell;

use tokio::{net::TcpSocket, time::Instant};

use super::*;
use crate::limits::{HTTP2_REQUEST_BYTES, STREAMS_PER_CONNECTION};

pub(super) fn setup(change: impl FnOnce(&mut HttpConfig)) -> Setup {
    let mut setup = Setup::default();
    change(&mut setup.http);
    setup
}

#[tokio::test]
async fn slow_request_heads_are_cut() {
    let server = TestServer::start_with(setup(|http| http.header_timeout_ms = 100)).await;
    // No bytes, a partial head, a prefix of HTTP/2, and HTTP/2 without a request.
    for beginning in ["", "GET /v1/notes HTTP/1.1\r\nhost:", "PRI * HTTP/2.0\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let reply = server.send(beginning.as_bytes()).await;
        assert!(!reply.starts_with(b"HTTP/1.1 200"), "{beginning}");
    }
}

#[tokio::test]
async fn body_that_takes_too_long_is_408_and_closes_the_connection() {
    let server = TestServer::start_with(setup(|http| http.body_timeout_ms = 50)).await;
    let text =
        format!("POST /v1/notes HTTP/1.1\r\nhost: a\r\nx-api-key: {}\r\ncontent-length: 9\r\n\r\n{{", server.key);
    let reply = RawResponse::parse(&server.send(text.as_bytes()).await);
    assert_eq!((reply.status, reply.header("connection")), (408, Some("close")));
}

#[tokio::test]
async fn one_connection_serves_many_requests() {
    let server = TestServer::start().await;
    let one = format!("GET /v1/notes HTTP/1.1\r\nhost: a\r\nx-api-key: {}\r\n", server.key);
    let reply = server.send(format!("{one}\r\n{one}\r\n{one}connection: close\r\n\r\n").as_bytes()).await;
    assert_eq!(String::from_utf8_lossy(&reply).matches("HTTP/1.1 200").count(), 3);
}

#[tokio::test]
async fn connections_over_the_limit_wait() {
    let server = TestServer::start_with(setup(|http| http.connections_max = 1)).await;
    let busy = request_slowly(&server).await;
    let second = server.request("GET /v1/notes", &[], "");
    tokio::pin!(second);
    let answered_early = tokio::time::timeout(Duration::from_millis(50), &mut second).await.is_ok();
    assert!(!answered_early);
    drop(busy);
    server.gate.notify_one();
    assert_eq!(second.await.status, 200);
}

/// Opens a connection with an active request.
async fn request_slowly(server: &TestServer) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let text = format!("GET /v1/slow HTTP/1.1\r\nhost: a\r\nx-api-key: {}\r\n\r\n", server.key);
    stream.write_all(text.as_bytes()).await.unwrap();
    server.begun.notified().await;
    stream
}

#[tokio::test]
async fn idle_connection_is_evicted_for_a_new_one() {
    let server = TestServer::start_with(setup(|http| http.connections_max = 2)).await;
    let mut idle = TcpStream::connect(server.address).await.unwrap();
    let _busy = request_slowly(&server).await;
    assert_eq!(server.request("GET /v1/notes", &[], "").await.status, 200);
    assert!(read_to_end(&mut idle).await.is_empty(), "the idle one was closed");
}

/// The HTTP/2 preface and a request for `/`.
const HTTP_2_REQUEST: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\
    \0\0\x06\x01\x05\0\0\0\x01\x82\x86\x84\x41\x01a";

#[tokio::test]
async fn connection_without_a_response_is_evicted_for_a_new_one() {
    for beginning in [b"GET /v1/no".as_slice(), HTTP_2_REQUEST] {
        let server = TestServer::start_with(setup(|http| http.connections_max = 1)).await;
        let mut stuck = TcpStream::connect(server.address).await.unwrap();
        stuck.write_all(beginning).await.unwrap();
        let began = Instant::now();
        assert_eq!(server.request("GET /v1/notes", &[], "").await.status, 200);
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
}

#[tokio::test]
async fn http_2_connection_announces_its_limits() {
    let server = TestServer::start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(HTTP_2_REQUEST).await.unwrap();
    let mut first = [0; 128];
    let read = stream.read(&mut first).await.unwrap();
    // SETTINGS_INITIAL_WINDOW_SIZE: 128 KiB; SETTINGS_MAX_HEADER_LIST_SIZE: 16 KiB.
    for setting in [[0, 4, 0, 2, 0, 0], [0, 6, 0, 0, 0x40, 0]] {
        assert!(first[..read].windows(6).any(|window| window == setting), "{first:?}");
    }
}

#[tokio::test]
async fn unread_page_over_http_2_closes_its_connection() {
    use http_body_util::Empty;
    use hyper_util::rt::{TokioExecutor, TokioIo};

    for path in ["/openapi/notes.json", "/docs", "/nothing"] {
        let server = TestServer::start_with(setup(|http| http.answer_stall_ms = 100)).await;
        let stream = TcpStream::connect(server.address).await.unwrap();
        let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
        let handshake = builder.initial_stream_window_size(0).handshake(TokioIo::new(stream));
        let (mut sender, connection) = handshake.await.unwrap();
        tokio::spawn(connection);
        let uri = format!("http://{}{path}", server.address);
        let request = http::Request::get(uri).body(Empty::<Bytes>::new()).unwrap();
        let _unread = sender.send_request(request).await.unwrap();
        eventually("the connection is cut", || server.connections.reading().cut == 1).await;
    }
}

#[tokio::test]
async fn body_below_the_minimum_rate_is_408() {
    let server = TestServer::start_with(setup(|http| {
        (http.answer_stall_ms, http.answer_rate_min) = (100, 1_024);
    }))
    .await;
    let text =
        format!("POST /v1/notes HTTP/1.1\r\nhost: a\r\nx-api-key: {}\r\ncontent-length: 9\r\n\r\n{{", server.key);
    let reply = RawResponse::parse(&server.send(text.as_bytes()).await);
    assert_eq!((reply.status, reply.header("connection")), (408, Some("close")));
}

#[tokio::test]
async fn peer_with_too_many_connections_is_refused_and_counted() {
    let server = TestServer::start_with(setup(|http| http.connections_per_peer_max = 1)).await;
    let held = request_slowly(&server).await;
    let mut refused = TcpStream::connect(server.address).await.unwrap();
    assert!(read_to_end(&mut refused).await.is_empty());
    let reading = server.connections.reading();
    assert_eq!((reading.open, reading.refused), (1, 1));
    drop(held);
}

#[tokio::test]
async fn unrepresentable_content_length_is_413() {
    let server = TestServer::start().await;
    for length in ["18446744073709551615", "18446744073709551614", "18446744073709551613", "9999999999"] {
        let head = format!("POST /v1/notes HTTP/1.1\r\nhost: a\r\nx-api-key: {}\r\n", server.key);
        let reply = server.send(format!("{head}content-length: {length}\r\n\r\n").as_bytes()).await;
        assert!(reply.starts_with(b"HTTP/1.1 413 "), "{length}: {}", String::from_utf8_lossy(&reply));
    }
    let large = format!("GET /v1/notes HTTP/1.1\r\nhost: a\r\nx-large: {}\r\n\r\n", "1".repeat(20 << 10));
    assert!(server.send(large.as_bytes()).await.starts_with(b"HTTP/1.1 431 "));
}

/// Opens an HTTP/2 connection. Returns the client and the task that drives it.
pub(super) async fn http2_client<B>(
    server: &TestServer,
) -> (hyper::client::conn::http2::SendRequest<B>, tokio::task::JoinHandle<hyper::Result<()>>)
where
    B: hyper::body::Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + Unpin + 'static,
{
    use hyper_util::rt::{TokioExecutor, TokioIo};

    let stream = TcpStream::connect(server.address).await.unwrap();
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (sender, connection) = handshake.await.unwrap();
    (sender, tokio::spawn(connection))
}

/// Waits until a condition holds that another task establishes.
pub(super) async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(super) fn charged(server: &TestServer) -> u64 {
    server.budget.readings().iter().map(|reading| reading.used).sum()
}

#[tokio::test]
async fn stalled_http_1_reader_is_cut_and_its_response_released() {
    let server = TestServer::start_with(setup(|http| http.answer_stall_ms = 100)).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let text = format!("GET /v1/large HTTP/1.1\r\nhost: a\r\nx-api-key: {}\r\n\r\n", server.key);
    stream.write_all(text.as_bytes()).await.unwrap();
    eventually("the answer is charged", || charged(&server) == LARGE_BYTES as u64).await;
    eventually("the connection is cut", || server.connections.reading().cut == 1).await;
    eventually("the charge is given back", || charged(&server) == 0).await;
    assert!(read_to_end(&mut stream).await.len() < LARGE_BYTES);
}

#[tokio::test]
async fn progressing_http_1_reader_receives_the_whole_response() {
    let server = TestServer::start_with(setup(|http| http.answer_stall_ms = 100)).await;
    let reply = server.request("GET /v1/large", &[], "").await;
    assert_eq!(reply.body.len(), LARGE_BYTES);
    eventually("the charge is given back", || charged(&server) == 0).await;
}

#[tokio::test]
async fn unread_http_2_stream_is_reset_and_other_streams_continue() {
    use http_body_util::{BodyExt, Empty};

    let server = TestServer::start_with(setup(|http| http.answer_stall_ms = 100)).await;
    let (mut sender, _connection) = http2_client(&server).await;
    let request = |path: &str| {
        let uri = format!("http://{}{path}", server.address);
        http::Request::get(uri).header("x-api-key", &server.key).body(Empty::<Bytes>::new()).unwrap()
    };
    let stalled = sender.send_request(request("/v1/large")).await.unwrap();
    eventually("the answer is charged", || charged(&server) == LARGE_BYTES as u64).await;
    eventually("its memory is given back", || charged(&server) < 1 << 20).await;
    let other = sender.send_request(request("/v1/notes")).await.unwrap();
    assert_eq!(other.status(), 200);
    assert!(stalled.into_body().collect().await.is_err(), "a cut response must end with an error");
}

#[tokio::test]
async fn http_2_reader_receives_the_whole_response() {
    use http_body_util::{BodyExt, Empty};

    let server = TestServer::start().await;
    let (mut sender, _connection) = http2_client(&server).await;
    let uri = format!("http://{}/v1/large", server.address);
    let request = http::Request::get(uri).header("x-api-key", &server.key).body(Empty::<Bytes>::new()).unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.headers()["content-length"], LARGE_BYTES.to_string().as_str());
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes().len(), LARGE_BYTES);
    eventually("the charge is given back", || charged(&server) == 0).await;
}

/// Encodes as many requests as an HTTP/2 connection may have at once. `method`: the method field as HPACK encodes it.
fn http_2_requests(server: &TestServer, method: &[u8], path: &str) -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    // Scheme, path, authority and key: literals that are not indexed.
    let mut head = [method, &[0x86, 0x04, path.len() as u8], path.as_bytes(), b"\x01\x01a\0\x09x-api-key"].concat();
    head.push(server.key.len() as u8);
    head.extend_from_slice(server.key.as_bytes());
    for stream in 0..STREAMS_PER_CONNECTION {
        bytes.extend_from_slice(&[0, 0, head.len() as u8, 1, 5]);
        bytes.extend_from_slice(&(2 * stream + 1).to_be_bytes());
        bytes.extend_from_slice(&head);
    }
    bytes
}

/// The responses take 4 MiB together. The system buffers a part of them.
#[tokio::test]
async fn unread_headers_over_http_2_are_charged_until_the_connection_ends() {
    for method in [b"\x82".as_slice(), b"\x02\x04HEAD"] {
        let server = TestServer::start_with(setup(|http| http.answer_stall_ms = 60_000)).await;
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4 << 10).unwrap();
        let mut stream = socket.connect(server.address).await.unwrap();
        stream.write_all(&http_2_requests(&server, method, "/v1/headers")).await.unwrap();
        let answered = || server.observed.0.lock().iter().filter(|line| line.ends_with(" headers 204")).count();
        eventually("all answers are made", || answered() == STREAMS_PER_CONNECTION as usize).await;
        let before = Cell::new(0);
        eventually("no more is written", || before.replace(charged(&server)) == charged(&server)).await;
        let unread = before.get();
        assert!((2 << 20..=4 << 20).contains(&unread), "{unread}");
        drop(stream);
        eventually("the charge is given back", || charged(&server) == 0).await;
    }
}

#[tokio::test]
async fn http_2_response_without_a_body_has_no_length() {
    use http_body_util::{BodyExt, Empty};
    use hyper_util::rt::{TokioExecutor, TokioIo};

    let server = TestServer::start().await;
    let stream = TcpStream::connect(server.address).await.unwrap();
    let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    let handshake = builder.max_header_list_size(64 << 10).handshake(TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    let uri = format!("http://{}/v1/headers", server.address);
    let request = http::Request::get(uri).header("x-api-key", &server.key).body(Empty::<Bytes>::new()).unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!((response.status().as_u16(), response.headers().contains_key("content-length")), (204, false));
    assert_eq!(response.headers()["x-7"].len() + 3 + HEADER_OVERHEAD_BYTES, 4 << 10);
    assert!(response.into_body().collect().await.unwrap().to_bytes().is_empty());
    eventually("the charge is given back", || charged(&server) == 0).await;
}

#[tokio::test]
async fn body_without_memory_is_503() {
    let mut setup = setup(|http| http.body_timeout_ms = 200);
    setup.memory = MemoryConfig { budget_bytes: 800 << 10, tenant_percent: 50 };
    let server = TestServer::start_with(setup).await;
    let head = format!("POST /v1/files HTTP/1.1\r\nhost: a\r\nx-api-key: {}\r\n", server.key);
    // Takes all the memory for bodies.
    let until = Instant::now() + Duration::from_secs(10);
    let _others = server.budget.charge_body(&"others/test".into(), u64::MAX, until).await.unwrap();
    let reply = RawResponse::parse(&server.send(format!("{head}content-length: 90000\r\n\r\n").as_bytes()).await);
    assert_eq!((reply.status, reply.header("connection")), (503, Some("close")));
    assert!(reply.header("retry-after").is_some());
}

#[tokio::test]
async fn unfinished_requests_beyond_the_free_ones_are_charged() {
    use http_body_util::StreamBody;

    let server = TestServer::start().await;
    let (mut sender, _connection) = http2_client(&server).await;
    let mut waiting = Vec::new();
    for _ in 0..HTTP2_SMALL_REQUESTS + 4 {
        let frames = futures_util::stream::pending::<Result<hyper::body::Frame<Bytes>, std::convert::Infallible>>();
        let uri = format!("http://{}/v1/files", server.address);
        let request = http::Request::post(uri).header("x-api-key", &server.key).header("content-length", 10);
        waiting.push(sender.send_request(request.body(StreamBody::new(frames)).unwrap()));
    }
    let heads = tokio::spawn(futures_util::future::join_all(waiting));
    // The estimate of a head is at least 300 bytes.
    eventually("the last four are charged", || charged(&server) > 4 * (HTTP2_REQUEST_BYTES + 300)).await;
    assert!(charged(&server) < 4 * (HTTP2_REQUEST_BYTES + 1_250), "{}", charged(&server));
    heads.abort();
    eventually("their charges are given back", || charged(&server) == 0).await;
}

#[tokio::test]
async fn token_request_without_memory_is_temporarily_unavailable() {
    let mut setup = setup(|http| http.body_timeout_ms = 200);
    setup.memory = MemoryConfig { budget_bytes: 800 << 10, tenant_percent: 50 };
    let server = TestServer::start_with(setup).await;
    let until = Instant::now() + Duration::from_secs(10);
    let _others = server.budget.charge_body(&"others/test".into(), u64::MAX, until).await.unwrap();
    let head = "POST /oauth2/token HTTP/1.1\r\nhost: a\r\ncontent-type: application/x-www-form-urlencoded\r\n\
        connection: close\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
    let reply = RawResponse::parse(&server.send(head.as_bytes()).await);
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("1")));
    assert!(reply.body.contains(r#""error":"temporarily_unavailable""#), "{}", reply.body);
}

#[tokio::test]
async fn slow_token_request_reports_a_timeout() {
    let server = TestServer::start_with(setup(|http| http.body_timeout_ms = 50)).await;
    let head = "POST /oauth2/token HTTP/1.1\r\nhost: a\r\ncontent-type: application/x-www-form-urlencoded\r\n\
        connection: close\r\ncontent-length: 9\r\n\r\n";
    let reply = RawResponse::parse(&server.send(head.as_bytes()).await);
    assert_eq!(reply.status, 408);
    assert!(reply.body.contains("the body took too long"), "{}", reply.body);
}

#[tokio::test]
async fn keep_alive_client_receives_its_last_response_with_connection_close() {
    let server = TestServer::start().await;
    let text = format!("GET /v1/notes HTTP/1.1\r\nhost: a\r\nx-api-key: {}\r\n\r\n", server.key);
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut first = [0; 4_096];
    assert!(stream.read(&mut first).await.unwrap() > 0);
    server.stop.send(()).unwrap();
    // This request is in transit when the shutdown begins.
    stream.write_all(text.as_bytes()).await.unwrap();
    let last = RawResponse::parse(&read_to_end(&mut stream).await);
    assert_eq!((last.status, last.header("connection")), (200, Some("close")));
    assert_eq!(server.ended.await.unwrap(), ServeOutcome { cut: 0 });
}

#[tokio::test]
async fn shutdown_finishes_active_requests() {
    let server = TestServer::start().await;
    let idle = TcpStream::connect(server.address).await.unwrap();
    let text = format!("GET /v1/slow HTTP/1.1\r\nhost: a\r\nx-api-key: {}\r\n\r\n", server.key);
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    server.begun.notified().await;
    server.stop.send(()).unwrap();
    server.gate.notify_one();
    let reply = RawResponse::parse(&read_to_end(&mut stream).await);
    assert_eq!((reply.status, reply.json()["operation"].clone()), (200, "slow".into()));
    assert_eq!(server.ended.await.unwrap(), ServeOutcome { cut: 0 });
    assert!(TcpStream::connect(server.address).await.is_err());
    drop(idle);
}

#[tokio::test]
async fn shutdown_cuts_requests_at_the_deadline() {
    let server = TestServer::start_with(setup(|http| http.shutdown_ms = 50)).await;
    let text = format!("GET /v1/slow HTTP/1.1\r\nhost: a\r\nx-api-key: {}\r\n\r\n", server.key);
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    server.begun.notified().await;
    server.stop.send(()).unwrap();
    assert_eq!(server.ended.await.unwrap(), ServeOutcome { cut: 1 });
    assert!(read_to_end(&mut stream).await.is_empty());
}

#[tokio::test]
async fn http_2_without_tls_is_served_on_the_same_port() {
    use http_body_util::{BodyExt, Full};

    let server = TestServer::start().await;
    let (mut sender, connection) = http2_client(&server).await;
    let request = |method: &str, body: &str| {
        http::Request::builder()
            .method(method)
            .uri(format!("http://{}/v1/notes", server.address))
            .header("x-api-key", &server.key)
            .body(Full::new(Bytes::from(body.to_owned())))
            .unwrap()
    };
    let response = sender.send_request(request("POST", "{}")).await.unwrap();
    assert_eq!(response.status(), 200);
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert!(
        String::from_utf8_lossy(&body).contains("https://public.example"),
        "the base URL is that of the configuration"
    );
    let head = sender.send_request(request("HEAD", "")).await.unwrap();
    assert!(head.headers().contains_key("content-length"));
    let refused = sender.send_request(request("POST", &"1".repeat(100))).await.unwrap();
    assert_eq!(refused.status(), 413);
    assert_eq!(sender.send_request(request("GET", "")).await.unwrap().status(), 200);
    drop(sender);
    connection.await.unwrap().unwrap();
}

#[tokio::test]
async fn custom_router_is_served() {
    let router = axum::Router::new().route("/healthz", axum::routing::get(async || "fine"));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let shutdown_signal = async {
        let _ = stopped.await;
        Instant::now() + Duration::from_secs(10)
    };
    let client = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await.unwrap();
        let reply = RawResponse::parse(&read_to_end(&mut stream).await);
        stop.send(()).unwrap();
        reply
    };
    let (stopped, reply) = tokio::join!(serve_router(listener, Setup::default().http, router, shutdown_signal), client);
    assert_eq!((stopped.cut, reply.status, reply.body.as_str()), (0, 200, "fine"));
}

#[tokio::test]
async fn router_finishes_active_requests_until_the_deadline() {
    for (timeout_ms, cut) in [(10_000, 0), (0, 1)] {
        let (begun, gate) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (begins, opened) = (begun.clone(), gate.clone());
        let slow = move || async move {
            begins.notify_one();
            opened.notified().await;
            "fine"
        };
        let router = axum::Router::new().route("/slow", axum::routing::get(slow));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown_signal = async {
            let _ = stopped.await;
            Instant::now() + Duration::from_millis(timeout_ms)
        };
        let client = async {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(b"GET /slow HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
            begun.notified().await;
            stop.send(()).unwrap();
            if cut == 0 {
                gate.notify_one();
            }
            String::from_utf8_lossy(&read_to_end(&mut stream).await).into_owned()
        };
        let (ended, reply) =
            tokio::join!(serve_router(listener, Setup::default().http, router, shutdown_signal), client);
        assert_eq!(ended, ServeOutcome { cut });
        assert_eq!(reply.ends_with("fine"), cut == 0, "{reply}");
    }
}
