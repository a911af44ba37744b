//! Minimal HTTP/1.1 client and server side for the load generator and the receiver: prebuilt request bytes, one
//! persistent connection, messages with a length.
//!
//! Owns one socket and its buffer. This is not a general client or server: a message without Content-Length is an
//! error, except a 204 or 304 response and the chunked responses of `events`.

use std::{io, net::SocketAddr, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

pub mod events;

/// Longer than any deadline of the servers: an exchange that takes longer hangs.
const EXCHANGE_SECONDS_MAX: u64 = 60;

#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Response {
    /// Parses the body as JSON. Returns null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        find_header(&self.head, name)
    }
}

/// Encodes one request. `key` is an API key or an operator token.
///
/// The operators' listener accepts only its own host names, so the `host` header is always "localhost".
pub fn request(method: &str, path: &str, key: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n", body.len());
    if !key.is_empty() {
        text.push_str(&format!("authorization: Bearer {key}\r\n"));
    }
    if !headers.iter().any(|(name, _)| *name == "content-type") && !body.is_empty() {
        text.push_str("content-type: application/json\r\n");
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    closing: bool,
}

impl Connection {
    pub async fn open(address: SocketAddr) -> io::Result<Connection> {
        Connection::from_stream(TcpStream::connect(address).await?)
    }

    /// Wraps a connected stream. The stream may be either side of a connection.
    pub fn from_stream(stream: TcpStream) -> io::Result<Connection> {
        stream.set_nodelay(true)?;
        Ok(Connection { stream, buffer: Vec::with_capacity(4096), closing: false })
    }

    /// Returns whether the server announced that it closes the connection. The next request needs a new connection.
    pub fn is_closing(&self) -> bool {
        self.closing
    }

    /// Sends one request and reads the whole response.
    pub async fn exchange(&mut self, request: &[u8]) -> io::Result<Response> {
        let limit = Duration::from_secs(EXCHANGE_SECONDS_MAX);
        timeout(limit, self.exchange_unbounded(request)).await.map_err(|_| io::ErrorKind::TimedOut)?
    }

    async fn exchange_unbounded(&mut self, request: &[u8]) -> io::Result<Response> {
        self.stream.write_all(request).await?;
        let head = self.read_head().await?;
        let status = head.get(9..12).and_then(|digits| digits.parse().ok()).ok_or_else(|| malformed("no status"))?;
        let bytes = if status == 204 || status == 304 { 0 } else { body_bytes(&head)? };
        let body = self.read_body(bytes).await?;
        self.closing = find_header(&head, "connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        Ok(Response { status, head, body })
    }

    /// Server side: waits for the next request and returns its head and its body.
    pub async fn receive(&mut self) -> io::Result<(String, Vec<u8>)> {
        let head = self.read_head().await?;
        let body = self.read_body(body_bytes(&head)?).await?;
        Ok((head, body))
    }

    /// Server side: responds to the last request and keeps the connection open.
    pub async fn respond(&mut self, status: u16) -> io::Result<()> {
        let response = format!("HTTP/1.1 {status} Received\r\ncontent-length: 0\r\n\r\n");
        self.stream.write_all(response.as_bytes()).await
    }

    /// Sends a request without waiting for its response.
    async fn send(&mut self, request: &[u8]) -> io::Result<()> {
        self.stream.write_all(request).await
    }

    /// Reads the next chunk of a chunked response.
    async fn read_chunk(&mut self) -> io::Result<Vec<u8>> {
        let line = loop {
            if let Some(at) = self.buffer.windows(2).position(|two| two == b"\r\n") {
                break self.buffer.drain(..at + 2).collect::<Vec<u8>>();
            }
            self.fill().await?;
        };
        let bytes = std::str::from_utf8(&line).ok().and_then(|line| usize::from_str_radix(line.trim(), 16).ok());
        let bytes = bytes.ok_or_else(|| malformed("chunk without a size"))?;
        let mut chunk = self.read_body(bytes + 2).await?;
        chunk.truncate(bytes);
        if bytes == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(chunk) }
    }

    async fn read_body(&mut self, bytes: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < bytes {
            self.fill().await?;
        }
        Ok(self.buffer.drain(..bytes).collect())
    }

    async fn read_head(&mut self) -> io::Result<String> {
        let mut searched = 0;
        loop {
            let window = self.buffer.get(searched..).unwrap_or_default();
            if let Some(at) = window.windows(4).position(|four| four == b"\r\n\r\n") {
                let head: Vec<u8> = self.buffer.drain(..searched + at + 4).collect();
                return Ok(String::from_utf8_lossy(&head).into_owned());
            }
            searched = self.buffer.len().saturating_sub(3);
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

fn body_bytes(head: &str) -> io::Result<usize> {
    let length = find_header(head, "content-length").ok_or_else(|| malformed("no content-length"))?;
    length.parse().map_err(|_| malformed("content-length is not a number"))
}

pub fn find_header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().skip(1).find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then_some(value.trim())
    })
}

fn malformed(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Client for setup requests. It uses one connection. It opens a new one after an error, or after the server announced
/// that it closes the connection.
pub struct Client {
    address: SocketAddr,
    key: String,
    connection: Option<Connection>,
}

impl Client {
    pub fn new(address: SocketAddr, key: &str) -> Client {
        Client { address, key: key.to_owned(), connection: None }
    }

    pub async fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<Response> {
        let bytes = request(method, path, &self.key, headers, body);
        let mut connection = match self.connection.take().filter(|open| !open.is_closing()) {
            Some(connection) => connection,
            None => Connection::open(self.address).await?,
        };
        let response = connection.exchange(&bytes).await?;
        self.connection = Some(connection);
        Ok(response)
    }

    /// Sends a JSON body and returns the JSON response.
    ///
    /// # Errors
    /// A status other than 2xx is an error that contains the response body.
    pub async fn call(&mut self, method: &str, path: &str, body: &Value) -> anyhow::Result<Value> {
        let bytes = if body.is_null() { Vec::new() } else { serde_json::to_vec(body)? };
        let response = self.send(method, path, &[], &bytes).await?;
        let text = String::from_utf8_lossy(&response.body);
        anyhow::ensure!((200..300).contains(&response.status), "{method} {path}: {} {text}", response.status);
        Ok(response.json())
    }
}
