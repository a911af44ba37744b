//! Looking up names: the system's way, so that a call finds what the operator's other programs find.
//!
//! Owns how many names are looked up at once. Never judges what it finds, keeps nothing: an answer is used at once.

use std::{
    future::Future,
    io,
    net::{IpAddr, ToSocketAddrs},
    pin::Pin,
    sync::Arc,
};

use tokio::sync::Semaphore;

use crate::limits::OUTBOUND_LOOKUPS_MAX;

pub type Lookup<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Finds the addresses of a name, best first.
pub trait Resolve: Send + Sync {
    fn lookup<'a>(&'a self, name: &'a str) -> Lookup<'a>;
}

/// `getaddrinfo`: hosts file, name servers, whatever the system is set up for.
pub struct SystemResolver {
    running: Arc<Semaphore>,
}

impl SystemResolver {
    pub fn new() -> SystemResolver {
        SystemResolver { running: Arc::new(Semaphore::new(OUTBOUND_LOOKUPS_MAX)) }
    }
}

impl Default for SystemResolver {
    fn default() -> SystemResolver {
        SystemResolver::new()
    }
}

impl Resolve for SystemResolver {
    fn lookup<'a>(&'a self, name: &'a str) -> Lookup<'a> {
        Box::pin(async move {
            let permit = Arc::clone(&self.running).acquire_owned().await.map_err(io::Error::other)?;
            let name = name.to_owned();
            let found = tokio::task::spawn_blocking(move || {
                let found = (name.as_str(), 0).to_socket_addrs();
                // Not before: a call that gave up waiting does not end what the system is doing.
                drop(permit);
                found
            });
            Ok(found.await.map_err(io::Error::other)??.map(|address| address.ip()).collect())
        })
    }
}
