//! `tenon plugin check`: everything up to *publish*, in this process, against the plugin's section in plugins.toml.

use std::path::{Path, PathBuf};

use clap::Args;

use super::words;
use crate::{
    boot,
    cli::{CliError, Outcome, show},
    config::{self, Flags, Variables, mistakes},
};

#[derive(Args)]
pub struct Check {
    /// The component
    file: PathBuf,
    /// Its name in plugins.toml
    #[arg(long)]
    plugin: String,
    /// The configuration; default: TENON_CONFIG, else plugins.toml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Data folder: what was published there is what it is compared with
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Check {
    pub async fn run(self) -> Result<Outcome, CliError> {
        let flags = Flags { config: self.config, data_dir: self.data_dir, ..Flags::default() };
        let config = config::inspect(&flags, &Variables::of_process())?;
        if !config.plugins.contains_key(self.plugin.as_str()) {
            let names: Vec<&str> = config.plugins.keys().map(|name| &**name).collect();
            let hint = mistakes::suggest(&self.plugin, &names);
            return Err(CliError::Failed(format!("{} has no [plugins.{}].{hint}", config.file.display(), self.plugin)));
        }
        let component = read(&self.file)?;
        let report = boot::check_component(&config, &self.plugin, component).await;
        let report = report.map_err(|error| CliError::failed(error.as_ref()))?;
        let text = if self.json { show::json(&report)?.text } else { words::checked(&report) };
        Ok(Outcome { text, good: report.passed })
    }
}

pub fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    std::fs::read(path).map_err(|source| CliError::File { path: path.to_owned(), source })
}
