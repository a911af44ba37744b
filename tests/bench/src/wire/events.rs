//! Client side of server-sent events: returns the data of one event after another, from now on.
//!
//! Owns one socket. Accepts only a chunked response (RFC 9112, 7.1).

use std::{io, net::SocketAddr};

use super::{Connection, find_header, malformed, request};

pub struct EventStream {
    connection: Connection,
    /// Text of complete chunks that is not yet read.
    text: Vec<u8>,
}

impl EventStream {
    /// Opens the stream. Returns after the response head arrived: the stream contains every event from then on.
    pub async fn open(address: SocketAddr, key: &str, path: &str) -> io::Result<EventStream> {
        let mut connection = Connection::open(address).await?;
        connection.send(&request("GET", path, key, &[], b"")).await?;
        let head = connection.read_head().await?;
        let is_chunked = find_header(&head, "transfer-encoding") == Some("chunked");
        if head.get(9..12) != Some("200") || !is_chunked {
            return Err(malformed("the response is not an event stream"));
        }
        Ok(EventStream { connection, text: Vec::new() })
    }

    /// Returns the data of the next event, which is one line.
    pub async fn next(&mut self) -> io::Result<String> {
        loop {
            while let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.text.drain(..=end).collect();
                if let Some(data) = line.strip_prefix(b"data: ") {
                    return Ok(String::from_utf8_lossy(data).trim_end().to_owned());
                }
            }
            let chunk = self.connection.read_chunk().await?;
            self.text.extend_from_slice(&chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncWriteExt, net::TcpListener};

    use super::*;

    #[tokio::test]
    async fn events_are_whole_for_any_chunk_boundaries() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
            for part in
                [head, "9\r\nretry: 1\n\r\n", "b\r\nid: 1\ndata:", "\r\n0", "f\r\n one\n\ndata: two\r\n1\r\n\n\r\n"]
            {
                stream.write_all(part.as_bytes()).await.unwrap();
                stream.flush().await.unwrap();
            }
            stream
        });
        let mut events = EventStream::open(address, "", "/stream").await.unwrap();
        assert_eq!(events.next().await.unwrap(), "one");
        assert_eq!(events.next().await.unwrap(), "two");
        drop(serving.await.unwrap());
        assert!(events.next().await.is_err(), "the end of the stream is not an event");
    }
}
