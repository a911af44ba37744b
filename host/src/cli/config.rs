//! `tenon config …`: plugins.toml without a server.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::{CliError, Outcome, show};
use crate::{
    boot,
    config::{self, ConfigError, Environment, Flags, Mistake, Variables, reference},
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
    /// Read everything and report all mistakes at once (exit code 1 if there is one)
    #[command(after_help = "Example:\n  tenon config check --config /etc/tenon/plugins.toml")]
    Check {
        /// The file; default: TENON_CONFIG, else plugins.toml
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print every key with its default, bounds and meaning
    #[command(after_help = "Example:\n  tenon config reference | less")]
    Reference,
}

impl Config {
    pub async fn run(self) -> Result<Outcome, CliError> {
        match self.action {
            Action::Reference => Ok(Outcome::good(reference::render())),
            Action::Check { config, json } => check(Flags { config, ..Flags::default() }, json).await,
        }
    }
}

async fn check(flags: Flags, json: bool) -> Result<Outcome, CliError> {
    let checked = match config::load(&flags, &Variables::of_process()) {
        Ok(config) => check_settings(config).await?,
        Err(error) => Err(error),
    };
    match (checked, json) {
        (Ok(config), false) => Ok(Outcome::good(words(&config))),
        (Err(error), false) => Err(error.into()),
        (Ok(config), true) => show::json(&json!({"file": config.file, "passed": true, "mistakes": []})),
        (Err(error), true) => {
            let mistakes: Vec<_> =
                error.mistakes.iter().map(|one| json!({"line": one.line, "text": one.text})).collect();
            let report = show::json(&json!({"file": error.file, "passed": false, "mistakes": mistakes}))?;
            Ok(Outcome { good: false, ..report })
        }
    }
}

/// The components say which settings they take.
async fn check_settings(config: config::Config) -> Result<Result<config::Config, ConfigError>, CliError> {
    let found = boot::check_settings(&config).await.map_err(|error| CliError::failed(error.as_ref()))?;
    if found.is_empty() {
        return Ok(Ok(config));
    }
    let mistakes = found.into_iter().map(|text| Mistake { line: None, text }).collect();
    Ok(Err(ConfigError { file: config.file, mistakes }))
}

fn words(config: &config::Config) -> String {
    let environment = match config.environment {
        Environment::Development => "development",
        Environment::Production => "production",
    };
    let mut text = format!(
        "{} is sound ({environment}).\n  interfaces  {} over {}\n  operators   {}\n  data        {}\n  database    {}\n",
        config.file.display(),
        config.listen,
        if config.http.tls.is_some() { "TLS" } else { "plain HTTP" },
        config.admin_listen,
        config.data_dir.display(),
        config.database_url,
    );
    for (name, plugin) in &config.plugins {
        let missing = if plugin.component.exists() { "" } else { "  (there is no such file yet)" };
        text.push_str(&format!("  plugin      {name} at {}: {}{missing}\n", plugin.mount, plugin.component.display()));
    }
    text
}
