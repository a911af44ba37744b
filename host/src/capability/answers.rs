//! `answers`: statements of a guest about its answer. The interface needs no grant.

use tenon_bindings::tenon::plugin::answers::Host;

use super::CallState;

impl Host for CallState {
    async fn repeatable(&mut self) -> wasmtime::Result<()> {
        self.count_constant(0)?;
        self.note_repeatable();
        Ok(())
    }
}
