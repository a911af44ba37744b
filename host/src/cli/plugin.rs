//! `tenon plugin …`: what runs, swaps, and profiles.

mod check;
mod compile;
mod deploy;
mod journal;
mod profile;
pub(super) mod words;

use clap::{Args, Subcommand};

use super::{
    CliError, Outcome,
    client::{Access, segment},
    show,
};
use crate::admin::wire::{PluginStatus, SwapReport};

/// Plugins: what runs, check, compile, deploy, roll back, journal, profile
#[derive(Args)]
#[command(
    after_help = "Example:\n  tenon plugin list\n  tenon plugin deploy notes.wasm --plugin notes\n  tenon plugin rollback notes"
)]
pub struct Plugin {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show each plugin and the generation that serves
    #[command(after_help = "Example:\n  tenon plugin list --json")]
    List {
        #[command(flatten)]
        access: Access,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check whether a component would be published, here or by a running host (exit code 1 if not)
    #[command(
        after_help = "Example:\n  tenon plugin check target-plugins/wasm32-wasip2/plugin/notes.wasm --plugin notes\n  \
                      tenon plugin check notes.wasm --against notes --admin 127.0.0.1:9090"
    )]
    Check(check::Check),
    /// Compile every component of plugins.toml into the data folder, so that the next start need not
    #[command(after_help = "Example:\n  tenon plugin compile --config plugins.toml --data-dir data")]
    Compile(compile::Compile),
    /// Publish a component: the next request is served by it
    #[command(after_help = "Example:\n  tenon plugin deploy notes.wasm --plugin notes")]
    Deploy(deploy::Deploy),
    /// Publish the generation that served before
    #[command(after_help = "Example:\n  tenon plugin rollback notes")]
    Rollback {
        /// Its name in plugins.toml
        plugin: String,
        #[command(flatten)]
        access: Access,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show who swapped what, when, and why not, newest first
    #[command(after_help = "Example:\n  tenon plugin journal --plugin notes --limit 10")]
    Journal(journal::Journal),
    /// Sample the calls of a serving plugin, and write a file for the Firefox profiler
    #[command(after_help = "Example:\n  tenon plugin profile notes\n  \
                      tenon plugin profile notes --seconds 30 --output before.json\n\n\
                      Send requests to the plugin meanwhile. Then open https://profiler.firefox.com and load the file.")]
    Profile(profile::Profile),
}

impl Plugin {
    pub async fn run(self) -> Result<Outcome, CliError> {
        match self.action {
            Action::List { access, json } => {
                let plugins: Vec<PluginStatus> = access.get("/v1/plugins").await?;
                if json { show::json(&plugins) } else { Ok(Outcome::good(words::status_table(&plugins))) }
            }
            Action::Check(check) => check.run().await,
            Action::Compile(compile) => compile.run().await,
            Action::Deploy(deploy) => deploy.run().await,
            Action::Rollback { plugin, access, json } => {
                let report = access.post(&format!("/v1/plugins/{}/rollback", segment(&plugin))).await?;
                swapped(&report, json)
            }
            Action::Journal(journal) => journal.run().await,
            Action::Profile(profile) => profile.run().await,
        }
    }
}

fn swapped(report: &SwapReport, json: bool) -> Result<Outcome, CliError> {
    if json { show::json(report) } else { Ok(Outcome::good(words::swapped(report))) }
}
