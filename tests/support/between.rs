//! A proxy between two hosts that misbehaves by a seed: it delays, hangs up before or after it has passed a request on, answers
//! in its place, answers half, passes it on twice, or once more when everybody has forgotten it. While it is calm it passes on.

use std::{collections::BTreeMap, mem, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::sleep,
};

use super::random::Random;

const BROKEN: &[u8] = b"HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n";
const BUSY: &[u8] = b"HTTP/1.1 429 Busy\r\ncontent-length: 0\r\n\r\n";
/// Longer than anybody waits for an acknowledgement.
const SLOW: Duration = Duration::from_millis(1_200);
const FORGOTTEN: Duration = Duration::from_millis(2_500);

/// Stops with the test.
pub struct FaultyProxy {
    base: String,
    desk: Arc<Desk>,
    _server: JoinSet<()>,
}

struct Desk {
    /// Host and port.
    to: Mutex<String>,
    /// State of a small generator: the same faults in the same order of requests.
    random: Random,
    is_calm: Mutex<bool>,
    happened: Mutex<BTreeMap<&'static str, u32>>,
    ghosts: Mutex<JoinSet<()>>,
}

impl FaultyProxy {
    /// `to`: the address of a host, "http://127.0.0.1:1234".
    pub async fn start(to: &str, seed: u64) -> FaultyProxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let desk = Arc::new(Desk {
            to: Mutex::default(),
            random: Random::new(seed),
            is_calm: Mutex::default(),
            happened: Mutex::default(),
            ghosts: Mutex::default(),
        });
        let mut server = JoinSet::new();
        server.spawn(serve(listener, desk.clone()));
        let proxy = FaultyProxy { base, desk, _server: server };
        proxy.lead_to(to);
        proxy
    }

    /// From now on.
    pub fn lead_to(&self, host: &str) {
        *self.desk.to.lock() = host.trim_start_matches("http://").to_owned();
    }

    pub fn base(&self) -> &str {
        &self.base
    }

    pub fn set_calm(&self, is_calm: bool) {
        *self.desk.is_calm.lock() = is_calm;
    }

    /// How often what happened.
    pub fn happened(&self) -> BTreeMap<&'static str, u32> {
        self.desk.happened.lock().clone()
    }

    /// Once nothing that was forgotten is still to come.
    pub async fn is_over(&self) {
        let ghosts = mem::take(&mut *self.desk.ghosts.lock());
        ghosts.join_all().await;
    }
}

impl Desk {
    fn draw(&self) -> &'static str {
        let kind = if *self.is_calm.lock() { u64::MAX } else { self.random.next() % 100 };
        let name = match kind {
            0..4 => "reset",
            4..8 => "broken",
            8..12 => "busy",
            12..17 => "answer lost",
            17..21 => "half an answer",
            21..25 => "broken afterwards",
            25..35 => "delayed",
            35..38 => "slow answer",
            38..42 => "twice",
            42..46 => "once more later",
            _ => "passed on",
        };
        *self.happened.lock().entry(name).or_default() += 1;
        name
    }

    async fn pass_on(&self, request: &[u8]) -> std::io::Result<Vec<u8>> {
        let to = self.to.lock().clone();
        let mut host = TcpStream::connect(to).await?;
        host.write_all(request).await?;
        Ok(read_message(&mut host).await?.unwrap_or_default())
    }
}

async fn serve(listener: TcpListener, desk: Arc<Desk>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let desk = desk.clone();
        connections.spawn(async move {
            // Either host hangs up whenever it likes.
            let _ = answer_all(stream, desk).await;
        });
    }
}

async fn answer_all(mut stream: TcpStream, desk: Arc<Desk>) -> std::io::Result<()> {
    while let Some(request) = read_message(&mut stream).await? {
        match desk.draw() {
            "reset" => return Ok(()),
            "broken" => stream.write_all(BROKEN).await?,
            "busy" => stream.write_all(BUSY).await?,
            "answer lost" => return desk.pass_on(&request).await.map(drop),
            "half an answer" => {
                let answer = desk.pass_on(&request).await?;
                return stream.write_all(&answer[..answer.len() / 2]).await;
            }
            "broken afterwards" => {
                desk.pass_on(&request).await?;
                stream.write_all(BROKEN).await?;
            }
            kind => {
                let answer = pass_on(&desk, kind, request).await?;
                stream.write_all(&answer).await?;
            }
        }
    }
    Ok(())
}

/// In the end the request gets its own answer.
async fn pass_on(desk: &Arc<Desk>, kind: &str, request: Vec<u8>) -> std::io::Result<Vec<u8>> {
    match kind {
        "delayed" => sleep(Duration::from_millis(desk.random.next() % 400)).await,
        "twice" => drop(desk.pass_on(&request).await?),
        "once more later" => {
            let (ghost, again) = (desk.clone(), request.clone());
            desk.ghosts.lock().spawn(async move {
                sleep(FORGOTTEN).await;
                let _ = ghost.pass_on(&again).await;
            });
        }
        _ => {}
    }
    let answer = desk.pass_on(&request).await?;
    if kind == "slow answer" {
        sleep(SLOW).await;
    }
    Ok(answer)
}

/// Head and body of a request or an answer. `None` where the other side has closed the connection.
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
