//! A webhook receiver that injects faults chosen by a seed.
//!
//! It delays its response, truncates it, sends it byte by byte or without end, sends none, closes the connection, or
//! returns an error. It records only the requests that it acknowledged with 200.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use super::random::Random;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// A receiver that stops when it is dropped.
pub struct FaultyReceiver {
    url: String,
    state: Arc<State>,
    _server: JoinSet<()>,
}

struct State {
    /// Seeded: equal sequences of requests get equal faults.
    random: Random,
    accepted: Mutex<BTreeMap<String, Vec<u8>>>,
    fault_counts: Mutex<BTreeMap<&'static str, u32>>,
}

/// A request with the id of its event.
struct Post {
    id: String,
    body: Vec<u8>,
}

impl FaultyReceiver {
    pub async fn start(seed: u64) -> FaultyReceiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let random = Random::new(seed);
        let state = Arc::new(State { random, accepted: Mutex::default(), fault_counts: Mutex::default() });
        let mut server = JoinSet::new();
        server.spawn(serve(listener, state.clone()));
        FaultyReceiver { url, state, _server: server }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the bodies of acknowledged requests by the id of their event.
    pub fn accepted(&self) -> BTreeMap<String, Vec<u8>> {
        self.state.accepted.lock().clone()
    }

    /// Returns the number of requests by their fault.
    pub fn fault_counts(&self) -> BTreeMap<&'static str, u32> {
        self.state.fault_counts.lock().clone()
    }
}

async fn serve(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let state = state.clone();
        connections.spawn(async move {
            // The host may close its connection at any time.
            let _ = serve_connection(stream, &state).await;
        });
    }
}

async fn serve_connection(mut stream: TcpStream, state: &State) -> std::io::Result<()> {
    while let Some(post) = read_post(&mut stream).await? {
        let number = state.random.next() % 24;
        let fault = match number {
            0 => "reset",
            1 => "head truncated",
            2 => "body truncated",
            3 => "byte by byte",
            4 => "endless body",
            5 => "error",
            6 => "no response",
            _ => "none",
        };
        *state.fault_counts.lock().entry(fault).or_default() += 1;
        match number {
            0 => return Ok(()),
            1 => return stream.write_all(b"HTTP/1.1 200 O").await,
            2 => return stream.write_all(b"HTTP/1.1 503 Busy\r\ncontent-length: 900\r\n\r\nhalf").await,
            3 => send_endless_head(&mut stream).await?,
            4 => return send_endless_body(&mut stream).await,
            5 => stream.write_all(b"HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n").await?,
            6 => std::future::pending().await,
            _ => {
                if number == 9 {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                let known = state.accepted.lock().insert(post.id.clone(), post.body.clone());
                assert!(known.is_none_or(|before| before == post.body), "{} arrived with other bytes", post.id);
                stream.write_all(OK).await?;
            }
        }
    }
    Ok(())
}

/// Sends a head without end, byte by byte.
async fn send_endless_head(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 500 Oh\r\nx-slow: ").await?;
    loop {
        stream.write_all(b"z").await?;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn send_endless_body(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 500 Oh\r\ntransfer-encoding: chunked\r\n\r\n").await?;
    let chunk = [b"1000\r\n".as_slice(), &[b'x'; 0x1000], b"\r\n"].concat();
    loop {
        stream.write_all(&chunk).await?;
    }
}

/// Reads one request. Returns `None` if the host has closed the connection.
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
