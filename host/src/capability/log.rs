//! `log`: log lines of the plugin, under its own name. Long lines are truncated. A line over a log limit is dropped and
//! does not fail the call.

use tenon_bindings::tenon::plugin::{
    log::{Host, Level},
    types::Pair,
};

use super::CallState;
use crate::limits::LOG_MESSAGE_BYTES_MAX;

impl Host for CallState {
    async fn write(&mut self, level: Level, message: String, fields: Vec<Pair>) -> wasmtime::Result<()> {
        let bytes: usize = fields.iter().map(|pair| pair.name.len() + pair.value.len()).sum();
        self.count(message.len() + bytes)?;
        let fields: Vec<String> = fields.iter().map(|pair| format!("{}={}", pair.name, pair.value)).collect();
        self.log_line(level, cut(&message), cut(&fields.join(" ")));
        Ok(())
    }
}

fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LOG_MESSAGE_BYTES_MAX)).unwrap_or_default()
}
