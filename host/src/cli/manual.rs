//! `tenon completions` and `tenon man`: generated from the command-line definition, so that neither can be stale.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Cli, CliError, Outcome};

/// Print shell completions
#[derive(Args)]
#[command(
    after_help = "Example:\n  tenon completions bash > /usr/share/bash-completion/completions/tenon\n  tenon completions zsh > /usr/local/share/zsh/site-functions/_tenon\n  tenon completions fish > ~/.config/fish/completions/tenon.fish"
)]
pub struct Completions {
    /// Target shell
    shell: Shell,
}

/// Print the manual page, or write one page for each command
#[derive(Args)]
#[command(after_help = "Example:\n  tenon man | man -l -\n  tenon man --folder /usr/local/share/man/man1")]
pub struct Man {
    /// Write tenon.1 and a page for each command to this folder
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

impl Completions {
    pub fn run(self) -> Result<Outcome, CliError> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "tenon", &mut text);
        Ok(Outcome::success(String::from_utf8_lossy(&text).into_owned()))
    }
}

impl Man {
    pub fn run(self) -> Result<Outcome, CliError> {
        let Some(folder) = self.folder else {
            let page = render(Cli::command()).map_err(|error| CliError::Failed(error.to_string()))?;
            return Ok(Outcome::success(String::from_utf8_lossy(&page).into_owned()));
        };
        let mut command = Cli::command().disable_help_subcommand(true);
        command.build();
        let written = fs::create_dir_all(&folder).and_then(|()| write_pages(command, &folder));
        let pages = written.map_err(|source| CliError::File { path: folder.clone(), source })?;
        Ok(Outcome::success(format!("{pages} pages were written to {}.\n", folder.display())))
    }
}

/// Writes the pages of a command and its subcommands and returns their number.
fn write_pages(command: clap::Command, folder: &Path) -> io::Result<usize> {
    let mut pages = 1;
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        pages += write_pages(subcommand.clone(), folder)?;
    }
    clap_mangen::Man::new(command).generate_to(folder)?;
    Ok(pages)
}

fn render(command: clap::Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_of_each_shell_contain_every_command() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = Completions { shell }.run().unwrap().text;
            for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
                assert!(text.contains(command.get_name()), "{shell} lacks {}", command.get_name());
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
    fn page_of_an_older_version_is_not_counted() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tenon-removed.1"), "").unwrap();
        let text = Man { folder: Some(folder.path().to_owned()) }.run().unwrap().text;
        let written = fs::read_dir(folder.path()).unwrap().count() - 1;
        assert_eq!(text, format!("{written} pages were written to {}.\n", folder.path().display()));
    }

    #[test]
    fn folder_that_cannot_be_created_is_reported() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Man { folder: Some(file.path().to_owned()) }.run().unwrap_err();
        assert!(error.to_string().contains(&file.path().display().to_string()), "{error}");
    }
}
