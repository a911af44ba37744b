//! What went wrong, said so that the reader knows what to do next.

use std::path::PathBuf;

use crate::{admin::wire::Problem, config::ConfigError, secrets::SecretError};

#[derive(Debug, thiserror::Error)]
pub enum CliError {
    #[error("No Tenon answers on {0}. Start it with `make run` or `tenon serve`, or name it with --admin.")]
    NotRunning(String),
    #[error("Tenon on {0} did not answer in time. `tenon plugin journal` shows whether it was done.")]
    TooSlow(String),
    #[error("What answers on {address} is not a Tenon of this version ({detail}). Name another with --admin.")]
    Strange { address: String, detail: String },
    #[error(
        "There is no operators' token at {0}: no Tenon was started with this data folder. Start it with `make run` or `tenon serve`, or name the folder with --data-dir."
    )]
    NoToken(PathBuf),
    #[error("{path} cannot be read ({source}).", path = path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("{}", words(.0))]
    Refused(Problem),
    #[error("{address} is taken by another program. Stop that, or choose another address with {flag} or {variable}.")]
    PortTaken { address: std::net::SocketAddr, flag: &'static str, variable: &'static str },
    #[error("{address} cannot be listened on ({source}). Choose another address with {flag} or {variable}.")]
    Listen { address: std::net::SocketAddr, flag: &'static str, variable: &'static str, source: std::io::Error },
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("{0}")]
    Failed(String),
}

fn words(problem: &Problem) -> String {
    let mut text = problem.message.clone();
    for reason in &problem.reasons {
        text.push_str("\n  - ");
        text.push_str(reason);
    }
    if !problem.hint.is_empty() {
        text.push('\n');
        text.push_str(&problem.hint);
    }
    super::show::printable_lines(&text)
}
