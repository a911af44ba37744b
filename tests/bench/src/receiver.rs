//! Receiver of webhooks and other calls for measurements and crash tests: any number of endpoints, each on its own
//! port.
//!
//! Owns a thread and its sockets. It checks no signature and stores nothing. The closure that it was started with
//! interprets each request and selects the response. The closure gets requests in the order in which they were
//! completely received, one at a time.

use std::{
    io,
    net::{self, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpStream},
    runtime,
    sync::oneshot,
    time::sleep,
};

use crate::wire::{Connection, find_header};

/// A received request.
pub struct ReceivedRequest<'a> {
    /// Index of the endpoint, counted from 0.
    pub endpoint: usize,
    /// Header `webhook-id`, empty if absent.
    pub id: &'a str,
    /// Header `idempotency-key`, empty if absent.
    pub key: &'a str,
    /// Request line and headers.
    pub head: &'a str,
    pub body: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverResponse {
    Status(u16),
    /// The status, after a delay.
    Late(Duration, u16),
    /// No response: the connection stays open.
    Never,
}

type Behaviour = Arc<dyn Fn(&ReceivedRequest<'_>) -> ReceiverResponse + Send + Sync>;

/// Receiver that runs until it is dropped.
pub struct Receiver {
    addresses: Vec<SocketAddr>,
    connections: Arc<AtomicUsize>,
    /// Dropped first: this ends the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Receiver {
    pub fn start(
        endpoints: usize,
        behaviour: impl Fn(&ReceivedRequest<'_>) -> ReceiverResponse + Send + Sync + 'static,
    ) -> io::Result<Receiver> {
        let behaviour: Behaviour = Arc::new(behaviour);
        let (mut listeners, mut addresses) = (Vec::new(), Vec::new());
        for _ in 0..endpoints {
            let listener = net::TcpListener::bind("127.0.0.1:0")?;
            listener.set_nonblocking(true)?;
            addresses.push(listener.local_addr()?);
            listeners.push(listener);
        }
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        let thread = thread::Builder::new().name("receiver".to_owned()).spawn(move || {
            runtime.block_on(async {
                for (endpoint, listener) in listeners.into_iter().enumerate() {
                    tokio::spawn(accept(listener, endpoint, behaviour.clone(), counted.clone()));
                }
                // An error means that the sender was dropped, as it always is.
                let _ = stopped.await;
            });
        })?;
        Ok(Receiver { addresses, connections, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the URLs of the endpoints, in the order of their indexes.
    pub fn urls(&self) -> impl Iterator<Item = String> {
        self.addresses.iter().map(|address| format!("http://{address}/hook"))
    }

    /// Returns the number of open connections.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed already.
            let _ = thread.join();
        }
    }
}

async fn accept(listener: net::TcpListener, endpoint: usize, behaviour: Behaviour, open: Arc<AtomicUsize>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                open.fetch_add(1, Ordering::SeqCst);
                let (behaviour, open) = (behaviour.clone(), open.clone());
                tokio::spawn(async move {
                    // An error only means that the peer closed the connection.
                    let _ = serve(stream, endpoint, behaviour).await;
                    open.fetch_sub(1, Ordering::SeqCst);
                });
            }
            // For example, the process has no free file descriptors.
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
}

/// Serves one connection until the peer closes it.
async fn serve(stream: TcpStream, endpoint: usize, behaviour: Behaviour) -> io::Result<()> {
    let mut connection = Connection::from_stream(stream)?;
    loop {
        let (head, body) = connection.receive().await?;
        let id = find_header(&head, "webhook-id").unwrap_or_default();
        let key = find_header(&head, "idempotency-key").unwrap_or_default();
        let status = match behaviour(&ReceivedRequest { endpoint, id, key, head: &head, body: &body }) {
            ReceiverResponse::Status(status) => status,
            ReceiverResponse::Late(pause, status) => {
                sleep(pause).await;
                status
            }
            ReceiverResponse::Never => return std::future::pending().await,
        };
        connection.respond(status).await?;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::wire::request;

    async fn post(address: SocketAddr, id: &str) -> io::Result<u16> {
        let request = request("POST", "/hook", "", &[("webhook-id", id)], b"{}");
        Ok(Connection::open(address).await?.exchange(&request).await?.status)
    }

    #[tokio::test]
    async fn request_reaches_the_closure_with_its_endpoint_and_gets_its_response() {
        let (sender, receiver_of_seen) = mpsc::channel();
        let receiver = Receiver::start(2, move |post| {
            sender.send((post.endpoint, post.id.to_owned(), post.body.to_vec())).unwrap();
            if post.endpoint == 0 {
                ReceiverResponse::Status(200)
            } else {
                ReceiverResponse::Late(Duration::from_millis(1), 500)
            }
        });
        let receiver = receiver.unwrap();
        assert_eq!(post(receiver.addresses[0], "a").await.unwrap(), 200);
        assert_eq!(post(receiver.addresses[1], "b").await.unwrap(), 500);
        let seen: Vec<_> = receiver_of_seen.try_iter().collect();
        assert_eq!(seen, [(0, "a".to_owned(), b"{}".to_vec()), (1, "b".to_owned(), b"{}".to_vec())]);
    }

    #[tokio::test]
    async fn hanging_endpoint_does_not_block_others() {
        let receiver = Receiver::start(2, |post| {
            if post.endpoint == 0 { ReceiverResponse::Never } else { ReceiverResponse::Status(200) }
        });
        let receiver = receiver.unwrap();
        let hanging = tokio::spawn(post(receiver.addresses[0], "a"));
        assert_eq!(post(receiver.addresses[1], "b").await.unwrap(), 200);
        assert!(!hanging.is_finished());
        drop(receiver);
        assert!(hanging.await.unwrap().is_err(), "a dropped receiver closes its connections");
    }
}
