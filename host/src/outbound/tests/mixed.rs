//! Many concurrent calls to a server with seeded random faults. No fault affects another call.

use futures_util::future::join_all;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{
    receiver::{OK, Receiver, read_request},
    *,
};

#[derive(Clone, Copy, Debug)]
enum Fault {
    None,
    HangUp,
    Reset,
    HalfHead,
    HalfBody,
    Flood,
    Garbage,
    Silence,
}

use Fault::*;

/// The path selects the fault, so that the expected result does not depend on the order of requests.
async fn misbehave(mut stream: TcpStream) {
    while let Some(request) = read_request(&mut stream).await {
        let path = request.split(' ').nth(1).unwrap_or_default();
        let answer: &[u8] = match path {
            "/None" => OK,
            "/HalfHead" => b"HTTP/1.1 200 OK\r\ncontent-le",
            "/HalfBody" => b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhal",
            "/Flood" => b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
            "/Garbage" => b"\x16\x03\x01\x02\x00",
            "/Silence" => return drop(stream.read_to_end(&mut Vec::new()).await),
            "/Reset" => return stream.set_zero_linger().unwrap(),
            _ => return,
        };
        stream.write_all(answer).await.ok();
        match path {
            "/None" => {}
            "/Flood" => while stream.write_all(b"8\r\nflooding\r\n").await.is_ok() {},
            _ => return,
        }
    }
}

fn assert_as_expected(fault: Fault, result: Result<OutboundResponse, OutboundError>) {
    let got = match &result {
        Ok(answer) => Ok((answer.status.as_u16(), answer.body.len(), answer.end)),
        Err(error) => Err(error.class),
    };
    let expected = match fault {
        None => Ok((200, 2, BodyEnd::Whole)),
        HalfBody => Ok((200, 3, BodyEnd::Broken(OutboundErrorClass::Reset))),
        Flood => Ok((200, 1_000, BodyEnd::Cut)),
        HangUp | Reset | HalfHead => Err(OutboundErrorClass::Reset),
        Garbage => Err(OutboundErrorClass::Protocol),
        Silence => Err(OutboundErrorClass::Timeout),
    };
    assert_eq!(got, expected, "{fault:?}: {result:?}");
}

#[tokio::test]
async fn random_faults_affect_only_their_own_call() {
    let receiver = Receiver::start(|_, stream| misbehave(stream)).await;
    let (client, rule) = (client(), loopback());
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut draw = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        [None, HangUp, Reset, HalfHead, HalfBody, Flood, Garbage, Silence][(seed % 8) as usize]
    };
    for _ in 0..4 {
        let faults: Vec<Fault> = (0..32).map(|_| draw()).collect();
        let calls = faults.iter().map(|fault| {
            let within = if matches!(fault, Silence) { Duration::from_millis(200) } else { Duration::from_secs(20) };
            OutboundCall { within, ..call(&format!("http://{}/{fault:?}", receiver.address)) }
        });
        let calls: Vec<OutboundCall> = calls.collect();
        let results = join_all(calls.iter().map(|call| client.send(call, &rule))).await;
        faults.into_iter().zip(results).for_each(|(fault, result)| assert_as_expected(fault, result));
    }
}
