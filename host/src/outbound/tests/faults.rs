//! Servers that break, stall, flood or send invalid data: each call ends in its time, with the expected class.

use std::{net::Ipv4Addr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
};

use super::{
    receiver::{OK, Receiver, read_request},
    *,
};
use crate::limits::{OUTBOUND_BYTES_PER_CORE_US, OUTBOUND_HEAD_BYTES_MAX, OUTBOUND_HEADERS_MAX, PACE_BURST_US};

async fn send_to(receiver: &Receiver) -> Result<OutboundResponse, OutboundError> {
    client().send(&call_at(receiver.address), &loopback()).await
}

/// Starts a server that reads one request on each connection, writes these bytes, and closes the connection.
async fn after_one_request(answer: impl AsRef<[u8]> + Clone + Send + 'static) -> Receiver {
    Receiver::start(move |_, mut stream| {
        let answer = answer.clone();
        async move {
            read_request(&mut stream).await;
            stream.write_all(answer.as_ref()).await.ok();
        }
    })
    .await
}

/// Starts a server that reads one request on each connection, then writes `first` once and `then` repeatedly.
async fn flooding(first: &'static [u8], then: &'static [u8], gone: Option<oneshot::Sender<()>>) -> Receiver {
    let gone = std::sync::Arc::new(parking_lot::Mutex::new(gone));
    Receiver::start(move |_, mut stream: TcpStream| {
        let gone = gone.clone();
        async move {
            read_request(&mut stream).await;
            stream.write_all(first).await.ok();
            while stream.write_all(then).await.is_ok() {}
            gone.lock().take().map(|gone| gone.send(()));
        }
    })
    .await
}

async fn assert_fails(receiver: &Receiver, class: OutboundErrorClass) {
    let error = send_to(receiver).await.unwrap_err();
    assert_eq!(error.class, class, "{error}");
    assert!(error.message.contains(&receiver.address.to_string()), "{error}");
    assert!(!error.message.contains("hook"), "paths hold secrets: {error}");
}

#[tokio::test]
async fn connection_to_a_closed_port_is_refused() {
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap().local_addr().unwrap();
    let error = client().send(&call_at(address), &loopback()).await.unwrap_err();
    assert_eq!(error.class, OutboundErrorClass::Refused, "{error}");
}

#[tokio::test]
async fn connection_that_ends_before_the_response_is_a_reset() {
    for answer in ["", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n"] {
        assert_fails(&after_one_request(answer).await, OutboundErrorClass::Reset).await;
    }
    let reset = Receiver::start(async |_, mut stream: TcpStream| {
        read_request(&mut stream).await;
        stream.set_zero_linger().unwrap();
    })
    .await;
    assert_fails(&reset, OutboundErrorClass::Reset).await;
}

#[tokio::test]
async fn incomplete_body_is_distinguished_from_a_whole_one() {
    let answer = send_to(&after_one_request("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf").await).await.unwrap();
    assert_eq!((answer.status.as_u16(), &answer.body[..]), (200, &b"half"[..]));
    assert_eq!(answer.end, BodyEnd::Broken(OutboundErrorClass::Reset));
    let until_closed = send_to(&after_one_request("HTTP/1.1 500 Oh\r\n\r\nall of it").await).await.unwrap();
    assert_eq!((until_closed.status.as_u16(), &until_closed.body[..]), (500, &b"all of it"[..]));
    assert_eq!(until_closed.end, BodyEnd::Whole);
}

#[tokio::test]
async fn response_that_is_not_http_is_a_protocol_error() {
    for answer in ["SSH-2.0-OpenSSH_9.2p1\r\n", "<html>\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: two\r\n\r\n"] {
        assert_fails(&after_one_request(answer).await, OutboundErrorClass::Protocol).await;
    }
}

#[tokio::test]
async fn endless_body_is_cut_at_the_limit() {
    let (gone, seen) = oneshot::channel();
    let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let receiver = flooding(head, b"4\r\nabcd\r\n", Some(gone)).await;
    let answer = send_to(&receiver).await.unwrap();
    assert_eq!((answer.body.len(), answer.end), (1_000, BodyEnd::Cut));
    assert!(answer.body.starts_with(b"abcdabcd"));
    seen.await.expect("the connection is dropped");
}

#[tokio::test]
async fn body_that_is_mostly_framing_is_cut() {
    let chunk: &[u8] = Box::leak(format!("1;{}\r\nx\r\n", "y".repeat(8_000)).into_boxed_str()).as_bytes();
    let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let result = send_to(&flooding(head, chunk, None).await).await.unwrap();
    assert!(result.body.len() < 1_000 && result.end != BodyEnd::Whole, "{:?}", result.end);
}

