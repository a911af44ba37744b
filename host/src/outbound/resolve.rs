//! Name lookups by the operating system, so that a call finds the same addresses as other programs of the operator.
//!
//! Owns the limits on concurrent lookups, in total and per party. Addresses are not checked here, and results are not
//! cached: a result is used at once.
//!
//! Invariant: a permit is held until the system returns, because `getaddrinfo` cannot be interrupted. A party whose
//! name servers are silent holds its share at most, however often its calls time out and start again.

use std::{
    future::Future,
    io,
    net::{IpAddr, ToSocketAddrs},
    pin::Pin,
    sync::Arc,
};

use crate::{
    fair::{Bounds, Fair, Request},
    limits::{OUTBOUND_LOOKUPS_EACH_MAX, OUTBOUND_LOOKUPS_MAX},
};

pub type Lookup<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// The party on whose behalf a call is made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Party {
    /// The host itself.
    Host,
    /// An organization with all of its environments and plugins.
    Organization(Arc<str>),
}

impl Party {
    pub fn of(organization: &str) -> Party {
        Party::Organization(organization.into())
    }
}

/// Looks up the addresses of a name, best first.
pub trait Resolve: Send + Sync {
    fn lookup<'a>(&'a self, party: &'a Party, name: &'a str) -> Lookup<'a>;
}

type SystemCall = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

/// Resolver based on `getaddrinfo`: hosts file, name servers, or any other configuration of the system.
pub struct SystemResolver {
    running: Arc<Fair<Party>>,
    system: Arc<SystemCall>,
}

impl SystemResolver {
    pub fn new() -> SystemResolver {
        SystemResolver::with(|name| Ok((name, 0).to_socket_addrs()?.map(|address| address.ip()).collect()))
    }

    /// Creates a resolver with a custom lookup. `system` blocks its thread until it has a result.
    pub(super) fn with(system: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static) -> SystemResolver {
        let running = Fair::new(Bounds {
            capacity: OUTBOUND_LOOKUPS_MAX,
            share: OUTBOUND_LOOKUPS_EACH_MAX,
            // Callers limit the number of calls, and each call limits its time.
            waiting_max: usize::MAX,
            waiting_each_max: usize::MAX,
        });
        SystemResolver { running, system: Arc::new(system) }
    }
}

impl Default for SystemResolver {
    fn default() -> SystemResolver {
        SystemResolver::new()
    }
}

impl Resolve for SystemResolver {
    fn lookup<'a>(&'a self, party: &'a Party, name: &'a str) -> Lookup<'a> {
        Box::pin(async move {
            let permit = self.running.acquire(party, Request::of(1), None).await.map_err(io::Error::other)?;
            let (system, name) = (Arc::clone(&self.system), name.to_owned());
            let found = tokio::task::spawn_blocking(move || {
                let found = system(&name);
                // Not released earlier: a call that gave up waiting does not interrupt the system.
                drop(permit);
                found
            });
            found.await.map_err(io::Error::other)?
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{net::Ipv4Addr, sync::mpsc};

    use futures_util::FutureExt;
    use parking_lot::Mutex;

    use super::*;

    fn party(tenant: &str) -> Party {
        Party::of(tenant)
    }

    /// Returns a resolver that blocks on the name "silent" until the sender is dropped.
    fn resolver() -> (SystemResolver, mpsc::Sender<()>) {
        let (release, released) = mpsc::channel();
        let released = Mutex::new(released);
        let resolver = SystemResolver::with(move |name| {
            if name == "silent" {
                let _disconnected = released.lock().recv();
            }
            Ok(vec![Ipv4Addr::LOCALHOST.into()])
        });
        (resolver, release)
    }

    /// Starts lookups and drops them, like calls that run out of time.
    fn give_up_lookups(resolver: &SystemResolver, party: &Party, count: u64) {
        for _ in 0..count {
            assert!(resolver.lookup(party, "silent").now_or_never().is_none());
        }
    }

    #[tokio::test]
    async fn party_with_hanging_lookups_leaves_lookups_to_others() {
        let (resolver, _release) = resolver();
        give_up_lookups(&resolver, &party("acme/test"), OUTBOUND_LOOKUPS_MAX + 100);
        assert_eq!(resolver.running.used(), OUTBOUND_LOOKUPS_EACH_MAX);
        for other in [party("globex/test"), Party::Host] {
            assert!(resolver.lookup(&other, "receiver").await.is_ok(), "{other:?}");
        }
    }

    #[tokio::test]
    async fn abandoned_lookup_keeps_its_permit_until_the_system_returns() {
        let ((resolver, release), acme) = (resolver(), party("acme/test"));
        give_up_lookups(&resolver, &acme, OUTBOUND_LOOKUPS_EACH_MAX);
        let mut waiting = resolver.lookup(&acme, "receiver");
        assert!((&mut waiting).now_or_never().is_none());
        assert_eq!((resolver.running.used(), resolver.running.waiting()), (OUTBOUND_LOOKUPS_EACH_MAX, 1));
        drop(release);
        assert!(waiting.await.is_ok());
        let all = Request::of(OUTBOUND_LOOKUPS_MAX);
        assert!(resolver.running.acquire(&Party::Host, all, None).await.is_ok(), "every permit is released");
    }
}
