//! `tenon config …`: plugins.toml without a server.

use clap::{Args, Subcommand};
use serde_json::json;

use super::{CliError, Outcome, show};
use crate::{
    boot,
    budget::machine,
    config::{self, ConfigError, Environment, Flags, Mistake, Severity, Variables, memory_plan::Plan, reference},
};

/// The configuration: check it, show every key
#[derive(Args)]
#[command(after_help = "Example:\n  tenon config check --config plugins.toml")]
pub struct Config {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Read everything and report all errors and warnings at once (exit code 1 if there is an error)
    #[command(
        after_help = "Example:\n  tenon config check --config /etc/tenon/plugins.toml --data-dir /var/lib/tenon\n\n\
        The flags of `tenon serve` are checked with the file. What production needs has to be there: TENON_MASTER_KEY, and the \
        variables and files of secrets."
    )]
    Check(Check),
    /// Print every key with its default, bounds and meaning
    #[command(after_help = "Example:\n  tenon config reference | less")]
    Reference,
}

#[derive(Args)]
struct Check {
    #[command(flatten)]
    flags: Flags,
    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Config {
    pub async fn run(self) -> Result<Outcome, CliError> {
        match self.action {
            Action::Reference => Ok(Outcome::good(reference::render())),
            Action::Check(check) => check.run().await,
        }
    }
}

impl Check {
    async fn run(self) -> Result<Outcome, CliError> {
        let checked = match config::check(&self.flags, &Variables::of_process()) {
            Ok(config) => check_plugins(config).await?,
            Err(error) => Err(error),
        };
        let (file, found) = match &checked {
            Ok(config) => (&config.file, &config.warnings),
            Err(error) => (&error.file, &error.mistakes),
        };
        let good = checked.is_ok() && (found.is_empty() || !self.strict);
        if self.json {
            let rows = |severity: Severity| {
                let chosen = found.iter().filter(|one| one.severity == severity);
                chosen.map(|one| json!({"line": one.line, "text": one.text})).collect::<Vec<_>>()
            };
            let (errors, warnings) = (rows(Severity::Error), rows(Severity::Warning));
            let report = show::json(&json!({"file": file, "passed": good, "mistakes": errors, "warnings": warnings}))?;
            return Ok(Outcome { good, ..report });
        }
        let config = checked?;
        let warnings: String = config.warnings.iter().map(|one| format!("warning: {one}\n")).collect();
        Ok(Outcome { text: format!("{warnings}{}", words(&config)), good })
    }
}

/// Checks each plugin with its component, and the sum of the limits against the memory of the machine.
async fn check_plugins(mut config: config::Config) -> Result<Result<config::Config, ConfigError>, CliError> {
    let found = boot::check_plugins(&config).await.map_err(|error| CliError::failed(error.as_ref()))?;
    if found.is_empty() {
        let about_memory = Plan::of(&config, machine::memory_bytes()).warnings(&config).into_iter();
        let about_memory =
            about_memory.map(|text| Mistake { severity: Severity::Warning, line: None, text: format!("{text}.") });
        config.warnings.extend(about_memory);
        return Ok(Ok(config));
    }
    let mistakes = config.warnings.into_iter().chain(found.into_iter().map(Mistake::elsewhere)).collect();
    Ok(Err(ConfigError { file: config.file, mistakes }))
}

fn words(config: &config::Config) -> String {
    let environment = match config.environment {
        Environment::Development => "development",
        Environment::Production => "production",
    };
    let mut text = format!(
        "{} has no errors ({environment}).\n  interfaces  {} over {}\n  operators   {}\n  data        {}\n  database    {}\n",
        config.file.display(),
        config.listen,
        if config.http.tls.is_some() { "TLS" } else { "plain HTTP" },
        config.admin_listen,
        config.data_dir.display(),
        config.database_url,
    );
    for (name, plugin) in &config.plugins {
        text.push_str(&format!("  plugin      {name} at {}: {}\n", plugin.mount, plugin.component.display()));
    }
    text.push_str(&Plan::of(config, machine::memory_bytes()).render());
    text
}
