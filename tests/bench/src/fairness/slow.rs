//! Connections that hold resources of the server: they leave large responses or event streams unread, do not finish a
//! request body, or send nothing.
//!
//! HTTP/2 is written frame by frame, so that pings are answered while the window stays zero.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::Context;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, Interest},
    net::{TcpSocket, TcpStream},
    task::JoinHandle,
};

use crate::wire::request;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attack {
    /// 3 connections with 128 streams each and a window of zero.
    Http2,
    /// 200 connections that send a request for a list and read nothing.
    Http1,
    /// 600 unread event streams from the first event on.
    Streams,
    /// 250 bodies of 5.5 MB without their last byte.
    Bodies,
    /// 300 connections that send nothing.
    Silent,
}

impl Attack {
    pub const ALL: [Attack; 5] = [Attack::Http2, Attack::Http1, Attack::Streams, Attack::Bodies, Attack::Silent];

    pub fn name(self) -> &'static str {
        match self {
            Attack::Http2 => "3 connections of HTTP/2 with 128 unread lists each",
            Attack::Http1 => "200 unread lists over HTTP/1.1",
            Attack::Streams => "600 unread streams",
            Attack::Bodies => "250 unfinished bodies",
            Attack::Silent => "300 silent connections",
        }
    }
}

/// Open connections of an attack, which are closed when this is dropped.
pub struct AttackConnections {
    tasks: Vec<JoinHandle<()>>,
    open: Arc<AtomicUsize>,
}

impl AttackConnections {
    pub fn total(&self) -> usize {
        self.tasks.len()
    }

    /// Returns the number of connections that the server has not closed.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
}

impl Drop for AttackConnections {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

pub async fn start(attack: Attack, address: SocketAddr, key: &str, listed: usize) -> anyhow::Result<AttackConnections> {
    let list = format!("/v1/orders?limit={listed}");
    let bytes = match attack {
        Attack::Http2 => http2_requests(&list, key),
        Attack::Http1 => request("GET", &list, key, &[], b""),
        Attack::Streams => {
            request("GET", "/v1/stream", key, &[("last-event-id", &first_event(address, key).await?)], b"")
        }
        Attack::Bodies => unfinished_body(key),
        Attack::Silent => Vec::new(),
    };
    let count = match attack {
        Attack::Http2 => 3,
        Attack::Http1 => 200,
        Attack::Streams => 600,
        Attack::Bodies => 250,
        Attack::Silent => 300,
    };
    let (bytes, open) = (Arc::new(bytes), Arc::new(AtomicUsize::new(0)));
    let mut tasks = Vec::new();
    for _ in 0..count {
        let (bytes, open) = (bytes.clone(), open.clone());
        tasks.push(tokio::spawn(async move {
            open.fetch_add(1, Ordering::Relaxed);
            // The result does not matter: the connection is closed.
            let _ = run_connection(attack, address, &bytes).await;
            open.fetch_sub(1, Ordering::Relaxed);
        }));
    }
    Ok(AttackConnections { tasks, open })
}

async fn run_connection(attack: Attack, address: SocketAddr, bytes: &[u8]) -> anyhow::Result<()> {
    let socket = TcpSocket::new_v4()?;
    // Unread bytes must not fit into the receive buffer of this side.
    socket.set_recv_buffer_size(16 << 10)?;
    let mut stream = socket.connect(address).await?;
    stream.write_all(bytes).await?;
    match attack {
        Attack::Http2 => answer_pings(stream).await,
        _ => wait_for_end(stream).await,
    }
}

/// Polls without reading until the server has closed the connection, even if bytes before its end are unread. The end
/// is not detected while unread bytes fill the receive buffer.
async fn wait_for_end(stream: TcpStream) -> anyhow::Result<()> {
    loop {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        if let Some(error) = stream.take_error()? {
            return Err(error.into());
        }
        if stream.ready(Interest::READABLE).await?.is_read_closed() {
            return Ok(());
        }
    }
}

async fn answer_pings(mut stream: TcpStream) -> anyhow::Result<()> {
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let [a, b, c, kind, flags, ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        stream.read_exact(&mut payload).await?;
        match (kind, flags & 1) {
            (PING, 0) => stream.write_all(&frame(PING, 1, 0, &payload)).await?,
            (SETTINGS, 0) => stream.write_all(&frame(SETTINGS, 1, 0, &[])).await?,
            _ => {}
        }
    }
}

const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const END_STREAM_AND_HEADERS: u8 = 5;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut bytes = length.into_iter().skip(1).chain([kind, flags]).collect::<Vec<u8>>();
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Encodes the preface, a window of zero for every stream, and 128 requests.
fn http2_requests(path: &str, key: &str) -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    let window_of_zero = [0, 4, 0, 0, 0, 0];
    bytes.extend(frame(SETTINGS, 0, 0, &window_of_zero));
    let text = |into: &mut Vec<u8>, text: &str| {
        into.push(text.len() as u8);
        into.extend(text.bytes());
    };
    // HPACK without a dynamic table: GET, http, then names by their index (:authority 1, :path 4, authorization 23).
    let mut head = vec![0x82, 0x86, 0x01];
    text(&mut head, "localhost");
    head.push(0x04);
    text(&mut head, path);
    head.extend([0x0f, 0x08]);
    text(&mut head, &format!("Bearer {key}"));
    for number in 0..128_u32 {
        bytes.extend(frame(HEADERS, END_STREAM_AND_HEADERS, 2 * number + 1, &head));
    }
    bytes
}

fn unfinished_body(key: &str) -> Vec<u8> {
    let body = vec![b' '; 5_500_000];
    let mut bytes = request("POST", "/v1/files", key, &[("content-type", "application/json")], &body);
    bytes.pop();
    bytes
}

async fn first_event(address: SocketAddr, key: &str) -> anyhow::Result<String> {
    let mut client = crate::wire::Client::new(address, key);
    let page = client.call("GET", "/v1/events", &Value::Null).await?;
    let id = page.pointer("/events/0/id").and_then(Value::as_str).context("no event")?;
    Ok(id.to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn closed_connection_with_unread_bytes_has_ended() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        server.write_all(b"unread").await.unwrap();
        drop(server);
        tokio::time::timeout(Duration::from_secs(30), wait_for_end(client)).await.unwrap().unwrap();
    }
}
