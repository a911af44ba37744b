//! A receiver of webhooks that misbehaves by a seed: it delays, hangs up, answers half, trickles, floods, fails, and now and
//! then does its work. What it did its work for is noted; nothing else counts as received.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use super::random::Random;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// Stops with the test.
pub struct FaultyReceiver {
    url: String,
    desk: Arc<Desk>,
    _server: JoinSet<()>,
}

struct Desk {
    /// State of a small generator: the same faults in the same order of requests.
    random: Random,
    accepted: Mutex<BTreeMap<String, Vec<u8>>>,
    faults: Mutex<BTreeMap<&'static str, u32>>,
}

/// One request: the id of its event, and its body.
struct Post {
    id: String,
    body: Vec<u8>,
}

impl FaultyReceiver {
    pub async fn start(seed: u64) -> FaultyReceiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let random = Random::new(seed);
        let desk = Arc::new(Desk { random, accepted: Mutex::default(), faults: Mutex::default() });
        let mut server = JoinSet::new();
        server.spawn(serve(listener, desk.clone()));
        FaultyReceiver { url, desk, _server: server }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// What it did its work for: bodies by the id of the event.
    pub fn accepted(&self) -> BTreeMap<String, Vec<u8>> {
        self.desk.accepted.lock().clone()
    }

    /// How often it did what.
    pub fn faults(&self) -> BTreeMap<&'static str, u32> {
        self.desk.faults.lock().clone()
    }
}

async fn serve(listener: TcpListener, desk: Arc<Desk>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let desk = desk.clone();
        connections.spawn(async move {
            // The host hangs up whenever it likes.
            let _ = answer_all(stream, &desk).await;
        });
    }
}

async fn answer_all(mut stream: TcpStream, desk: &Desk) -> std::io::Result<()> {
    while let Some(post) = read_post(&mut stream).await? {
        let kind = desk.random.next() % 24;
        let name = match kind {
            0 => "resets",
            1 => "half a head",
            2 => "half a body",
            3 => "a trickle",
            4 => "a flood",
            5 => "a failure",
            6 => "silence",
            _ => "work",
        };
        *desk.faults.lock().entry(name).or_default() += 1;
        match kind {
            0 => return Ok(()),
            1 => return stream.write_all(b"HTTP/1.1 200 O").await,
            2 => return stream.write_all(b"HTTP/1.1 503 Busy\r\ncontent-length: 900\r\n\r\nhalf").await,
            3 => trickle(&mut stream).await?,
            4 => return flood(&mut stream).await,
            5 => stream.write_all(b"HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n").await?,
            6 => std::future::pending().await,
            _ => {
                if kind == 9 {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                let known = desk.accepted.lock().insert(post.id.clone(), post.body.clone());
                assert!(known.is_none_or(|before| before == post.body), "{} came with other bytes", post.id);
                stream.write_all(OK).await?;
            }
        }
    }
    Ok(())
}

/// A head that never ends, byte by byte.
async fn trickle(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 500 Oh\r\nx-slow: ").await?;
    loop {
        stream.write_all(b"z").await?;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A body without end.
async fn flood(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 500 Oh\r\ntransfer-encoding: chunked\r\n\r\n").await?;
    let chunk = [b"1000\r\n".as_slice(), &[b'x'; 0x1000], b"\r\n"].concat();
    loop {
        stream.write_all(&chunk).await?;
    }
}

/// `None` where the host has closed the connection.
async fn read_post(stream: &mut TcpStream) -> std::io::Result<Option<Post>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return Ok(None),
        }
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let value = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(|text| text.trim().to_owned());
    let length: usize = value("content-length:").and_then(|text| text.parse().ok()).expect("a length");
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Some(Post { id: value("webhook-id:").expect("the id of an event"), body }))
}
