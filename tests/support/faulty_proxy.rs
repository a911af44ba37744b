//! A proxy between two hosts that injects faults chosen by a seed.
//!
//! It delays a request or its response, closes the connection before or after it has forwarded the request, responds
//! itself, truncates the response, forwards the request twice, or forwards it again long after the response. While
//! `is_calm` is set, it only forwards.

use std::{collections::BTreeMap, mem, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::sleep,
};

use super::random::Random;

const ERROR: &[u8] = b"HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n";
const BUSY: &[u8] = b"HTTP/1.1 429 Busy\r\ncontent-length: 0\r\n\r\n";
/// Longer than every sender waits for an acknowledgement.
const SLOW: Duration = Duration::from_millis(1_200);
/// Delay of a late duplicate.
const LATE: Duration = Duration::from_millis(2_500);

/// A proxy that stops when it is dropped.
pub struct FaultyProxy {
    base: String,
    state: Arc<State>,
    _server: JoinSet<()>,
}

struct State {
    /// Host and port.
    target: Mutex<String>,
    /// Seeded: equal sequences of requests get equal faults.
    random: Random,
    is_calm: Mutex<bool>,
    fault_counts: Mutex<BTreeMap<&'static str, u32>>,
    /// Late duplicates that are still to be sent.
    duplicates: Mutex<JoinSet<()>>,
}

impl FaultyProxy {
    /// Starts a proxy to the host at `target` ("http://127.0.0.1:1234").
    pub async fn start(target: &str, seed: u64) -> FaultyProxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(State {
            target: Mutex::default(),
            random: Random::new(seed),
            is_calm: Mutex::default(),
            fault_counts: Mutex::default(),
            duplicates: Mutex::default(),
        });
        let mut server = JoinSet::new();
        server.spawn(serve(listener, state.clone()));
        let proxy = FaultyProxy { base, state, _server: server };
        proxy.set_target(target);
        proxy
    }

    pub fn set_target(&self, host: &str) {
        *self.state.target.lock() = host.trim_start_matches("http://").to_owned();
    }

    pub fn base(&self) -> &str {
        &self.base
    }

    pub fn set_calm(&self, is_calm: bool) {
        *self.state.is_calm.lock() = is_calm;
    }

    /// Returns the number of requests by their fault.
    pub fn fault_counts(&self) -> BTreeMap<&'static str, u32> {
        self.state.fault_counts.lock().clone()
    }

    /// Waits until all late duplicates have been sent.
    pub async fn wait_for_duplicates(&self) {
        let duplicates = mem::take(&mut *self.state.duplicates.lock());
        duplicates.join_all().await;
    }
}

impl State {
    fn choose_fault(&self) -> &'static str {
        let number = if *self.is_calm.lock() { u64::MAX } else { self.random.next() % 100 };
        let fault = match number {
            0..4 => "reset",
            4..8 => "error",
            8..12 => "busy",
            12..17 => "response lost",
            17..21 => "response truncated",
            21..25 => "error after forwarding",
            25..35 => "request delayed",
            35..38 => "response delayed",
            38..42 => "forwarded twice",
            42..46 => "late duplicate",
            _ => "none",
        };
        *self.fault_counts.lock().entry(fault).or_default() += 1;
        fault
    }

    async fn forward(&self, request: &[u8]) -> std::io::Result<Vec<u8>> {
        let target = self.target.lock().clone();
        let mut host = TcpStream::connect(target).await?;
        host.write_all(request).await?;
        Ok(read_message(&mut host).await?.unwrap_or_default())
    }
}

async fn serve(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let state = state.clone();
        connections.spawn(async move {
            // Either host may close its connection at any time.
            let _ = serve_connection(stream, state).await;
        });
    }
}

async fn serve_connection(mut stream: TcpStream, state: Arc<State>) -> std::io::Result<()> {
    while let Some(request) = read_message(&mut stream).await? {
        match state.choose_fault() {
            "reset" => return Ok(()),
            "error" => stream.write_all(ERROR).await?,
            "busy" => stream.write_all(BUSY).await?,
            "response lost" => return state.forward(&request).await.map(drop),
            "response truncated" => {
                let response = state.forward(&request).await?;
                return stream.write_all(&response[..response.len() / 2]).await;
            }
            "error after forwarding" => {
                state.forward(&request).await?;
                stream.write_all(ERROR).await?;
            }
            fault => {
                let response = forward_with(&state, fault, request).await?;
                stream.write_all(&response).await?;
            }
        }
    }
    Ok(())
}

/// Forwards the request under a fault that ends with the response of the host.
async fn forward_with(state: &Arc<State>, fault: &str, request: Vec<u8>) -> std::io::Result<Vec<u8>> {
    match fault {
        "request delayed" => sleep(Duration::from_millis(state.random.next() % 400)).await,
        "forwarded twice" => drop(state.forward(&request).await?),
        "late duplicate" => {
            let (later, duplicate) = (state.clone(), request.clone());
            state.duplicates.lock().spawn(async move {
                sleep(LATE).await;
                let _ = later.forward(&duplicate).await;
            });
        }
        _ => {}
    }
    let response = state.forward(&request).await?;
    if fault == "response delayed" {
        sleep(SLOW).await;
    }
    Ok(response)
}

/// Reads head and body of a request or a response. Returns `None` if the connection was closed.
async fn read_message(stream: &mut TcpStream) -> std::io::Result<Option<Vec<u8>>> {
    let mut message = Vec::new();
    while !message.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => message.push(byte),
            Err(_) => return Ok(None),
        }
    }
    let head = String::from_utf8_lossy(&message).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await?;
    message.extend(body);
    Ok(Some(message))
}