#[tokio::test]
async fn body_of_exactly_the_limit_is_whole() {
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{}", "x".repeat(1_000));
    let answer = send_to(&after_one_request(answer).await).await.unwrap();
    assert_eq!((answer.body.len(), answer.end), (1_000, BodyEnd::Whole));
}

#[tokio::test]
async fn endless_head_is_too_large() {
    let long = flooding(b"HTTP/1.1 200 OK\r\nx: ", b"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy", None).await;
    assert_fails(&long, OutboundErrorClass::TooLarge).await;
    let many = "x: y\r\n".repeat(OUTBOUND_HEADERS_MAX + 1);
    let many = after_one_request(format!("HTTP/1.1 200 OK\r\n{many}content-length: 0\r\n\r\n")).await;
    assert_fails(&many, OutboundErrorClass::TooLarge).await;
}

#[tokio::test]
async fn interim_responses_are_skipped_up_to_a_limit() {
    let few = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(4);
    let few = after_one_request(format!("{few}HTTP/1.1 204 No Content\r\n\r\n")).await;
    assert_eq!(send_to(&few).await.unwrap().status, 204);
    assert_fails(&flooding(b"", b"HTTP/1.1 100 Continue\r\n\r\n", None).await, OutboundErrorClass::TooLarge).await;
}

#[tokio::test]
async fn large_request_body_is_sent() {
    let receiver = Receiver::answering(OK).await;
    let large = OutboundCall { body: vec![b'x'; OUTBOUND_HEAD_BYTES_MAX * 40].into(), ..call_at(receiver.address) };
    assert_eq!(client().send(&large, &loopback()).await.unwrap().status, 200);
}

#[tokio::test]
async fn redirect_is_returned_and_not_followed() {
    let target = Receiver::answering(OK).await;
    for status in [301, 302, 303, 307, 308] {
        let location = format!("http://{}/", target.address);
        let text = format!("HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
        let answer = send_to(&after_one_request(text).await).await.unwrap();
        assert_eq!((answer.status.as_u16(), answer.headers["location"].to_str().unwrap()), (status, &*location));
    }
    assert_eq!(target.connections(), 0);
}

#[tokio::test(start_paused = true)]
async fn server_that_never_responds_causes_a_timeout() {
    let receiver = Receiver::start(async |_, mut stream: TcpStream| {
        stream.read_to_end(&mut Vec::new()).await.ok();
    })
    .await;
    let error = send_to(&receiver).await.unwrap_err();
    assert_eq!((error.class, error.duration_ms), (OutboundErrorClass::Timeout, 20_000), "{error}");
}

/// Starts a server that reads one request, then writes `first` at once and `then` at one byte per second.
async fn trickling(first: &'static [u8], then: &'static [u8]) -> Receiver {
    Receiver::start(move |_, mut stream: TcpStream| async move {
        read_request(&mut stream).await;
        stream.write_all(first).await.unwrap();
        let mut seconds = tokio::time::interval(Duration::from_secs(1));
        for byte in then {
            seconds.tick().await;
            if stream.write_all(&[*byte]).await.is_err() {
                break;
            }
        }
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn slow_head_causes_a_timeout() {
    let error = send_to(&trickling(b"HTTP/1.1 200 OK\r\nx: ", &[b'H'; 100]).await).await.unwrap_err();
    assert_eq!((error.class, error.duration_ms), (OutboundErrorClass::Timeout, 20_000), "{error}");
}

#[tokio::test(start_paused = true)]
async fn slow_body_is_returned_as_far_as_it_was_received() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n";
    let answer = send_to(&trickling(head, &[b'x'; 100]).await).await.unwrap();
    assert_eq!((answer.status.as_u16(), answer.duration_ms), (200, 20_000));
    assert_eq!(answer.end, BodyEnd::Broken(OutboundErrorClass::Timeout));
    assert!((15..=21).contains(&answer.body.len()), "{}", answer.body.len());
}

#[tokio::test]
async fn long_responses_to_one_party_are_read_at_a_limited_rate() {
    const LONG: usize = 2 << 20;
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {LONG}\r\n\r\n{}", "x".repeat(LONG));
    let receiver = after_one_request(answer).await;
    let began = std::time::Instant::now();
    let call = OutboundCall { response_bytes_max: LONG, ..call_at(receiver.address) };
    let answer = client().send(&call, &loopback()).await.unwrap();
    assert_eq!((answer.body.len(), answer.end), (LONG, BodyEnd::Whole));
    let cores = std::thread::available_parallelism().unwrap().get() as u64;
    // The last part is not waited for.
    let paced = (LONG / 2) as u64 / OUTBOUND_BYTES_PER_CORE_US / cores;
    let least = Duration::from_micros(paced.saturating_sub(PACE_BURST_US));
    assert!(began.elapsed() >= least, "{:?} of {least:?}", began.elapsed());
}
