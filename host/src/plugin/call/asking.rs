//! How many questions are put to others at the same time: a bound for all, and one for each plugin and tenant, so that
//! somebody else's slow server costs one tenant its own time and nobody else's connections.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    changes::scope::Scope,
    limits::{QUESTIONS_RUNNING_MAX, TENANT_QUESTIONS_RUNNING_MAX},
};

pub(super) struct Asking {
    all: Arc<Semaphore>,
    tenants: Mutex<HashMap<Scope, Arc<Semaphore>>>,
}

/// Given back when it is dropped.
pub(super) struct Turn {
    _of_tenant: Option<OwnedSemaphorePermit>,
    _of_all: Option<OwnedSemaphorePermit>,
}

impl Default for Asking {
    fn default() -> Asking {
        Asking { all: Arc::new(Semaphore::new(QUESTIONS_RUNNING_MAX)), tenants: Mutex::default() }
    }
}

impl Asking {
    pub async fn take(&self, scope: &Scope) -> Turn {
        let tenant = {
            let mut tenants = self.tenants.lock();
            if !tenants.contains_key(scope) {
                // Those of whom nobody asks or waits are made anew when they come back.
                tenants.retain(|_, questions| Arc::strong_count(questions) > 1);
            }
            let new = || Arc::new(Semaphore::new(TENANT_QUESTIONS_RUNNING_MAX));
            tenants.entry(scope.clone()).or_insert_with(new).clone()
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

    #[tokio::test]
    async fn a_tenant_that_asks_too_much_waits_for_itself_alone() {
        let scope = |tenant: &str| Scope::new("notes".into(), tenant.into()).unwrap();
        let (asking, acme, globex) = (Asking::default(), scope("acme/test"), scope("globex/test"));
        let mut turns = Vec::new();
        for _ in 0..TENANT_QUESTIONS_RUNNING_MAX {
            turns.push(asking.take(&acme).await);
        }
        // So many turns in a row use up what one task may do at a time.
        tokio::task::yield_now().await;
        assert!(asking.take(&acme).now_or_never().is_none());
        assert!(asking.take(&globex).now_or_never().is_some());
        turns.pop();
        assert!(asking.take(&acme).now_or_never().is_some());
    }
}
