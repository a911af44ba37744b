//! HTTP/1.1 byte by byte, for callers that dawdle, lie about lengths, or stop in the middle.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

const PATIENCE: Duration = Duration::from_secs(30);

pub struct RawConnection {
    stream: TcpStream,
    seen: Vec<u8>,
}

impl RawConnection {
    /// `base`: "http://127.0.0.1:1234".
    pub async fn open(base: &str) -> RawConnection {
        let stream = TcpStream::connect(base.trim_start_matches("http://")).await.expect("a connection");
        RawConnection { stream, seen: Vec::new() }
    }

    /// The other side may be gone already: what it said is still there to be read.
    pub async fn send(&mut self, text: &str) {
        let _ = self.stream.write_all(text.as_bytes()).await;
    }

    /// Sends a whole POST request and does not wait for the answer. `headers`: lines, each with its end.
    pub async fn post(&mut self, path: &str, headers: &str, body: &str) {
        let length = body.len();
        self.send(&format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {length}\r\n\r\n{body}"
        ))
        .await;
    }

    /// The same with a key and a body of JSON.
    pub async fn post_json(&mut self, path: &str, key: &str, body: &serde_json::Value) {
        let headers = format!("authorization: Bearer {key}\r\ncontent-type: application/json\r\n");
        self.post(path, &headers, &body.to_string()).await;
    }

    /// Reads until this text has come.
    pub async fn read_until(&mut self, wanted: &str) {
        while !self.text().contains(wanted) {
            assert!(self.read_more().await, "the connection ended before {wanted:?}: {}", self.text());
        }
    }

    /// Everything that comes until the other side closes.
    pub async fn read_to_end(mut self) -> String {
        while self.read_more().await {}
        self.text()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    async fn read_more(&mut self) -> bool {
        let read = timeout(PATIENCE, self.stream.read_buf(&mut self.seen)).await;
        // A reset is an end as well.
        read.expect("more bytes or an end").unwrap_or(0) > 0
    }
}
