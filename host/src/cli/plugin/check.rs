//! `tenon plugin check`: everything up to *publish*. In this process against the plugin's section in plugins.toml, or in a
//! running host against what it serves.

use std::path::{Path, PathBuf};

use clap::Args;

use super::words;
use crate::{
    admin::wire::CheckReport,
    boot,
    cli::{
        CliError, Outcome,
        client::{Access, segment},
        input, show,
    },
    config::{self, Flags, Variables, mistakes},
    limits::ADMIN_COMPONENT_BYTES_MAX,
};

#[derive(Args)]
pub struct Check {
    /// The component
    file: PathBuf,
    /// Its name in plugins.toml
    #[arg(long, required_unless_present = "against", conflicts_with = "against")]
    plugin: Option<String>,
    /// Name of a plugin that a running host serves: the host checks the component and publishes nothing
    #[arg(long, value_name = "NAME", conflicts_with = "config")]
    against: Option<String>,
    /// With --against: address of the operators' listener [default: TENON_ADMIN, else 127.0.0.1:9090]
    #[arg(long, value_name = "ADDRESS", requires = "against", conflicts_with = "plugin")]
    admin: Option<String>,
    /// The configuration; default: TENON_CONFIG, else plugins.toml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Data folder: what was published there is what it is compared with; with --against the operators' token lies there
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Check {
    pub async fn run(self) -> Result<Outcome, CliError> {
        let json = self.json;
        let report = match &self.against {
            Some(plugin) => {
                let access = Access::new(self.admin, self.data_dir, &Variables::of_process());
                let path = format!("/v1/plugins/{}/check", segment(plugin));
                access.post_bytes(&path, read(&self.file)?).await?
            }
            None => self.check_here().await?,
        };
        let text = if json { show::json(&report)?.text } else { words::checked(&report) };
        Ok(Outcome { text, good: report.passed })
    }

    async fn check_here(self) -> Result<CheckReport, CliError> {
        let plugin = self.plugin.unwrap_or_default();
        let flags = Flags { config: self.config, data_dir: self.data_dir, ..Flags::default() };
        let config = config::inspect(&flags, &Variables::of_process())?;
        if !config.plugins.contains_key(plugin.as_str()) {
            let names: Vec<&str> = config.plugins.keys().map(|name| &**name).collect();
            let hint = mistakes::suggest(&plugin, &names);
            return Err(CliError::Failed(format!("{} has no [plugins.{plugin}].{hint}", config.file.display())));
        }
        let component = read(&self.file)?;
        let report = boot::check_component(&config, &plugin, component).await;
        report.map_err(|error| CliError::failed(error.as_ref()))
    }
}

pub fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    input::read(path, ADMIN_COMPONENT_BYTES_MAX)
}
