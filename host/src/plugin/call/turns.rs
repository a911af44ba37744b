//! Turns at what is scarce: a bound for all, and one for each plugin and tenant, so that what one tenant asks for too often, or
//! of somebody slow, costs it its own time and nobody else's. Too many that wait are turned away.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Plugin, and tenant or address of a caller without a key.
pub(super) type Who = (Arc<str>, Arc<str>);

pub(super) struct Turns {
    all: Arc<Semaphore>,
    each: usize,
    waiting_max: usize,
    tenants: Mutex<HashMap<Who, Arc<Semaphore>>>,
}

/// Given back when it is dropped.
pub(super) struct Turn {
    _of_tenant: Option<OwnedSemaphorePermit>,
    _of_all: Option<OwnedSemaphorePermit>,
}

impl Turns {
    /// `all`: turns at once; `each`: those of one plugin and tenant, and `waiting_max`: of which so many may wait for theirs.
    pub fn new(all: usize, each: usize, waiting_max: usize) -> Turns {
        Turns { all: Arc::new(Semaphore::new(all)), each, waiting_max, tenants: Mutex::default() }
    }

    /// `None`: as many as may wait do already.
    pub async fn take(&self, who: Who) -> Option<Turn> {
        let tenant = {
            let mut tenants = self.tenants.lock();
            if !tenants.contains_key(&who) {
                // Those that nobody has or waits for are made anew when they come back.
                tenants.retain(|_, turns| Arc::strong_count(turns) > 1);
            }
            let turns = tenants.entry(who).or_insert_with(|| Arc::new(Semaphore::new(self.each)));
            // Whoever has a turn or waits for one holds it, and so does the map.
            if Arc::strong_count(turns) > self.each.saturating_add(self.waiting_max) {
                return None;
            }
            turns.clone()
        };
        // They are never closed.
        let of_tenant = tenant.acquire_owned().await.ok();
        let of_all = self.all.clone().acquire_owned().await.ok();
        Some(Turn { _of_tenant: of_tenant, _of_all: of_all })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn who(tenant: &str) -> Who {
        ("notes".into(), tenant.into())
    }

    #[tokio::test]
    async fn a_tenant_that_asks_too_much_waits_for_itself_alone() {
        let turns = Turns::new(8, 4, 8);
        let mut taken = Vec::new();
        for _ in 0..4 {
            taken.push(turns.take(who("acme/test")).await.unwrap());
        }
        assert!(turns.take(who("acme/test")).now_or_never().is_none());
        assert!(turns.take(who("globex/test")).now_or_never().is_some());
        taken.pop();
        assert!(turns.take(who("acme/test")).now_or_never().is_some());
    }

    #[tokio::test]
    async fn whoever_comes_to_a_crowd_of_another_tenant_is_next() {
        let turns = Turns::new(1, 1, 30);
        let first = turns.take(who("acme/test")).await;
        let mut crowd: Vec<_> = (0..20).map(|_| Box::pin(turns.take(who("acme/test")))).collect();
        assert!(crowd.iter_mut().all(|waiting| waiting.now_or_never().is_none()));
        let mut other = Box::pin(turns.take(who("globex/test")));
        assert!((&mut other).now_or_never().is_none());
        drop(first);
        // One of the crowd may be before it, and no more.
        let before = crowd.iter_mut().filter_map(|waiting| waiting.now_or_never()).count();
        assert!(before <= 1, "{before}");
        assert!(other.now_or_never().flatten().is_some());
    }

    #[tokio::test]
    async fn of_a_crowd_so_many_may_wait_and_the_others_are_turned_away_at_once() {
        let turns = Turns::new(8, 2, 3);
        let mut taken = Vec::new();
        for _ in 0..2 {
            taken.push(turns.take(who("acme/test")).await.unwrap());
        }
        let mut waiting: Vec<_> = (0..3).map(|_| Box::pin(turns.take(who("acme/test")))).collect();
        assert!(waiting.iter_mut().all(|one| one.now_or_never().is_none()));
        assert!(turns.take(who("acme/test")).await.is_none());
        assert!(turns.take(who("globex/test")).await.is_some());
        taken.clear();
        assert!(waiting.remove(0).await.is_some());
        waiting.clear();
        assert!(turns.take(who("acme/test")).await.is_some(), "whoever went away makes room");
    }
}
