//! HTTP/2: load that a peer can cause without reading its responses.

use std::net::IpAddr;

use http_body_util::{BodyExt, Empty, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::time::Instant;

use super::{
    connections::{charged, eventually, http2_client, setup},
    *,
};
use crate::{
    fair::pace::{Pacer, Pacers},
    limits::{FLOOD_CORE_US, HOST_RESPONSE_CORE_US, HTTP2_STREAM_BYTES, PACE_BURST_US, STREAMS_PER_CONNECTION},
};

/// Opens as many streams as one connection may have, with windows that stay closed. Returns the statuses, and the bytes
/// that are charged while nothing is read.
async fn request_without_reading(setup: Setup) -> (Vec<u16>, u64) {
    let server = TestServer::start_with(setup).await;
    let stream = TcpStream::connect(server.address).await.unwrap();
    let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    let handshake = builder.initial_stream_window_size(0).handshake(TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    let uri = format!("http://{}/nope", server.address);
    let request = || http::Request::get(&uri).body(Empty::<Bytes>::new()).unwrap();
    let pending: Vec<_> = (0..STREAMS_PER_CONNECTION).map(|_| sender.send_request(request())).collect();
    let responses = futures_util::future::join_all(pending).await;
    let statuses = responses.iter().map(|response| response.as_ref().unwrap().status().as_u16()).collect();
    let unread = charged(&server);
    drop((responses, sender));
    eventually("the charges are given back", || charged(&server) == 0).await;
    (statuses, unread)
}

#[tokio::test]
async fn unread_responses_beyond_the_free_ones_are_charged() {
    let (statuses, unread) = request_without_reading(Setup::default()).await;
    assert!(statuses.iter().all(|status| *status == 404), "{statuses:?}");
    let charged_streams = u64::from(STREAMS_PER_CONNECTION) - HTTP2_SMALL_REQUESTS as u64;
    assert_eq!(unread, charged_streams * HTTP2_STREAM_BYTES);
}

#[tokio::test]
async fn streams_beyond_the_share_of_their_address_are_refused() {
    // An address without a key may hold 256 KiB of bodies.
    let memory = MemoryConfig { budget_bytes: 4 << 20, tenant_percent: 50 };
    let (statuses, unread) = request_without_reading(Setup { memory, ..Setup::default() }).await;
    let refused = statuses.iter().filter(|status| **status == 503).count();
    assert!(refused > 50 && statuses[..HTTP2_SMALL_REQUESTS].iter().all(|status| *status == 404), "{statuses:?}");
    assert!(unread > 200 << 10 && unread <= 256 << 10, "{unread}");
}

/// Opens an HTTP/2 connection manually with the preface and empty SETTINGS.
async fn open_by_hand(server: &TestServer) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    stream
}

/// Sends pings until the server closes the connection.
async fn flood(server: &TestServer) {
    let (mut reader, mut writer) = open_by_hand(server).await.into_split();
    let sent = tokio::spawn(async move {
        let ping = b"\0\0\x08\x06\0\0\0\0\0tenonok!";
        // 2 MiB. The connection may close before all of it is written.
        let _ = writer.write_all(&ping.repeat((2 << 20) / ping.len())).await;
    });
    let mut replies = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(20), reader.read_to_end(&mut replies)).await.expect("it hangs");
    sent.await.unwrap();
    eventually("the end is counted", || server.connections.reading().flooded == 1).await;
}

#[tokio::test]
async fn flood_of_control_frames_closes_its_connection() {
    let server = TestServer::start().await;
    flood(&server).await;
}

/// Configures the paces of one core, so that they do not depend on the machine.
fn on_one_core() -> Setup {
    Setup { paces: Paces::of_cores(1), ..Setup::default() }
}

/// Returns the pacer of the address of the tests.
fn pace_of_tests(server: &TestServer, pacers: &Pacers<IpAddr>) -> Arc<Pacer> {
    pacers.find(&server.address.ip())
}

#[tokio::test]
async fn connection_after_a_flood_waits() {
    let server = TestServer::start_with(on_one_core()).await;
    let began = Instant::now();
    flood(&server).await;
    let busy_until = pace_of_tests(&server, &server.paces.floods).busy_until();
    assert!(busy_until >= began + Duration::from_micros(FLOOD_CORE_US), "the flood is not counted");
    assert_eq!(server.request("GET /v1/notes", &[], "").await.status, 200);
    let early = busy_until.saturating_duration_since(Instant::now());
    assert!(early <= Duration::from_micros(PACE_BURST_US), "it is answered {early:?} early");
}

#[tokio::test]
async fn large_upload_over_http_2_is_not_a_flood() {
    let server = TestServer::start_with(setup(|http| http.body_bytes_max = 8 << 20)).await;
    let (mut sender, _connection) = http2_client(&server).await;
    let uri = format!("http://{}/v1/files", server.address);
    let body = Full::new(Bytes::from(vec![b' '; 8 << 20]));
    let request = http::Request::post(uri).header("x-api-key", &server.key).body(body).unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(response.into_body().collect().await.unwrap().to_bytes().len() > 8 << 20);
    assert_eq!(server.connections.reading().flooded, 0);
}

/// Number of responses without a call. At the pace of one core they take more than 100 ms.
const HOST_RESPONSES: u64 = 300;

/// Checks that `HOST_RESPONSES` responses without a call were counted since `began`, and that the last one was not
/// early.
fn assert_responses_are_paced(server: &TestServer, began: Instant) {
    let busy_until = pace_of_tests(server, &server.paces.responses).busy_until();
    let counted = Duration::from_micros(HOST_RESPONSES * HOST_RESPONSE_CORE_US);
    assert!(busy_until >= began + counted, "{:?} of {counted:?}", busy_until.duration_since(began));
    let early = busy_until.saturating_duration_since(Instant::now());
    assert!(early <= Duration::from_micros(PACE_BURST_US + HOST_RESPONSE_CORE_US), "the last is {early:?} early");
}

#[tokio::test]
async fn responses_without_a_call_are_paced() {
    let server = TestServer::start_with(on_one_core()).await;
    let (sender, _connection) = http2_client(&server).await;
    let began = Instant::now();
    let request = || http::Request::get(format!("http://{}/nope", server.address)).body(String::new()).unwrap();
    let missing = (0..HOST_RESPONSES).map(|_| sender.clone().send_request(request()));
    for response in futures_util::future::join_all(missing).await {
        assert_eq!(response.unwrap().status(), 404);
    }
    assert_responses_are_paced(&server, began);
}

#[tokio::test]
async fn refused_streams_are_paced() {
    let server = TestServer::start_with(on_one_core()).await;
    // Takes all the memory for bodies and streams.
    let until = Instant::now() + Duration::from_secs(10);
    let _others = server.budget.charge_body(&"others/test".into(), u64::MAX, until).await.unwrap();
    let (sender, _connection) = http2_client(&server).await;
    let request = |path: &str| {
        let uri = format!("http://{}{path}", server.address);
        http::Request::get(uri).header("x-api-key", &server.key).body(String::new()).unwrap()
    };
    let send = |path: &str| sender.clone().send_request(request(path));
    let _slow: Vec<_> = (0..HTTP2_SMALL_REQUESTS).map(|_| send("/v1/slow")).collect();
    let began = Instant::now();
    let refused: Vec<_> = (0..HOST_RESPONSES).map(|_| send("/nope")).collect();
    for response in futures_util::future::join_all(refused).await {
        assert_eq!(response.unwrap().status(), 503);
    }
    assert_responses_are_paced(&server, began);
}
