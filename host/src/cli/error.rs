//! Errors of commands. Each message states what happened and, if possible, what to do next.

use std::path::PathBuf;

use serde_json::json;

use super::output::printable;
use crate::{admin::wire::ErrorBody, config::ConfigError, secrets::SecretError};

#[derive(Debug, thiserror::Error)]
pub enum CliError {
    #[error("No Tenon answers on {0}. Start it with `make run` or `tenon serve`, or set its address with --admin.")]
    NotRunning(String),
    #[error("Tenon on {0} did not answer in time. `tenon journal` shows whether the action was done.")]
    Timeout(String),
    #[error("The server on {address} is not a Tenon of this version ({detail}). Set another address with --admin.")]
    VersionMismatch { address: String, detail: String },
    #[error(
        "There is no operators' token at {0}: no Tenon was started with this data folder. Start it with `make run` or `tenon serve`, or set the folder with --data-dir."
    )]
    NoToken(PathBuf),
    #[error("{path} cannot be read ({source}).", path = path.display())]
    File { path: PathBuf, source: std::io::Error },
    /// The operators' listener responded with an error.
    #[error("{}", render(.0))]
    Response(ErrorBody),
    #[error("{address} is used by another program. Stop it, or choose another address with {flag} or {variable}.")]
    PortTaken { address: std::net::SocketAddr, flag: &'static str, variable: &'static str },
    #[error("Failed to listen on {address} ({source}). Choose another address with {flag} or {variable}.")]
    Listen { address: std::net::SocketAddr, flag: &'static str, variable: &'static str, source: std::io::Error },
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("{0}")]
    Failed(String),
}

impl CliError {
    /// Renders an error and its causes. A cause that the text already contains is not repeated.
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

    /// Returns the stable code for programs. Error responses of the operators' listener contain their own codes.
    fn code(&self) -> &str {
        match self {
            CliError::NotRunning(_) => "not-running",
            CliError::Timeout(_) => "too-slow",
            CliError::VersionMismatch { .. } => "version-mismatch",
            CliError::NoToken(_) => "no-token",
            CliError::File { .. } => "unreadable-file",
            CliError::Response(body) => &body.error,
            CliError::PortTaken { .. } => "port-taken",
            CliError::Listen { .. } => "cannot-listen",
            CliError::Config(_) => "configuration",
            CliError::Secret(_) => "secret",
            CliError::Failed(_) => "failed",
        }
    }

    /// Renders the error as one line of JSON, for commands with `--json`.
    pub fn to_json(&self) -> String {
        let (message, hint, reasons) = match self {
            CliError::Response(body) => (body.message.clone(), body.hint.as_str(), body.reasons.as_slice()),
            other => (other.to_string(), "", [].as_slice()),
        };
        json!({"code": self.code(), "message": message, "hint": hint, "reasons": reasons}).to_string()
    }
}

fn render(body: &ErrorBody) -> String {
    let mut text = printable(&body.message);
    for reason in &body.reasons {
        text.push_str("\n  - ");
        text.push_str(&printable(reason));
    }
    if !body.hint.is_empty() {
        text.push('\n');
        text.push_str(&printable(&body.hint));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("data: {source}")]
    struct ErrorWithCause {
        source: std::io::Error,
    }

    #[test]
    fn cause_that_the_message_contains_is_not_repeated() {
        let error = ErrorWithCause { source: std::io::Error::other("not a folder") };
        assert_eq!(CliError::failed(&error).to_string(), "data: not a folder");
    }
}
