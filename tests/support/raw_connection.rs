//! HTTP/1.1 byte by byte, for callers that are slow, send wrong lengths, or stop in the middle.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

const TIMEOUT: Duration = Duration::from_secs(30);

pub struct RawConnection {
    stream: TcpStream,
    received: Vec<u8>,
}

impl RawConnection {
    /// Connects to `base` ("http://127.0.0.1:1234").
    pub async fn open(base: &str) -> RawConnection {
        let stream = TcpStream::connect(base.trim_start_matches("http://")).await.expect("a connection");
        RawConnection { stream, received: Vec::new() }
    }

    /// Sends a string. Ignores errors: the host may have closed the connection, and its response can still be read.
    pub async fn send(&mut self, text: &str) {
        let _ = self.stream.write_all(text.as_bytes()).await;
    }

    /// Sends a whole POST request and does not wait for the response. Each line of `headers` ends with CRLF.
    pub async fn post(&mut self, path: &str, headers: &str, body: &str) {
        let length = body.len();
        self.send(&format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {length}\r\n\r\n{body}"
        ))
        .await;
    }

    /// Sends a POST request with a key and a JSON body.
    pub async fn post_json(&mut self, path: &str, key: &str, body: &serde_json::Value) {
        let headers = format!("authorization: Bearer {key}\r\ncontent-type: application/json\r\n");
        self.post(path, &headers, &body.to_string()).await;
    }

    /// Reads until the received text contains `expected`.
    pub async fn read_until(&mut self, expected: &str) {
        while !self.text().contains(expected) {
            assert!(self.read_more().await, "the connection was closed before {expected:?}: {}", self.text());
        }
    }

    /// Reads until the host closes the connection and returns everything that was received.
    pub async fn read_to_end(mut self) -> String {
        while self.read_more().await {}
        self.text()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.received).into_owned()
    }

    async fn read_more(&mut self) -> bool {
        let read = timeout(TIMEOUT, self.stream.read_buf(&mut self.received)).await;
        // A reset counts as an end.
        read.expect("more bytes or an end").unwrap_or(0) > 0
    }
}
