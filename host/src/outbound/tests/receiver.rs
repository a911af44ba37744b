//! A server whose bytes are controlled by the test.

use std::{
    future::Future,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

pub const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

pub struct Receiver {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Receiver {
    /// Starts a server. `handle` receives each connection and its number, from 0.
    pub async fn start<F, Fut>(handle: F) -> Receiver
    where
        F: Fn(usize, TcpStream) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        Receiver::start_at("127.0.0.1:0".parse().unwrap(), handle).await
    }

    pub async fn start_at<F, Fut>(address: SocketAddr, handle: F) -> Receiver
    where
        F: Fn(usize, TcpStream) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(handle(counted.fetch_add(1, Ordering::SeqCst), stream));
            }
        });
        Receiver { address, connections }
    }

    /// Starts a server that responds to every request with these bytes.
    pub async fn answering(answer: &'static [u8]) -> Receiver {
        Receiver::start(move |_, stream| answer_all(stream, answer)).await
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

pub async fn answer_all(mut stream: impl AsyncRead + AsyncWrite + Unpin, answer: &'static [u8]) {
    while read_request(&mut stream).await.is_some() {
        if stream.write_all(answer).await.is_err() {
            break;
        }
    }
}

/// Reads the next request with its body. Returns `None` if the client has closed the connection.
pub async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        read.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8_lossy(&read).into_owned();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).await.ok()?;
    Some(head + &String::from_utf8_lossy(&body))
}
