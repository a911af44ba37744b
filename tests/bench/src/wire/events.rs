//! Server-sent events as a reader of a load generator needs them: the data of one after the other, from now on.
//!
//! Owns one socket. Takes an answer in chunks (RFC 9112, 7.1) and nothing else.

use std::{io, net::SocketAddr};

use super::{Connection, find_header, malformed, request};

pub struct EventStream {
    connection: Connection,
    /// What came in whole chunks and is not read yet.
    text: Vec<u8>,
}

impl EventStream {
    /// Returns when the server has answered: what happens from then on is seen.
    pub async fn open(address: SocketAddr, key: &str, path: &str) -> io::Result<EventStream> {
        let mut connection = Connection::open(address).await?;
        connection.send(&request("GET", path, key, &[], b"")).await?;
        let head = connection.read_head().await?;
        let is_chunked = find_header(&head, "transfer-encoding") == Some("chunked");
        if head.get(9..12) != Some("200") || !is_chunked {
            return Err(malformed("the answer is no stream of events"));
        }
        Ok(EventStream { connection, text: Vec::new() })
    }

    /// The data of the next event, which is one line.
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
    async fn events_come_whole_however_they_were_cut() {
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
        assert!(events.next().await.is_err(), "the end is no event");
    }
}
