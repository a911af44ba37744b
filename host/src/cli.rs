//! The command line of Tenon.
//!
//! Most commands send requests to the operators' listener of a running host. `serve`, `listen`, `config`, `plugin
//! check` without `--against`, `plugin compile`, `restore`, `db`, `secrets new-key`, `completions` and `man` run in
//! this process. `backup` and `audit` do so if no host runs. Exit codes: 0 success; 1 failure; 2 invalid command line.
//!
//! - Each group of sub-commands has its own file. `render` modules produce the text output.
//! - `client`: HTTP client of the operators' listener. `oauth_client`: commands for OAuth clients.
//! - `table`, `output`: text output. `time_argument`: times in arguments. `input`: files that arguments name.
//! - `banner`: text that `serve` prints when it is ready. `error`: errors of commands. `ownership`: advice for root.

mod audit;
mod backup;
pub mod banner;
mod chain;
mod client;
mod config;
mod db;
#[cfg(test)]
mod docs;
mod error;
mod input;
mod journal;
mod key;
mod ledger;
mod listen;
mod manual;
mod oauth;
mod oauth_client;
mod outbox;
mod output;
mod ownership;
mod plugin;
mod restore;
mod secrets;
mod seed;
mod serve;
mod table;
mod task;
mod time_argument;
mod webhook;

use std::{io::Write, process::ExitCode};

use crate::plugin::{compile, native::Natives};
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use futures_util::FutureExt;

pub use error::CliError;

#[derive(Parser)]
#[command(
    name = "tenon",
    version,
    about = "A host for WebAssembly plugins that implement HTTP APIs",
    after_help = "Example:\n  tenon serve --config plugins.toml\n  tenon key create --plugin notes --tenant acme --environment test\n\nThe help of every command has examples: tenon help key create"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(serve::Serve),
    Key(key::Key),
    Client(oauth_client::Client),
    Oauth(oauth::Oauth),
    Plugin(plugin::Plugin),
    Webhook(webhook::Webhook),
    Task(task::Task),
    Effect(task::Effect),
    Outbox(outbox::Outbox),
    Journal(journal::Journal),
    Audit(audit::Audit),
    Ledger(ledger::Ledger),
    Listen(listen::Listen),
    Chain(chain::Chain),
    Secrets(secrets::Secrets),
    Seed(seed::Seed),
    Backup(backup::Backup),
    Restore(restore::Restore),
    Db(db::Db),
    Config(config::Config),
    Completions(manual::Completions),
    Man(manual::Man),
    /// Compile one component (internal: only the host starts it)
    #[command(name = compile::child::COMMAND, hide = true, after_help = "Example:\n  tenon serve starts it")]
    CompileComponent,
}

/// Result of a command.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    /// Text for standard output.
    text: String,
    /// Exit code 0 if true, otherwise 1.
    success: bool,
}

impl Outcome {
    fn success(text: String) -> Outcome {
        Outcome { text, success: true }
    }
}

/// Runs the command line, prints its output and returns the exit code.
pub fn run() -> ExitCode {
    run_with(Natives::new())
}

/// Runs the command line of a program with compiled-in plugins.
pub fn run_with(natives: Natives) -> ExitCode {
    let matches = Cli::command().get_matches();
    let outcome = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli.command.run(natives),
        Err(error) => error.exit(),
    };
    match outcome {
        Ok(outcome) => {
            // A closed pipe (`| head`) is not a failure.
            let _ = std::io::stdout().write_all(outcome.text.as_bytes());
            if outcome.success { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            let text = match is_json_requested(&matches) {
                true => error.to_json(),
                false => format!("tenon: {}", output::printable_lines(&error.to_string())),
            };
            let _ = writeln!(std::io::stderr(), "{text}");
            ExitCode::FAILURE
        }
    }
}

/// Returns true if the command or a sub-command has the flag `--json` set.
fn is_json_requested(matches: &ArgMatches) -> bool {
    let flag = matches.try_get_one::<bool>("json").ok().flatten();
    flag == Some(&true) || matches.subcommand().is_some_and(|(_, inner)| is_json_requested(inner))
}

impl Command {
    fn run(self, natives: Natives) -> Result<Outcome, CliError> {
        match self {
            Command::Serve(serve) => serve.run(natives),
            Command::Config(config) => wait(config.run()),
            Command::Completions(completions) => completions.run(),
            Command::Man(man) => man.run(),
            Command::CompileComponent => compile::child::run().map(Outcome::success).map_err(CliError::Failed),
            Command::Key(key) => wait(key.run()),
            Command::Client(client) => wait(client.run()),
            Command::Oauth(oauth) => wait(oauth.run()),
            Command::Plugin(plugin) => wait(plugin.run()),
            Command::Webhook(webhook) => wait(webhook.run()),
            Command::Task(task) => wait(task.run()),
            Command::Effect(effect) => wait(effect.run()),
            Command::Outbox(outbox) => wait(outbox.run()),
            Command::Journal(journal) => wait(journal.run()),
            Command::Audit(audit) => wait(audit.run()),
            Command::Ledger(ledger) => wait(ledger.run()),
            Command::Listen(listen) => wait(listen.run()),
            Command::Chain(chain) => wait(chain.run()),
            Command::Secrets(secrets) => wait(secrets.run()),
            Command::Seed(seed) => wait(seed.run()),
            Command::Backup(backup) => wait(backup.run()),
            Command::Restore(restore) => wait(restore.run()),
            Command::Db(db) => wait(db.run()),
        }
    }
}

/// Runs an asynchronous command on the current thread. Most commands send one request and need no worker threads.
fn wait(command: impl Future<Output = Result<Outcome, CliError>>) -> Result<Outcome, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CliError::Failed(format!("failed to start the async runtime: {error}")))?;
    // Boxed: otherwise the whole command is compiled into each loop of the runtime.
    runtime.block_on(command.boxed_local())
}

#[cfg(test)]
mod tests;
