//! Connections: slow callers, keep-alive, shutdown, HTTP/2.

use super::*;

fn setup(change: impl FnOnce(&mut HttpConfig)) -> Setup {
    let mut setup = Setup::default();
    change(&mut setup.http);
    setup
}

#[tokio::test]
async fn callers_that_dawdle_over_the_head_are_cut() {
    let server = TestServer::start_with(setup(|http| http.header_timeout_ms = 100)).await;
    // Nothing at all; half a head; what could still become HTTP/2; HTTP/2 without a request.
    for beginning in ["", "GET /v1/notes HTTP/1.1\r\nhost:", "PRI * HTTP/2.0\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let reply = server.send(beginning.as_bytes()).await;
        assert!(!reply.starts_with(b"HTTP/1.1 200"), "{beginning}");
    }
}

#[tokio::test]
async fn a_body_that_takes_too_long_is_408_and_the_connection_ends() {
    let server = TestServer::start_with(setup(|http| http.body_timeout_ms = 50)).await;
    let text =
        format!("POST /v1/notes HTTP/1.1\r\nhost: a\r\nx-api-key: {}\r\ncontent-length: 9\r\n\r\n{{", server.key);
    let reply = Heard::parse(&server.send(text.as_bytes()).await);
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
async fn connections_over_the_limit_wait_for_their_turn() {
    let server = TestServer::start_with(setup(|http| http.connections_max = 1)).await;
    let first = TcpStream::connect(server.address).await.unwrap();
    let second = server.ask("GET /v1/notes", &[], "");
    tokio::pin!(second);
    let answered_early = tokio::time::timeout(Duration::from_millis(50), &mut second).await.is_ok();
    assert!(!answered_early);
    drop(first);
    assert_eq!(second.await.status, 200);
}

#[tokio::test]
async fn shutdown_finishes_what_runs() {
    let server = TestServer::start().await;
    let idle = TcpStream::connect(server.address).await.unwrap();
    let text = format!("GET /v1/slow HTTP/1.1\r\nhost: a\r\nx-api-key: {}\r\n\r\n", server.key);
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    server.begun.notified().await;
    server.stop.send(()).unwrap();
    server.gate.notify_one();
    let reply = Heard::parse(&read_to_end(&mut stream).await);
    assert_eq!((reply.status, reply.json()["operation"].clone()), (200, "slow".into()));
    assert_eq!(server.ended.await.unwrap(), Stopped { cut: 0 });
    assert!(TcpStream::connect(server.address).await.is_err());
    drop(idle);
}

#[tokio::test]
async fn shutdown_cuts_what_does_not_end_in_time() {
    let server = TestServer::start_with(setup(|http| http.shutdown_ms = 50)).await;
    let text = format!("GET /v1/slow HTTP/1.1\r\nhost: a\r\nx-api-key: {}\r\n\r\n", server.key);
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    server.begun.notified().await;
    server.stop.send(()).unwrap();
    assert_eq!(server.ended.await.unwrap(), Stopped { cut: 1 });
    assert!(read_to_end(&mut stream).await.is_empty());
}

#[tokio::test]
async fn http_2_without_tls_is_served_on_the_same_port() {
    use http_body_util::{BodyExt, Full};
    use hyper_util::rt::{TokioExecutor, TokioIo};

    let server = TestServer::start().await;
    let stream = TcpStream::connect(server.address).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    let connection = tokio::spawn(connection);
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
    assert!(String::from_utf8_lossy(&body).contains(&server.address.to_string()), "the base URL is the authority");
    let head = sender.send_request(request("HEAD", "")).await.unwrap();
    assert!(head.headers().contains_key("content-length"));
    let refused = sender.send_request(request("POST", &"1".repeat(100))).await.unwrap();
    assert_eq!(refused.status(), 413);
    assert_eq!(sender.send_request(request("GET", "")).await.unwrap().status(), 200);
    drop(sender);
    connection.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_router_of_ones_own_is_served_in_the_same_way() {
    let router = axum::Router::new().route("/healthz", axum::routing::get(async || "fine"));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let stop_when_told = async {
        let _ = stopped.await;
    };
    let ask = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await.unwrap();
        let reply = Heard::parse(&read_to_end(&mut stream).await);
        stop.send(()).unwrap();
        reply
    };
    let (stopped, reply) = tokio::join!(serve_router(listener, Setup::default().http, router, stop_when_told), ask);
    assert_eq!((stopped.cut, reply.status, reply.body.as_str()), (0, 200, "fine"));
}
