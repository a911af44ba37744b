//! `tenon oauth …`: the keys that sign access tokens.

use clap::{Args, Subcommand};

use super::{CliError, Outcome, client::Access, output};
use crate::admin::wire::TokenKeysReport;

/// Manage the keys that sign access tokens
#[derive(Args)]
#[command(after_help = "Example:\n  tenon oauth rotate-keys")]
pub struct Oauth {
    #[command(flatten)]
    access: Access,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Create a new signing key; the previous key verifies until its last token expires
    #[command(after_help = "Example:\n  tenon oauth rotate-keys --json")]
    RotateKeys {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl Oauth {
    pub async fn run(self) -> Result<Outcome, CliError> {
        let Action::RotateKeys { json } = self.action;
        let report: TokenKeysReport = self.access.post("/v1/oauth/rotate-keys").await?;
        if json { output::json(&report) } else { Ok(Outcome::success(render(&report))) }
    }
}

fn render(report: &TokenKeysReport) -> String {
    let TokenKeysReport { key, algorithm, previous } = report;
    let (key, algorithm) = (output::printable(key), output::printable(algorithm));
    let mut text = format!("{key} ({algorithm}) is the signing key.\n");
    for key in previous {
        text.push_str(&format!("{} verifies until its last token expires.\n", output::printable(key)));
    }
    text
}
