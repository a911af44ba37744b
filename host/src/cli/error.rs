//! What went wrong, said so that the reader knows what to do next.

use std::path::PathBuf;

use serde_json::json;

use super::show::printable;
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

impl CliError {
    /// With its causes, each said once: many an error names its cause itself.
    pub fn failed(error: &(dyn std::error::Error + 'static)) -> CliError {
        let mut text = error.to_string();
        let causes = std::iter::successors(error.source(), |cause| cause.source());
        for cause in causes.map(ToString::to_string) {
            if !text.contains(&cause) {
                text.push_str(": ");
                text.push_str(&cause);
            }
        }
        CliError::Failed(text)
    }

    /// Stable, for programs; the operators' listener gives its own.
    fn code(&self) -> &str {
        match self {
            CliError::NotRunning(_) => "not-running",
            CliError::TooSlow(_) => "too-slow",
            CliError::Strange { .. } => "strange",
            CliError::NoToken(_) => "no-token",
            CliError::File { .. } => "unreadable-file",
            CliError::Refused(problem) => &problem.error,
            CliError::PortTaken { .. } => "port-taken",
            CliError::Listen { .. } => "cannot-listen",
            CliError::Config(_) => "configuration",
            CliError::Secret(_) => "secret",
            CliError::Failed(_) => "failed",
        }
    }

    /// One line of JSON, where `--json` asked for it.
    pub fn json(&self) -> String {
        let (message, hint, reasons) = match self {
            CliError::Refused(problem) => (problem.message.clone(), problem.hint.as_str(), problem.reasons.as_slice()),
            other => (other.to_string(), "", [].as_slice()),
        };
        json!({"code": self.code(), "message": message, "hint": hint, "reasons": reasons}).to_string()
    }
}

fn words(problem: &Problem) -> String {
    let mut text = printable(&problem.message);
    for reason in &problem.reasons {
        text.push_str("\n  - ");
        text.push_str(&printable(reason));
    }
    if !problem.hint.is_empty() {
        text.push('\n');
        text.push_str(&printable(&problem.hint));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("data: {source}")]
    struct Named {
        source: std::io::Error,
    }

    #[test]
    fn a_cause_that_was_named_is_not_said_again() {
        let named = Named { source: std::io::Error::other("not a folder") };
        assert_eq!(CliError::failed(&named).to_string(), "data: not a folder");
    }
}
