//! `tenon config …`: checks plugins.toml or prints its reference, without a host.

use clap::{Args, Subcommand};
use serde_json::json;

use super::{CliError, Outcome, output};
use crate::{
    boot,
    budget::machine,
    config::{self, ConfigError, Environment, Flags, Mistake, Severity, Variables, memory_plan::Plan, reference},
};

/// Check the configuration, or print its reference
#[derive(Args)]
#[command(after_help = "Example:\n  tenon config check --config plugins.toml")]
pub struct Config {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Check the whole configuration and report all errors and warnings (exit code 1 if there is an error)
    #[command(
        after_help = "Example:\n  tenon config check --config /etc/tenon/plugins.toml --data-dir /var/lib/tenon\n\n\
        The flags of `tenon serve` are checked together with the file. In production, TENON_MASTER_KEY and the variables and \
        files of secrets must be present."
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
            Action::Reference => Ok(Outcome::success(reference::render())),
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
        let success = checked.is_ok() && (found.is_empty() || !self.strict);
        if self.json {
            let rows = |severity: Severity| {
                let selected = found.iter().filter(|mistake| mistake.severity == severity);
                selected.map(|mistake| json!({"line": mistake.line, "text": mistake.text})).collect::<Vec<_>>()
            };
            let (errors, warnings) = (rows(Severity::Error), rows(Severity::Warning));
            let report =
                output::json(&json!({"file": file, "passed": success, "mistakes": errors, "warnings": warnings}))?;
            return Ok(Outcome { success, ..report });
        }
        let config = checked?;
        let warnings: String = config.warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
        Ok(Outcome { text: format!("{warnings}{}", render(&config)), success })
    }
}

/// Checks each plugin with its component, and the sum of the limits against the memory of the machine.
async fn check_plugins(mut config: config::Config) -> Result<Result<config::Config, ConfigError>, CliError> {
    let found = boot::check_plugins(&config).await.map_err(|error| CliError::failed(error.as_ref()))?;
    if found.is_empty() {
        let memory_warnings = Plan::of(&config, machine::memory_bytes()).warnings(&config).into_iter();
        let memory_warnings =
            memory_warnings.map(|text| Mistake { severity: Severity::Warning, line: None, text: format!("{text}.") });
        config.warnings.extend(memory_warnings);
        return Ok(Ok(config));
    }
    let mistakes = config.warnings.into_iter().chain(found.into_iter().map(Mistake::unlocated)).collect();
    Ok(Err(ConfigError { file: config.file, mistakes }))
}

fn render(config: &config::Config) -> String {
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
