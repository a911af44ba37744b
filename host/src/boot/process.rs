//! Resources that the system gives to the process: descriptors, pages, and signals.

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

/// Keeps memory in small pages, also in processes that this one starts. In huge ones, a page that one thread uses keeps 2 MiB
/// resident, so that a burst of large calls takes several times the memory budget.
pub fn disable_huge_pages() {
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::warn!("transparent huge pages stay enabled, the process may need more memory: {error}");
    }
}

/// Keeps a write beyond the file size limit of the process (RLIMIT_FSIZE) from ending it: the write fails instead. Nothing is logged
/// about the signal, because the log may be the file that is too large.
pub fn survive_file_size_limit() -> io::Result<()> {
    let number = rustix::process::Signal::XFSZ.as_raw();
    // The default action is replaced until the process ends.
    signal(SignalKind::from_raw(number)).map(drop)
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

/// Signals of a host. While a value exists, none of them ends the process by itself.
///
/// SIGINT and SIGTERM stop the host. SIGHUP, SIGUSR1 and SIGUSR2 are logged and ignored: a closed terminal or the habit of "reload" must
/// not cut running calls.
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

    /// Returns for SIGINT or SIGTERM; at once for one that came before.
    pub async fn next(&mut self) {
        loop {
            tokio::select! {
                () = self.ending.next() => return,
                Some(()) = self.hangup.recv() => tracing::info!(
                    "SIGHUP has no effect: changes of plugins.toml, components and certificates take effect without it"
                ),
                Some(()) = self.user_1.recv() => tracing::debug!("SIGUSR1 has no effect"),
                Some(()) = self.user_2.recv() => tracing::debug!("SIGUSR2 has no effect"),
            }
        }
    }
}

/// Control-C or SIGTERM from now on.
pub async fn signalled() -> io::Result<()> {
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
