//! Idle connections: which are kept, for how long, and what happens if they are closed.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    sync::{mpsc, oneshot},
};

use super::{
    receiver::{OK, Receiver, answer_all, read_request},
    *,
};
use crate::limits::{OUTBOUND_IDLE_MS, OUTBOUND_IDLE_PER_ORIGIN_MAX};

#[tokio::test]
async fn calls_to_one_origin_share_a_connection() {
    let receiver = Receiver::answering(OK).await;
    let client = client();
    for _ in 0..20 {
        let answer = client.send(&call_at(receiver.address), &loopback()).await.unwrap();
        assert_eq!((&answer.body[..], answer.end), (&b"ok"[..], BodyEnd::Whole));
    }
    assert_eq!((receiver.connections(), client.idle_connections()), (1, 1));
}

#[tokio::test]
async fn number_of_idle_connections_per_origin_is_bounded() {
    let receiver = Receiver::answering(OK).await;
    let (client, rule, call) = (client(), loopback(), call_at(receiver.address));
    let answers = join_all((0..OUTBOUND_IDLE_PER_ORIGIN_MAX * 3).map(|_| client.send(&call, &rule))).await;
    assert!(answers.iter().all(Result::is_ok));
    assert!(receiver.connections() > OUTBOUND_IDLE_PER_ORIGIN_MAX);
    assert_eq!(client.idle_connections(), OUTBOUND_IDLE_PER_ORIGIN_MAX);
}

#[tokio::test]
async fn connection_that_was_idle_for_too_long_is_closed() {
    let (gone, seen) = oneshot::channel();
    let gone = Mutex::new(Some(gone));
    let gone = Arc::new(gone);
    let receiver = Receiver::start(move |_, stream| {
        let gone = gone.clone();
        async move {
            answer_all(stream, OK).await;
            gone.lock().take().map(|gone| gone.send(()));
        }
    })
    .await;
    let client = client();
    client.send(&call_at(receiver.address), &loopback()).await.unwrap();
    tokio::time::pause();
    tokio::time::advance(Duration::from_millis(OUTBOUND_IDLE_MS - 1)).await;
    client.close_idle();
    assert_eq!(client.idle_connections(), 1);
    tokio::time::advance(Duration::from_millis(1)).await;
    client.close_idle();
    assert_eq!(client.idle_connections(), 0);
    seen.await.expect("the receiver sees its end");
}

#[tokio::test]
async fn connection_that_was_idle_for_too_long_is_not_reused() {
    let receiver = Receiver::answering(OK).await;
    let client = client();
    client.send(&call_at(receiver.address), &loopback()).await.unwrap();
    tokio::time::pause();
    tokio::time::advance(Duration::from_millis(OUTBOUND_IDLE_MS)).await;
    tokio::time::resume();
    client.send(&call_at(receiver.address), &loopback()).await.unwrap();
    assert_eq!((receiver.connections(), client.idle_connections()), (2, 1));
}

/// Starts a server that answers one request on each connection, reads `further` more, closes the connection and sends a
/// message.
async fn closing_after(further: usize) -> (Receiver, mpsc::UnboundedReceiver<()>) {
    let (hung_up, seen) = mpsc::unbounded_channel();
    let receiver = Receiver::start(move |_, mut stream: TcpStream| {
        let hung_up = hung_up.clone();
        async move {
            read_request(&mut stream).await;
            stream.write_all(OK).await.unwrap();
            for _ in 0..further {
                read_request(&mut stream).await;
            }
            drop(stream);
            hung_up.send(()).ok();
        }
    })
    .await;
    (receiver, seen)
}

#[tokio::test]
async fn idle_connection_closed_by_the_server_fails_no_call() {
    let (receiver, mut hung_up) = closing_after(0).await;
    let client = client();
    for number in 1..=3 {
        client.send(&call_at(receiver.address), &loopback()).await.unwrap();
        hung_up.recv().await.unwrap();
        assert_eq!(receiver.connections(), number);
    }
}

#[tokio::test]
async fn idle_connection_that_closes_on_the_request_is_replaced_once() {
    let (receiver, _) = closing_after(1).await;
    let client = client();
    for number in 1..=3 {
        client.send(&call_at(receiver.address), &loopback()).await.expect("on a new connection");
        assert_eq!(receiver.connections(), number);
    }
}

