//! What an attempt came to: answered, surely not sent, or unknown.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::limits::DESTINATION_ANSWER_BYTES_MAX;

/// Reads one request to its end, writes this, and hangs up.
async fn breaking(answer: &'static [u8]) -> String {
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
async fn a_redirect_and_a_refusal_are_answers() {
    let (world, bank) = (World::open().await, Server::start().await);
    world.bank(&bank.url, Login::Bearer { token: secret(SECRET) });
    for status in [302, 401, 404, 500, 503] {
        bank.will([Reply::With(status, "{}")]);
        assert_eq!(world.call(&to("bank")).await.unwrap().status, status);
    }
    assert_eq!(bank.seen().len(), 5, "nothing was tried again, nothing was followed");
}

#[tokio::test]
async fn where_nobody_listens_nothing_was_sent() {
    let world = World::open().await;
    world.bank(&dead_address().await, Login::None);
    assert_eq!(failed(world.call(&to("bank")).await), (Certainty::NotSent, "refused"));
    world.bank("http://nowhere.invalid", Login::None);
    assert_eq!(failed(world.call(&to("bank")).await), (Certainty::NotSent, "dns"));
}

#[tokio::test]
async fn a_server_without_tls_where_tls_is_expected_gets_nothing() {
    let (world, bank) = (World::open().await, Server::start().await);
    world.bank(&bank.url.replace("http://", "https://"), Login::None);
    assert_eq!(failed(world.call(&to("bank")).await).0, Certainty::NotSent);
    assert!(bank.seen().is_empty());
}

#[tokio::test]
async fn a_server_that_is_silent_leaves_it_unknown() {
    let (world, bank) = (World::open().await, Server::start().await);
    world.name("bank", DestinationConfig { timeout_ms: Some(100), ..server(&bank.url, Login::None) });
    bank.will([Reply::Never, Reply::Never]);
    assert_eq!(failed(world.call(&to("bank")).await), (Certainty::Unknown, "timeout"));
    // Less than the operator says may be asked for, more may not.
    let patient = OutgoingCall { timeout_ms: 3_600_000, ..to("bank") };
    assert_eq!(failed(world.call(&patient).await), (Certainty::Unknown, "timeout"));
    world.bank(&bank.url, Login::None);
    bank.will([Reply::Never]);
    let impatient = OutgoingCall { timeout_ms: 50, ..to("bank") };
    assert_eq!(failed(world.call(&impatient).await), (Certainty::Unknown, "timeout"));
}

#[test]
fn a_call_has_the_time_that_it_asks_for_unless_the_operator_gives_less() {
    for (asked_ms, allowed_ms, expected_ms) in [
        (0, None, 15_000),
        (60_000, None, 60_000),
        (3_600_000, None, 120_000),
        (0, Some(5_000), 5_000),
        (1_000, Some(5_000), 1_000),
        (60_000, Some(5_000), 5_000),
        (0, Some(60_000), 60_000),
    ] {
        assert_eq!(attempt_ms(asked_ms, allowed_ms), expected_ms, "{asked_ms} of {allowed_ms:?}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_leaves_it_unknown() {
    let world = World::open().await;
    for (answer, class) in [
        (&b""[..], "reset"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{\"half\":", "incomplete"),
        (b"not HTTP at all\r\n\r\n", "protocol"),
    ] {
        world.bank(&breaking(answer).await, Login::None);
        assert_eq!(failed(world.call(&to("bank")).await), (Certainty::Unknown, class));
    }
}

#[tokio::test]
async fn an_answer_without_end_is_none() {
    let (world, bank) = (World::open().await, Server::start().await);
    world.bank(&bank.url, Login::None);
    let body = |bytes| Reply::Body(200, "text/plain", vec![b'x'; bytes]);
    bank.will([body(DESTINATION_ANSWER_BYTES_MAX), body(DESTINATION_ANSWER_BYTES_MAX + 1)]);
    assert_eq!(world.call(&to("bank")).await.unwrap().status, 200);
    assert_eq!(failed(world.call(&to("bank")).await), (Certainty::Unknown, "too-large"));
}

#[tokio::test]
async fn a_malformed_call_reaches_nobody() {
    let (world, bank) = (World::open().await, Server::start().await);
    world.bank(&bank.url, Login::Bearer { token: secret(SECRET) });
    for wrong in [
        OutgoingCall { path: "/../things".into(), ..to("bank") },
        OutgoingCall { path: "/things\r\nx: y".into(), ..to("bank") },
        OutgoingCall { headers: vec![("Authorization".into(), "Bearer mine".into())], ..to("bank") },
        OutgoingCall { headers: vec![("host".into(), "other.example".into())], ..to("bank") },
        OutgoingCall { method: "TRACE".into(), ..to("bank") },
    ] {
        assert_eq!(failed(world.call(&wrong).await), (Certainty::NotSent, "malformed-call"));
    }
    assert!(bank.seen().is_empty());
}
