//! `tenon plugin check`: runs the steps of a deploy up to *compare*.
//!
//! The check runs in this process with the plugin's section in plugins.toml, or in a running host against the serving
//! version.

use std::path::{Path, PathBuf};

use clap::Args;

use super::render;
use crate::{
    admin::wire::CheckReport,
    boot,
    cli::{
        CliError, Outcome,
        client::{Access, segment},
        input, output,
    },
    config::{self, Flags, Variables, mistakes},
    limits::ADMIN_COMPONENT_BYTES_MAX,
};

#[derive(Args)]
pub struct Check {
    /// Component file
    file: PathBuf,
    /// Plugin name in plugins.toml; the check runs in this process
    #[arg(long, required_unless_present = "against", conflicts_with = "against")]
    plugin: Option<String>,
    /// Name of a plugin of a running host; the host checks the component and publishes nothing
    #[arg(long, value_name = "NAME", conflicts_with = "config")]
    against: Option<String>,
    /// With --against: address of the operators' listener [default: TENON_ADMIN, otherwise 127.0.0.1:9090]
    #[arg(long, value_name = "ADDRESS", requires = "against", conflicts_with = "plugin")]
    admin: Option<String>,
    /// Configuration file [default: TENON_CONFIG, otherwise plugins.toml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Data folder with the published version to compare with; with --against, with the operators' token
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
        let text = if json { output::json(&report)?.text } else { render::check_report(&report) };
        Ok(Outcome { text, success: report.passed })
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
