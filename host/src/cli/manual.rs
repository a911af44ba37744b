//! `tenon completions` and `tenon man`: made from the description of the command line itself, so that neither can be stale.

use std::{fs, path::PathBuf};

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Cli, CliError, Outcome};

/// Print completions of the command line for a shell
#[derive(Args)]
#[command(
    after_help = "Example:\n  tenon completions bash > /usr/share/bash-completion/completions/tenon\n  tenon completions zsh > /usr/local/share/zsh/site-functions/_tenon\n  tenon completions fish > ~/.config/fish/completions/tenon.fish"
)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

/// Print the page of the manual, or write one for each command
#[derive(Args)]
#[command(after_help = "Example:\n  tenon man | man -l -\n  tenon man --folder /usr/local/share/man/man1")]
pub struct Man {
    /// Write tenon.1 and a page for each command into this folder
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

impl Completions {
    pub fn run(self) -> Result<Outcome, CliError> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "tenon", &mut text);
        Ok(Outcome::good(String::from_utf8_lossy(&text).into_owned()))
    }
}

impl Man {
    pub fn run(self) -> Result<Outcome, CliError> {
        let Some(folder) = self.folder else {
            let page = render(Cli::command()).map_err(|error| CliError::Failed(error.to_string()))?;
            return Ok(Outcome::good(String::from_utf8_lossy(&page).into_owned()));
        };
        let written = fs::create_dir_all(&folder).and_then(|()| clap_mangen::generate_to(Cli::command(), &folder));
        written.map_err(|source| CliError::File { path: folder.clone(), source })?;
        let pages = fs::read_dir(&folder).map_or(0, |entries| {
            let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
            names.filter(|name| name.starts_with("tenon") && name.ends_with(".1")).count()
        });
        Ok(Outcome::good(format!("{pages} pages are in {}.\n", folder.display())))
    }
}

fn render(command: clap::Command) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_know_every_command_in_each_shell() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = Completions { shell }.run().unwrap().text;
            for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
                assert!(text.contains(command.get_name()), "{shell} does not know {}", command.get_name());
            }
        }
    }

    #[test]
    fn manual_has_a_page_for_every_command() {
        let page = Man { folder: None }.run().unwrap().text;
        assert!(page.contains(".TH tenon 1") && page.contains("tenon\\-key(1)"), "{page}");
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("share/man1");
        Man { folder: Some(folder.clone()) }.run().unwrap();
        for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let page = folder.join(format!("tenon-{}.1", command.get_name()));
            assert!(page.is_file(), "{} is missing", page.display());
        }
        assert!(folder.join("tenon-key-create.1").is_file());
    }

    #[test]
    fn folder_that_cannot_be_made_is_reported() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Man { folder: Some(file.path().to_owned()) }.run().unwrap_err();
        assert!(error.to_string().contains(&file.path().display().to_string()), "{error}");
    }
}
