//! `tenon plugin …`: the plugins of a host and their versions.

mod check;
mod compile;
mod deploy;
mod journal;
mod profile;
pub(super) mod render;
mod routes;
mod versions;

use clap::{Args, Subcommand};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    CliError, Outcome,
    client::{Access, segment},
    output,
};
use crate::admin::wire::{PluginStatus, SwapReport};

/// Manage plugins and their versions
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
    /// List all plugins with their serving generations
    #[command(after_help = "Example:\n  tenon plugin list --json")]
    List {
        #[command(flatten)]
        access: Access,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the routes of a serving plugin: path, key, scopes, deadline
    #[command(after_help = "Example:\n  tenon plugin routes notes")]
    Routes(Named),
    /// Check whether a component would be published, in this process or by a running host (exit code 1 if not)
    #[command(
        after_help = "Example:\n  tenon plugin check target-plugins/wasm32-wasip2/plugin/notes.wasm --plugin notes\n  \
                      tenon plugin check notes.wasm --against notes --admin 127.0.0.1:9090"
    )]
    Check(check::Check),
    /// Compile all components of plugins.toml into the data folder, so that the next start is fast
    #[command(after_help = "Example:\n  tenon plugin compile --config plugins.toml --data-dir data")]
    Compile(compile::Compile),
    /// Publish a component; it serves from the next request on
    #[command(after_help = "Example:\n  tenon plugin deploy notes.wasm --plugin notes")]
    Deploy(deploy::Deploy),
    /// List the stored components of a plugin, which a rollback can publish, newest first
    #[command(after_help = "Example:\n  tenon plugin versions notes")]
    Versions(Named),
    /// Publish the previous version, or another stored one
    #[command(
        after_help = "Example:\n  tenon plugin rollback notes\n  tenon plugin rollback notes --to 0123456789ab\n\n\
                      `tenon plugin versions` lists the hashes. Without --to, a second rollback undoes the first."
    )]
    Rollback {
        /// Plugin name in plugins.toml
        plugin: String,
        /// Hash of a stored component, or at least its first 4 characters
        #[arg(long, value_name = "HASH")]
        to: Option<String>,
        #[command(flatten)]
        access: Access,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List operator actions on plugins, newest first
    #[command(after_help = "Example:\n  tenon plugin journal --plugin notes --limit 10")]
    Journal(journal::Journal),
    /// Sample the calls of a serving plugin and write a file for the Firefox profiler
    #[command(after_help = "Example:\n  tenon plugin profile notes\n  \
                      tenon plugin profile notes --seconds 30 --output before.json\n\n\
                      Send requests to the plugin during the profile. Then open https://profiler.firefox.com and load the file.")]
    Profile(profile::Profile),
}

/// A command that lists something about one plugin.
#[derive(Args)]
struct Named {
    /// Plugin name in plugins.toml
    plugin: String,
    #[command(flatten)]
    access: Access,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Named {
    /// Prints the list at `/v1/plugins/{plugin}/{list}`.
    async fn list<T: Serialize + DeserializeOwned>(
        self,
        list: &str,
        render: impl Fn(&[T]) -> String,
    ) -> Result<Outcome, CliError> {
        let entries: Vec<T> = self.access.get(&format!("/v1/plugins/{}/{list}", segment(&self.plugin))).await?;
        if self.json { output::json(&entries) } else { Ok(Outcome::success(render(&entries))) }
    }
}

impl Plugin {
    pub async fn run(self) -> Result<Outcome, CliError> {
        match self.action {
            Action::List { access, json } => {
                let plugins: Vec<PluginStatus> = access.get("/v1/plugins").await?;
                if json { output::json(&plugins) } else { Ok(Outcome::success(render::status_table(&plugins))) }
            }
            Action::Routes(named) => named.list("routes", routes::render).await,
            Action::Check(check) => check.run().await,
            Action::Compile(compile) => compile.run().await,
            Action::Deploy(deploy) => deploy.run().await,
            Action::Versions(named) => named.list("versions", versions::render).await,
            Action::Rollback { plugin, to, access, json } => {
                let to = to.map(|to| format!("?to={}", segment(&to))).unwrap_or_default();
                let report = access.post(&format!("/v1/plugins/{}/rollback{to}", segment(&plugin))).await?;
                swap_report(&report, json)
            }
            Action::Journal(journal) => journal.run().await,
            Action::Profile(profile) => profile.run().await,
        }
    }
}

fn swap_report(report: &SwapReport, json: bool) -> Result<Outcome, CliError> {
    if json { output::json(report) } else { Ok(Outcome::success(render::swap_report(report))) }
}
