//! Outcomes of an attempt: response, not sent, or unknown.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::limits::DESTINATION_RESPONSE_BYTES_MAX;

/// Starts a server that reads one request, writes these bytes and closes the connection.
async fn closing_server(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = Vec::new();
            while !request.ends_with(b"{\"n\":1}") {
                request.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(answer).await.unwrap();
        }
    });
    url
}

#[tokio::test]
async fn redirect_and_error_status_are_responses() {
    let (fixture, bank) = (Fixture::open().await, Server::start().await);
    fixture.bank(&bank.url, Login::Bearer { token: secret(SECRET) });
    for status in [302, 401, 404, 500, 503] {
        bank.respond_with([ServerResponse::With(status, "{}")]);
        assert_eq!(fixture.call(&to("bank")).await.unwrap().status, status);
    }
    assert_eq!(bank.received().len(), 5, "no retry and no redirect");
}

#[tokio::test]
async fn unreachable_server_means_not_sent() {
    let fixture = Fixture::open().await;
    fixture.bank(&closed_address().await, Login::None);
    assert_eq!(failed(fixture.call(&to("bank")).await), (Certainty::NotSent, "refused"));
    fixture.bank("http://nowhere.invalid", Login::None);
    assert_eq!(failed(fixture.call(&to("bank")).await), (Certainty::NotSent, "dns"));
}

#[tokio::test]
async fn server_without_tls_receives_nothing() {
    let (fixture, bank) = (Fixture::open().await, Server::start().await);
    fixture.bank(&bank.url.replace("http://", "https://"), Login::None);
    assert_eq!(failed(fixture.call(&to("bank")).await).0, Certainty::NotSent);
    assert!(bank.received().is_empty());
}

#[tokio::test]
async fn timeout_has_unknown_outcome() {
    let (fixture, bank) = (Fixture::open().await, Server::start().await);
    fixture.configure("bank", DestinationConfig { timeout_ms: Some(100), ..server(&bank.url, Login::None) });
    bank.respond_with([ServerResponse::Never, ServerResponse::Never]);
    assert_eq!(failed(fixture.call(&to("bank")).await), (Certainty::Unknown, "timeout"));
    // A call may request less than the operator's limit, but not more.
    let patient = OutgoingCall { timeout_ms: 3_600_000, ..to("bank") };
    assert_eq!(failed(fixture.call(&patient).await), (Certainty::Unknown, "timeout"));
    fixture.bank(&bank.url, Login::None);
    bank.respond_with([ServerResponse::Never]);
    let impatient = OutgoingCall { timeout_ms: 50, ..to("bank") };
    assert_eq!(failed(fixture.call(&impatient).await), (Certainty::Unknown, "timeout"));
}

#[test]
fn requested_time_limit_is_capped_by_the_operators() {
    for (requested_ms, allowed_ms, expected_ms) in [
        (0, None, 15_000),
        (60_000, None, 60_000),
        (3_600_000, None, 120_000),
        (0, Some(5_000), 5_000),
        (1_000, Some(5_000), 1_000),
        (60_000, Some(5_000), 5_000),
        (0, Some(60_000), 60_000),
    ] {
        assert_eq!(attempt_ms(requested_ms, allowed_ms), expected_ms, "{requested_ms} of {allowed_ms:?}");
    }
}

#[tokio::test]
async fn broken_connection_has_unknown_outcome() {
    let fixture = Fixture::open().await;
    for (answer, class) in [
        (&b""[..], "reset"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{\"half\":", "incomplete"),
        (b"not HTTP at all\r\n\r\n", "protocol"),
    ] {
        fixture.bank(&closing_server(answer).await, Login::None);
        assert_eq!(failed(fixture.call(&to("bank")).await), (Certainty::Unknown, class));
    }
}

#[tokio::test]
async fn response_above_the_size_limit_is_an_error() {
    let (fixture, bank) = (Fixture::open().await, Server::start().await);
    fixture.bank(&bank.url, Login::None);
    let body = |bytes| ServerResponse::Body(200, "text/plain", vec![b'x'; bytes]);
    bank.respond_with([body(DESTINATION_RESPONSE_BYTES_MAX), body(DESTINATION_RESPONSE_BYTES_MAX + 1)]);
    assert_eq!(fixture.call(&to("bank")).await.unwrap().status, 200);
    assert_eq!(failed(fixture.call(&to("bank")).await), (Certainty::Unknown, "too-large"));
}

#[tokio::test]
async fn malformed_call_is_not_sent() {
    let (fixture, bank) = (Fixture::open().await, Server::start().await);
    fixture.bank(&bank.url, Login::Bearer { token: secret(SECRET) });
    for wrong in [
        OutgoingCall { path: "/../things".into(), ..to("bank") },
        OutgoingCall { path: "/things\r\nx: y".into(), ..to("bank") },
        OutgoingCall { headers: vec![("Authorization".into(), "Bearer mine".into())], ..to("bank") },
        OutgoingCall { headers: vec![("host".into(), "other.example".into())], ..to("bank") },
        OutgoingCall { method: "TRACE".into(), ..to("bank") },
    ] {
        assert_eq!(failed(fixture.call(&wrong).await), (Certainty::NotSent, "malformed-call"));
    }
    assert!(bank.received().is_empty());
}
