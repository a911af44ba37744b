//! `tenon plugin compile`: fills the cache of compiled code before a start.

use std::path::PathBuf;

use clap::Args;

use super::render;
use crate::{
    admin::wire::CompileOutcome,
    boot,
    cli::{CliError, Outcome, output, ownership::print_advice},
    config::{self, Flags, Variables},
};

#[derive(Args)]
pub struct Compile {
    /// Configuration file [default: TENON_CONFIG, otherwise plugins.toml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Data folder, which contains the cache of compiled code
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Compile {
    pub async fn run(self) -> Result<Outcome, CliError> {
        let flags = Flags { config: self.config, data_dir: self.data_dir, ..Flags::default() };
        let config = config::inspect(&flags, &Variables::of_process())?;
        let reports = boot::compile_components(&config).await;
        let reports = reports.map_err(|error| CliError::failed(error.as_ref()))?;
        print_advice(&config.data_dir);
        let success = reports.iter().all(|report| report.outcome != CompileOutcome::Refused);
        let text = if self.json { output::json(&reports)?.text } else { render::compile_reports(&reports) };
        Ok(Outcome { text, success })
    }
}
