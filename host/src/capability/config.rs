//! `config`: the plugin's own section of plugins.toml. Read-only and the same for every call of a generation.

use tenon_bindings::tenon::plugin::config::Host;

use super::CallState;

impl Host for CallState {
    async fn get(&mut self, key: String) -> wasmtime::Result<Option<String>> {
        self.count_constant(key.len())?;
        Ok(self.setting(&key).map(ToString::to_string))
    }
}
