//! What the process is given by the system: descriptors, and signals that end it.

/// Connections are descriptors, and most systems start a program with few that it may raise itself.
pub fn raise_descriptor_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it is refused, `http` says when there are no more.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Control-C or SIGTERM.
pub async fn signalled() -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminate.recv() => {}
    }
    Ok(())
}
