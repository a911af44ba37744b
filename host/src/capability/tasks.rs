//! `tasks`: durable timers. Only names are checked here. The draft implements the rest.

use tenon_bindings::tenon::plugin::tasks::Host;

use super::trap;
use crate::capability::CallState;

impl Host for CallState {
    async fn schedule(&mut self, name: String, key: String, at: u64, payload: String) -> wasmtime::Result<()> {
        let wait_started = self.meter(name.len() + key.len() + payload.len())?;
        self.check_task(&name)?;
        let scheduled = self.draft().schedule(&name, &key, at, payload).map_err(trap);
        self.end_wait(wait_started).await;
        scheduled
    }

    async fn cancel(&mut self, name: String, key: String) -> wasmtime::Result<bool> {
        let wait_started = self.meter(name.len() + key.len())?;
        self.check_task(&name)?;
        let cancelled = self.draft().cancel_task(&name, &key).await.map_err(trap);
        self.end_wait(wait_started).await;
        cancelled
    }
}
