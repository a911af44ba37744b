//! A receiver of webhooks and other calls for measurements and crashes: as many endpoints as wanted, each on a port of its own.
//!
//! Owns a thread and its sockets; checks no signature and keeps nothing: what a request means, and how it is answered,
//! says the closure that it was started with. Requests are shown to it in the order in which they were whole, one at a time.

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

/// One request.
pub struct Post<'a> {
    /// Which endpoint, counted from 0.
    pub endpoint: usize,
    /// `webhook-id`, empty where there is none.
    pub id: &'a str,
    /// `idempotency-key`, empty where there is none.
    pub key: &'a str,
    /// Line of the request and headers.
    pub head: &'a str,
    pub body: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    Status(u16),
    /// The same, after a while.
    Late(Duration, u16),
    /// The connection stays open and nothing comes.
    Never,
}

type Behaviour = Arc<dyn Fn(&Post<'_>) -> Reply + Send + Sync>;

/// Receives until it is dropped.
pub struct Receiver {
    addresses: Vec<SocketAddr>,
    connections: Arc<AtomicUsize>,
    /// Dropped first: that is what ends the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Receiver {
    pub fn start(
        endpoints: usize,
        behaviour: impl Fn(&Post<'_>) -> Reply + Send + Sync + 'static,
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

    /// To be given to an endpoint, one for each.
    pub fn urls(&self) -> impl Iterator<Item = String> {
        self.addresses.iter().map(|address| format!("http://{address}/hook"))
    }

    /// That are open.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic in there was printed already.
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
                    // It ends when the other side is gone: there is nothing to say about that.
                    let _ = hold(stream, endpoint, behaviour).await;
                    open.fetch_sub(1, Ordering::SeqCst);
                });
            }
            // No descriptors left, say.
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
}

/// Until the other side is gone.
async fn hold(stream: TcpStream, endpoint: usize, behaviour: Behaviour) -> io::Result<()> {
    let mut connection = Connection::over(stream)?;
    loop {
        let (head, body) = connection.receive().await?;
        let id = find_header(&head, "webhook-id").unwrap_or_default();
        let key = find_header(&head, "idempotency-key").unwrap_or_default();
        let status = match behaviour(&Post { endpoint, id, key, head: &head, body: &body }) {
            Reply::Status(status) => status,
            Reply::Late(pause, status) => {
                sleep(pause).await;
                status
            }
            Reply::Never => return std::future::pending().await,
        };
        connection.answer(status).await?;
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
    async fn each_request_is_shown_with_its_endpoint_and_answered_as_told() {
        let (seen, shown) = mpsc::channel();
        let receiver = Receiver::start(2, move |post| {
            seen.send((post.endpoint, post.id.to_owned(), post.body.to_vec())).unwrap();
            if post.endpoint == 0 { Reply::Status(200) } else { Reply::Late(Duration::from_millis(1), 500) }
        });
        let receiver = receiver.unwrap();
        assert_eq!(post(receiver.addresses[0], "a").await.unwrap(), 200);
        assert_eq!(post(receiver.addresses[1], "b").await.unwrap(), 500);
        let shown: Vec<_> = shown.try_iter().collect();
        assert_eq!(shown, [(0, "a".to_owned(), b"{}".to_vec()), (1, "b".to_owned(), b"{}".to_vec())]);
    }

    #[tokio::test]
    async fn one_that_hangs_holds_nobody_else() {
        let receiver = Receiver::start(2, |post| if post.endpoint == 0 { Reply::Never } else { Reply::Status(200) });
        let receiver = receiver.unwrap();
        let hanging = tokio::spawn(post(receiver.addresses[0], "a"));
        assert_eq!(post(receiver.addresses[1], "b").await.unwrap(), 200);
        assert!(!hanging.is_finished());
        drop(receiver);
        assert!(hanging.await.unwrap().is_err(), "a receiver that is dropped closes its connections");
    }
}