#[tokio::test]
async fn request_on_a_new_connection_is_not_retried() {
    let receiver = Receiver::start(async |_, mut stream: TcpStream| drop(read_request(&mut stream).await)).await;
    let error = client().send(&call_at(receiver.address), &loopback()).await.unwrap_err();
    assert_eq!((error.class, receiver.connections()), (OutboundErrorClass::Reset, 1));
}

#[tokio::test]
async fn request_is_not_retried_after_a_response_has_begun() {
    let receiver = Receiver::start(async |_, mut stream: TcpStream| {
        read_request(&mut stream).await;
        stream.write_all(OK).await.unwrap();
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 2").await.unwrap();
    })
    .await;
    let client = client();
    client.send(&call_at(receiver.address), &loopback()).await.unwrap();
    let error = client.send(&call_at(receiver.address), &loopback()).await.unwrap_err();
    assert_eq!((error.class, receiver.connections()), (OutboundErrorClass::Reset, 1));
}

#[tokio::test]
async fn connection_is_kept_only_after_a_whole_response_that_leaves_it_open() {
    let answers: [&[u8]; 5] = [
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil",
        Box::leak(format!("HTTP/1.1 200 OK\r\ncontent-length: 2000\r\n\r\n{}", "x".repeat(2_000)).into_boxed_str())
            .as_bytes(),
    ];
    for answer in answers {
        let receiver = Receiver::answering(answer).await;
        let client = client();
        client.send(&call_at(receiver.address), &loopback()).await.unwrap();
        assert_eq!(client.idle_connections(), 0, "{}", String::from_utf8_lossy(&answer[..60]));
    }
}

#[tokio::test]
async fn dropped_call_closes_its_connection() {
    let (gone, seen) = oneshot::channel();
    let (received, request_received) = oneshot::channel();
    let both = Arc::new(Mutex::new(Some((received, gone))));
    let receiver = Receiver::start(move |_, mut stream: TcpStream| {
        let (received, gone) = both.lock().take().unwrap();
        async move {
            read_request(&mut stream).await.unwrap();
            received.send(()).unwrap();
            assert_eq!(read_request(&mut stream).await, None);
            gone.send(()).unwrap();
        }
    })
    .await;
    let (client, rule, call) = (client(), loopback(), call_at(receiver.address));
    tokio::select! {
        _ = client.send(&call, &rule) => panic!("the server does not respond"),
        _ = request_received => {}
    }
    seen.await.expect("the receiver sees its end");
    assert_eq!(client.idle_connections(), 0);
}

#[tokio::test]
async fn request_is_sent_unchanged_except_for_connection_headers() {
    let (sent, mut seen) = mpsc::unbounded_channel();
    let receiver = Receiver::start(move |_, mut stream: TcpStream| {
        let sent = sent.clone();
        async move {
            sent.send(read_request(&mut stream).await.unwrap()).unwrap();
            stream.write_all(OK).await.unwrap();
        }
    })
    .await;
    let mut call = call_at(receiver.address);
    let given = [
        ("x-signature", "abc"),
        ("host", "evil"),
        ("content-length", "1"),
        ("transfer-encoding", "chunked"),
        ("connection", "upgrade"),
        ("upgrade", "x"),
        ("expect", "100-continue"),
        ("te", "trailers"),
    ];
    call.headers = HeaderMap::from_iter(
        given.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))),
    );
    client().send(&call, &loopback()).await.unwrap();
    let request = seen.recv().await.unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<&str> = head.lines().collect();
    assert_eq!(lines.remove(0), "POST /hook?a=b HTTP/1.1");
    lines.sort_unstable();
    let agent = concat!("user-agent: Tenon/", env!("CARGO_PKG_VERSION"));
    assert_eq!(lines, ["content-length: 15", &format!("host: {}", receiver.address), agent, "x-signature: abc"]);
    assert_eq!(body, r#"{"type":"ping"}"#);
}

#[tokio::test]
async fn connection_that_the_receiver_does_not_close_is_reset_and_releases_its_port() {
    let (reset, mut seen) = mpsc::channel(1);
    let receiver = Receiver::start(move |_, mut stream| {
        let reset = reset.clone();
        async move {
            read_request(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
            while stream.take_error().unwrap().is_none() {
                tokio::task::yield_now().await;
            }
            reset.send(()).await.unwrap();
        }
    })
    .await;
    client().send(&call_at(receiver.address), &loopback()).await.unwrap();
    assert_eq!(tokio::time::timeout(Duration::from_secs(10), seen.recv()).await, Ok(Some(())));
}
