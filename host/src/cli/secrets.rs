//! `tenon secrets …`: the master key.

use clap::{Args, Subcommand};

use super::{CliError, Outcome, client::Access, output};
use crate::{admin::wire::RotationReport, secrets::new_key_text};

/// Manage the master key, which encrypts stored secrets
#[derive(Args)]
#[command(after_help = "Example, replacing the master key:\n  tenon secrets new-key\n  \
    # put it in front of the old one: TENON_MASTER_KEY=NEW,OLD\n  \
    # or NEW as the first line of master.key; restart Tenon\n  \
    tenon secrets rotate\n  # then remove the old one")]
pub struct Secrets {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Print a new random master key; changes nothing
    #[command(after_help = "Example:\n  tenon secrets new-key")]
    NewKey,
    /// Re-encrypt all secrets with the current master key (exit code 1 if a secret cannot be decrypted)
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
            Action::NewKey => Ok(Outcome::success(format!("{}\n", new_key_text()?.as_str()))),
            Action::Rotate { access, json } => {
                let report: RotationReport = access.post("/v1/secrets/rotate").await?;
                let text = if json { output::json(&report)?.text } else { render(&report) };
                Ok(Outcome { text, success: report.left.is_empty() })
            }
        }
    }
}

fn render(report: &RotationReport) -> String {
    let RotationReport { key, sealed_again, current, left } = report;
    let key = output::printable(key);
    let mut text = format!("{sealed_again} secrets re-encrypted with master key {key}; {current} already used it.\n");
    if left.is_empty() {
        text.push_str(
            "Older master keys are needed only for older backups: keep them as long as you keep those backups.\n",
        );
    } else {
        text.push_str("These secrets could not be decrypted; restore the master key that encrypted them:\n");
        left.iter().for_each(|name| text.push_str(&format!("  {}\n", output::printable(name))));
    }
    text
}
