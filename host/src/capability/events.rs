//! `events`: facts that are delivered after the commit. Only collected here.

use tenon_bindings::tenon::plugin::events::Host;

use super::CallState;
use super::trap;

impl Host for CallState {
    async fn emit(&mut self, event_type: String, subject: String, payload: String) -> wasmtime::Result<String> {
        self.meter(event_type.len() + subject.len() + payload.len())?;
        self.check_event_type(&event_type)?;
        self.draft().emit(&event_type, &subject, payload).map_err(trap)
    }
}
