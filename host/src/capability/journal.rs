//! `journal`: lines for auditors, stored for refusals too. They are only collected here and chained when they are
//! applied.

use tenon_bindings::tenon::plugin::journal::Host;

use super::CallState;
use super::trap;

impl Host for CallState {
    async fn append(&mut self, entry: String) -> wasmtime::Result<()> {
        self.count(entry.len())?;
        let decided_by = self.decided_by();
        self.draft().append_journal(decided_by, entry).map_err(trap)
    }
}
