//! `tenon serve`: runs the host.

use std::{
    io::{self, ErrorKind},
    net::SocketAddr,
    time::Duration,
};

use clap::Args;
use futures_util::FutureExt;
use tokio::net::{TcpListener, TcpSocket};

use super::{CliError, Outcome};
use crate::{
    boot::{self, Start},
    config::{self, Flags, Variables},
    limits, log,
    plugin::{compile::Program, native::Natives},
};

/// Run the host
#[derive(Args)]
#[command(after_help = "Example:\n  tenon serve --config plugins.toml --listen 127.0.0.1:8080 --data-dir data\n\n\
    A flag overrides its variable (TENON_CONFIG, TENON_LISTEN, TENON_ADMIN_LISTEN, TENON_DATABASE, TENON_DATA_DIR), \
    and a variable overrides the file. `tenon config reference` lists every key.")]
pub struct Serve {
    #[command(flatten)]
    flags: Flags,
}

impl Serve {
    pub fn run(self, natives: Natives) -> Result<Outcome, CliError> {
        let flags = self.flags;
        let variables = Variables::of_process();
        let config = config::load(&flags, &variables)?;
        boot::return_freed_memory();
        boot::raise_descriptor_limit();
        log::start(variables.get("TENON_LOG"), variables.get("RUST_LOG"));
        boot::disable_huge_pages();
        config.warnings.iter().for_each(|warning| tracing::warn!(file = %config.file.display(), "{warning}"));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .event_interval(limits::TASKS_BETWEEN_IO_POLLS)
            .build();
        let runtime = runtime.map_err(|error| CliError::Failed(format!("failed to start the threads: {error}")))?;
        let serving = async {
            let interfaces = listen_on(config.listen, "--listen", "TENON_LISTEN")?;
            let operators = listen_on(config.admin_listen, "--admin", "TENON_ADMIN_LISTEN")?;
            let reload = Box::new(move || config::load(&flags, &variables));
            let compiler = Program::own()
                .map_err(|error| CliError::Failed(format!("failed to find the executable file: {error}")))?;
            let start = Start { config, interfaces, operators, natives, compiler, reload };
            boot::serve(start).await.map_err(|error| CliError::failed(error.as_ref()))
        };
        let served = runtime.block_on(serving.boxed_local());
        // A thread that hangs in a system call (file access, name resolution) must not keep the process from ending.
        runtime.shutdown_timeout(Duration::from_millis(limits::THREADS_STOP_MS));
        served?;
        Ok(Outcome::success(String::new()))
    }
}

fn listen_on(address: SocketAddr, flag: &'static str, variable: &'static str) -> Result<TcpListener, CliError> {
    bind(address).map_err(|source| match source.kind() {
        ErrorKind::AddrInUse => CliError::PortTaken { address, flag, variable },
        _ => CliError::Listen { address, flag, variable, source },
    })
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Allows the port of a host that ended a moment ago. On Windows the option would let two programs share a port.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(limits::LISTEN_BACKLOG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn error_for_a_used_port_names_the_flag() {
        let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = other.local_addr().unwrap();
        let error = listen_on(address, "--listen", "TENON_LISTEN").unwrap_err().to_string();
        assert!(error.contains(&address.to_string()) && error.contains("--listen"), "{error}");
    }
}
