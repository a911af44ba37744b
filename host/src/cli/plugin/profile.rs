//! `tenon plugin profile`: requests a profile from the host and writes it to a file.

use std::{
    fs,
    io::{self, ErrorKind, IsTerminal, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use serde::Serialize;
use tokio::time::{Instant, sleep};

use super::render;
use crate::{
    admin::wire::{FunctionStatus, ProfileEnd, ProfileReport},
    cli::{
        CliError, Outcome,
        client::{Access, segment},
        output,
    },
    limits::{PROFILE_PROGRESS_MS, PROFILE_SECONDS_DEFAULT, PROFILE_SECONDS_MAX},
};

#[derive(Args)]
pub struct Profile {
    /// Plugin name in plugins.toml
    plugin: String,
    /// Duration of the sampling in seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = PROFILE_SECONDS_DEFAULT,
        value_parser = clap::value_parser!(u64).range(1..=PROFILE_SECONDS_MAX)
    )]
    seconds: u64,
    /// Output file [default: NAME-profile.json]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    access: Access,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Written<'a> {
    file: String,
    plugin: &'a str,
    version: &'a str,
    hash: &'a str,
    generation: u64,
    milliseconds: u64,
    samples: u64,
    ended: ProfileEnd,
    notes: &'a [String],
    functions: &'a [FunctionStatus],
}

impl Profile {
    pub async fn run(self) -> Result<Outcome, CliError> {
        let file = self.output.clone().unwrap_or_else(|| format!("{}-profile.json", self.plugin).into());
        // Checked before the profile, which takes long.
        if !self.force && file.exists() {
            return Err(file_exists(&file));
        }
        let path = format!("/v1/plugins/{}/profile?seconds={}", segment(&self.plugin), self.seconds);
        let report: ProfileReport = self.show_progress(self.access.post(&path)).await?;
        if report.samples == 0 {
            return Err(CliError::Failed(format!("No file was written. {}", report.notes.join(" "))));
        }
        write(&file, report.profile.get(), self.force)?;
        let file = file.display().to_string();
        if !self.json {
            return Ok(Outcome::success(render::profile(&report, &file)));
        }
        let ProfileReport { plugin, version, hash, notes, functions, .. } = &report;
        let ProfileReport { generation, milliseconds, samples, ended, .. } = report;
        output::json(&Written {
            file,
            plugin,
            version,
            hash,
            generation,
            milliseconds,
            samples,
            ended,
            notes,
            functions,
        })
    }

    /// Shows the progress on one terminal line, which each update replaces.
    async fn show_progress<T>(&self, work: impl Future<Output = T>) -> T {
        if self.json || !io::stderr().is_terminal() {
            return work.await;
        }
        let (mut work, began) = (std::pin::pin!(work), Instant::now());
        let plugin = output::printable(&self.plugin);
        loop {
            let seconds = began.elapsed().as_secs().min(self.seconds);
            let _ = write!(io::stderr(), "\r\u{1b}[Kprofile of {plugin}: {seconds} of {} s\r", self.seconds);
            tokio::select! {
                done = &mut work => {
                    let _ = write!(io::stderr(), "\r\u{1b}[K");
                    return done;
                }
                () = sleep(Duration::from_millis(PROFILE_PROGRESS_MS)) => {}
            }
        }
    }
}

fn write(file: &Path, text: &str, force: bool) -> Result<(), CliError> {
    let mut options = fs::OpenOptions::new();
    let options = options.write(true);
    let options = if force { options.create(true).truncate(true) } else { options.create_new(true) };
    let written = options.open(file).and_then(|mut open| open.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => file_exists(file),
        _ => CliError::Failed(format!("failed to write {} ({error}).", file.display())),
    })
}

fn file_exists(file: &Path) -> CliError {
    CliError::Failed(format!("{} exists. Replace it with --force, or name another file with --output.", file.display()))
}
