//! `tenon secrets …`: the master key.

use clap::{Args, Subcommand};

use super::{CliError, Outcome, client::Access, show};
use crate::{admin::wire::RotationReport, secrets::new_key_text};

/// The master key, under which secrets are stored
#[derive(Args)]
#[command(after_help = "Example, a new master key without a gap:\n  tenon secrets new-key\n  \
    # put it in front of the old one: TENON_MASTER_KEY=NEW,OLD\n  \
    # or NEW as the first line of master.key; start Tenon again\n  \
    tenon secrets rotate\n  # then the old one may go")]
pub struct Secrets {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Print a new random master key; changes nothing
    #[command(after_help = "Example:\n  tenon secrets new-key")]
    NewKey,
    /// Seal again, under the current master key, what an older one sealed (exit code 1 if something could not be opened)
    #[command(after_help = "Example:\n  tenon secrets rotate --json")]
    Rotate {
        #[command(flatten)]
        access: Access,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl Secrets {
    pub async fn run(self) -> Result<Outcome, CliError> {
        match self.action {
            Action::NewKey => Ok(Outcome::good(format!("{}\n", new_key_text()?.as_str()))),
            Action::Rotate { access, json } => {
                let report: RotationReport = access.post("/v1/secrets/rotate").await?;
                let text = if json { show::json(&report)?.text } else { words(&report) };
                Ok(Outcome { text, good: report.left.is_empty() })
            }
        }
    }
}

fn words(report: &RotationReport) -> String {
    let RotationReport { key, sealed_again, current, left } = report;
    let key = show::printable(key);
    let mut text = format!("{sealed_again} secrets sealed again under master key {key}, {current} were already.\n");
    if left.is_empty() {
        text.push_str(
            "No older master key is needed any more, but by backups from before: keep it as long as you keep those.\n",
        );
    } else {
        text.push_str("These could not be opened; bring back the master key that sealed them:\n");
        left.iter().for_each(|name| text.push_str(&format!("  {}\n", show::printable(name))));
    }
    text
}
