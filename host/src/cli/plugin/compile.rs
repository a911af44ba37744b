//! `tenon plugin compile`: fills the cache of compiled code ahead of a start.

use std::path::PathBuf;

use clap::Args;

use super::words;
use crate::{
    admin::wire::CompileOutcome,
    boot,
    cli::{CliError, Outcome, ownership::print_advice, show},
    config::{self, Flags, Variables},
};

#[derive(Args)]
pub struct Compile {
    /// The configuration; default: TENON_CONFIG, else plugins.toml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Data folder, where compiled code is kept
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
        let good = reports.iter().all(|report| report.outcome != CompileOutcome::Refused);
        let text = if self.json { show::json(&reports)?.text } else { words::compiled(&reports) };
        Ok(Outcome { text, good })
    }
}
