//! `events`: facts that are delivered after the commit. Only collected here.

use tenon_bindings::tenon::plugin::events::Host;

use super::CallState;

impl Host for CallState {
    async fn emit(&mut self, event_type: String, subject: String, payload: String) -> wasmtime::Result<String> {
        self.meter(event_type.len() + subject.len() + payload.len())?;
        self.emit((&event_type, &subject), &payload, None)
    }
}
