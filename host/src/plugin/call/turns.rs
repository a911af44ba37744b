//! Turns at what is scarce: a bound for all, and one for each plugin and tenant, so that what one tenant asks for too often, or
//! of somebody slow, costs it its own time and nobody else's.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::changes::scope::Scope;

pub(super) struct Turns {
    all: Arc<Semaphore>,
    each: usize,
    /// Open routes have no tenant: they are one together.
    tenants: Mutex<HashMap<Option<Scope>, Arc<Semaphore>>>,
}

/// Given back when it is dropped.
pub(super) struct Turn {
    _of_tenant: Option<OwnedSemaphorePermit>,
    _of_all: Option<OwnedSemaphorePermit>,
}

impl Turns {
    /// `all`: turns at once; `each`: those of one plugin and tenant.
    pub fn new(all: usize, each: usize) -> Turns {
        Turns { all: Arc::new(Semaphore::new(all)), each, tenants: Mutex::default() }
    }

    pub async fn take(&self, scope: Option<&Scope>) -> Turn {
        let tenant = {
            let scope = scope.cloned();
            let mut tenants = self.tenants.lock();
            if !tenants.contains_key(&scope) {
                // Those that nobody has or waits for are made anew when they come back.
                tenants.retain(|_, turns| Arc::strong_count(turns) > 1);
            }
            tenants.entry(scope).or_insert_with(|| Arc::new(Semaphore::new(self.each))).clone()
        };
        // They are never closed.
        let of_tenant = tenant.acquire_owned().await.ok();
        let of_all = self.all.clone().acquire_owned().await.ok();
        Turn { _of_tenant: of_tenant, _of_all: of_all }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn scope(tenant: &str) -> Option<Scope> {
        Scope::new("notes".into(), tenant.into())
    }

    #[tokio::test]
    async fn a_tenant_that_asks_too_much_waits_for_itself_alone() {
        let (turns, acme, globex) = (Turns::new(8, 4), scope("acme/test"), scope("globex/test"));
        let mut taken = Vec::new();
        for _ in 0..4 {
            taken.push(turns.take(acme.as_ref()).await);
        }
        assert!(turns.take(acme.as_ref()).now_or_never().is_none());
        assert!(turns.take(globex.as_ref()).now_or_never().is_some());
        taken.pop();
        assert!(turns.take(acme.as_ref()).now_or_never().is_some());
    }

    #[tokio::test]
    async fn whoever_comes_to_a_crowd_of_another_tenant_is_next() {
        let (turns, acme, globex) = (Turns::new(1, 1), scope("acme/test"), scope("globex/test"));
        let first = turns.take(acme.as_ref()).await;
        let mut crowd: Vec<_> = (0..20).map(|_| Box::pin(turns.take(acme.as_ref()))).collect();
        assert!(crowd.iter_mut().all(|waiting| waiting.now_or_never().is_none()));
        let mut other = Box::pin(turns.take(globex.as_ref()));
        assert!((&mut other).now_or_never().is_none());
        drop(first);
        // One of the crowd may be before it, and no more.
        let before = crowd.iter_mut().filter_map(|waiting| waiting.now_or_never()).count();
        assert!(before <= 1, "{before}");
        assert!(other.now_or_never().is_some());
    }
}
