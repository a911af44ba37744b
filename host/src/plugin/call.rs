//! One call into a plugin: fresh store and instance, run, commit, run again after a conflict, answer.

/// What one instance may see and collect while it runs; the data of its `wasmtime::Store`.
pub struct CallState {}
