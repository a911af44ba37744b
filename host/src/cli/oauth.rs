//! `tenon oauth …`: the keys that sign tokens.

use clap::{Args, Subcommand};

use super::{CliError, Outcome, client::Access, show};
use crate::admin::wire::TokenKeysReport;

/// The keys that sign access tokens
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
    /// Sign with a new key from now on; the one before verifies until its last token has ended
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
        if json { show::json(&report) } else { Ok(Outcome::good(words(&report))) }
    }
}

fn words(report: &TokenKeysReport) -> String {
    let TokenKeysReport { key, algorithm, previous } = report;
    let (key, algorithm) = (show::printable(key), show::printable(algorithm));
    let mut text = format!("{key} ({algorithm}) signs from now on.\n");
    for key in previous {
        text.push_str(&format!("{} verifies until its last token has ended.\n", show::printable(key)));
    }
    text
}
