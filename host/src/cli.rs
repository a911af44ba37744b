//! The command line: what people and scripts say to Tenon.
//!
//! Never does what it asks for, but `serve`, `listen`, `config`, `plugin check`, `plugin compile`, `restore`, `db`, `completions` and `man`, and `backup` and `audit` where no host runs:
//! everything else goes to the operators' listener. Exit code 0: done; 1: refused or failed; 2: the command line itself is wrong.
//!
//! - one file for each group of sub-commands. `client`: the operators' listener; `oauth_client`: clients of OAuth. `table`, `show`: output for people; `since`: times from them.
//! - `input`: files that arguments name.
//! - `banner`: what `serve` prints when it is ready. `error`: what went wrong, in words.

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
mod ownership;
mod plugin;
mod restore;
mod secrets;
mod seed;
mod serve;
mod show;
mod since;
mod table;
mod task;
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
    about = "A host for WebAssembly plugins that carry the rules of HTTP interfaces",
    after_help = "Example:\n  tenon serve --config plugins.toml\n  tenon key create --plugin notes --tenant acme --environment test\n\nEvery command has an example of its own: tenon help key create"
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
    /// Compile one component; started by the host alone
    #[command(name = compile::child::COMMAND, hide = true, after_help = "Example:\n  tenon serve starts it")]
    CompileComponent,
}

/// What a command leaves behind: text for standard output, and whether it found what it was asked to find.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    text: String,
    good: bool,
}

impl Outcome {
    fn good(text: String) -> Outcome {
        Outcome { text, good: true }
    }
}

/// Reads the command line, does it, prints, and says how it went.
pub fn run() -> ExitCode {
    run_with(Natives::new())
}

/// The same for a program that has plugins compiled in.
pub fn run_with(natives: Natives) -> ExitCode {
    let matches = Cli::command().get_matches();
    let outcome = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli.command.run(natives),
        Err(error) => error.exit(),
    };
    match outcome {
        Ok(outcome) => {
            // A reader that has seen enough (`| head`) is no failure of ours.
            let _ = std::io::stdout().write_all(outcome.text.as_bytes());
            if outcome.good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            let text = match wants_json(&matches) {
                true => error.json(),
                false => format!("tenon: {}", show::printable_lines(&error.to_string())),
            };
            let _ = writeln!(std::io::stderr(), "{text}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the command that was typed has a flag `--json`, and it was given.
fn wants_json(matches: &ArgMatches) -> bool {
    let given = matches.try_get_one::<bool>("json").ok().flatten();
    given == Some(&true) || matches.subcommand().is_some_and(|(_, inner)| wants_json(inner))
}

impl Command {
    fn run(self, natives: Natives) -> Result<Outcome, CliError> {
        match self {
            Command::Serve(serve) => serve.run(natives),
            Command::Config(config) => wait(config.run()),
            Command::Completions(completions) => completions.run(),
            Command::Man(man) => man.run(),
            Command::CompileComponent => compile::child::run().map(Outcome::good).map_err(CliError::Failed),
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

/// Runs a command that asks one question: a thread of its own would be wasted on it.
fn wait(command: impl Future<Output = Result<Outcome, CliError>>) -> Result<Outcome, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CliError::Failed(format!("the system gives no runtime: {error}")))?;
    // Boxed, because otherwise the whole command is compiled into each loop of the runtime.
    runtime.block_on(command.boxed_local())
}

#[cfg(test)]
mod tests;
