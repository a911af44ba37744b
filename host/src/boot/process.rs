//! Process resources: file descriptors, memory pages, and signals.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Raises the limit of open files to its maximum. Each connection needs a descriptor, and most systems have a low
/// default.
pub fn raise_descriptor_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If this fails, `http` logs when descriptors run out.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Disables transparent huge pages for this process and its children. A huge page that one thread uses keeps 2 MiB
/// resident, so a burst of large calls would take several times the memory budget.
pub fn disable_huge_pages() {
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::warn!("failed to disable transparent huge pages; the process may need more memory: {error}");
    }
}

/// Prevents SIGXFSZ from ending the process: a write beyond the file size limit (RLIMIT_FSIZE) fails instead. The
/// signal is not logged, because the log may be the file that is too large.
pub fn survive_file_size_limit() -> io::Result<()> {
    let number = rustix::process::Signal::XFSZ.as_raw();
    // The handler replaces the default action until the process ends, even though its stream is dropped.
    signal(SignalKind::from_raw(number)).map(drop)
}

/// Receiver of SIGINT (Control-C) and SIGTERM. Once a value was created, the signals no longer end the process by
/// themselves, even after the value is dropped.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub fn listen() -> io::Result<Signals> {
        Ok(Signals { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for a signal. Returns immediately if one was received before.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Receiver of the signals of a host. Once a value was created, none of them ends the process by itself.
///
/// SIGINT and SIGTERM stop the host. SIGHUP, SIGUSR1 and SIGUSR2 are logged and ignored: a closed terminal or a
/// habitual "reload" must not cut running calls.
pub struct HostSignals {
    ending: Signals,
    hangup: Signal,
    user_1: Signal,
    user_2: Signal,
}

impl HostSignals {
    pub fn listen() -> io::Result<HostSignals> {
        Ok(HostSignals {
            ending: Signals::listen()?,
            hangup: signal(SignalKind::hangup())?,
            user_1: signal(SignalKind::user_defined1())?,
            user_2: signal(SignalKind::user_defined2())?,
        })
    }

    /// Waits for SIGINT or SIGTERM. Returns immediately if one was received before.
    pub async fn next(&mut self) {
        loop {
            tokio::select! {
                () = self.ending.next() => return,
                Some(()) = self.hangup.recv() => tracing::info!(
                    "ignored SIGHUP: changes of plugins.toml, components and certificates take effect without it"
                ),
                Some(()) = self.user_1.recv() => tracing::debug!("ignored SIGUSR1"),
                Some(()) = self.user_2.recv() => tracing::debug!("ignored SIGUSR2"),
            }
        }
    }
}

/// Waits for SIGINT (Control-C) or SIGTERM. Signals that arrived before the call are not reported.
pub async fn shutdown_signal() -> io::Result<()> {
    Signals::listen()?.next().await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use rustix::process::{Signal as Number, getpid, kill_process};

    use super::*;

    #[tokio::test]
    async fn hangup_and_user_signals_neither_kill_nor_stop_the_host() {
        let mut signals = HostSignals::listen().unwrap();
        let ignored = [
            (Number::HUP, SignalKind::hangup()),
            (Number::USR1, SignalKind::user_defined1()),
            (Number::USR2, SignalKind::user_defined2()),
        ];
        for (number, kind) in ignored {
            let mut arrived = signal(kind).unwrap();
            kill_process(getpid(), number).unwrap();
            arrived.recv().await.unwrap();
            assert!(signals.next().now_or_never().is_none(), "{number:?}");
        }
    }
}
