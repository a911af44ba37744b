//! What the process is given by the system: descriptors, and signals that end it.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Connections are descriptors, and most systems start a program with few that it may raise itself.
pub fn raise_descriptor_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it is refused, `http` says when there are no more.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Control-C and SIGTERM. While a value exists, they no longer end the process by themselves.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub fn listen() -> io::Result<Signals> {
        Ok(Signals { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Returns at once for a signal that came before.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Control-C or SIGTERM from now on.
pub async fn signalled() -> io::Result<()> {
    Signals::listen()?.next().await;
    Ok(())
}
