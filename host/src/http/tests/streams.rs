//! HTTP/2: what a peer can make a connection hold or do without reading its answers.

use http_body_util::Empty;
use hyper_util::rt::{TokioExecutor, TokioIo};

use super::{
    connections::{charged, eventually, setup},
    *,
};
use crate::limits::{HTTP2_STREAM_BYTES, STREAMS_PER_CONNECTION};

/// Opens as many streams as one connection may have, of a reader whose windows stay shut. Returns the statuses, what is
/// charged while nothing is read.
async fn ask_without_reading(setup: Setup) -> (Vec<u16>, u64) {
    let server = TestServer::start_with(setup).await;
    let stream = TcpStream::connect(server.address).await.unwrap();
    let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    let handshake = builder.initial_stream_window_size(0).handshake(TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    let uri = format!("http://{}/nope", server.address);
    let request = || http::Request::get(&uri).body(Empty::<Bytes>::new()).unwrap();
    let asked: Vec<_> = (0..STREAMS_PER_CONNECTION).map(|_| sender.send_request(request())).collect();
    let responses = futures_util::future::join_all(asked).await;
    let statuses = responses.iter().map(|response| response.as_ref().unwrap().status().as_u16()).collect();
    let unread = charged(&server);
    drop((responses, sender));
    eventually("the charges are given back", || charged(&server) == 0).await;
    (statuses, unread)
}

#[tokio::test]
async fn unread_answers_of_a_crowded_http_2_connection_are_charged() {
    let (statuses, unread) = ask_without_reading(Setup::default()).await;
    assert!(statuses.iter().all(|status| *status == 404), "{statuses:?}");
    let crowded = u64::from(STREAMS_PER_CONNECTION) - HTTP2_SMALL_REQUESTS as u64;
    assert_eq!(unread, crowded * HTTP2_STREAM_BYTES);
}

#[tokio::test]
async fn streams_beyond_the_share_of_their_address_are_refused() {
    // One address without a key may hold 256 KiB of bodies.
    let memory = MemoryConfig { budget_bytes: 4 << 20, tenant_percent: 50 };
    let (statuses, unread) = ask_without_reading(Setup { memory, ..Setup::default() }).await;
    let refused = statuses.iter().filter(|status| **status == 503).count();
    assert!(refused > 50 && statuses[..HTTP2_SMALL_REQUESTS].iter().all(|status| *status == 404), "{statuses:?}");
    assert!(unread > 200 << 10 && unread <= 256 << 10, "{unread}");
}
