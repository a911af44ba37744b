//! Sources of settings besides plugins.toml: flags of `tenon serve`, and environment variables.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf};

use clap::Args;
use zeroize::Zeroizing;

use crate::secrets::SecretText;

/// Command-line flags. They are strings, so that their mistakes are reported together with those of the file.
#[derive(Clone, Debug, Default, Args)]
pub struct Flags {
    /// Configuration file [default: TENON_CONFIG, else plugins.toml]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Listen address of the interfaces [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Listen address for operators [default: 127.0.0.1:9090]
    #[arg(long = "admin", value_name = "ADDRESS")]
    pub admin_listen: Option<String>,
    /// URL of the database, sqlite:PATH [default: tenon.db in the data folder]
    #[arg(long, value_name = "URL")]
    pub database: Option<String>,
    /// Folder of database, keys and compiled components [default: data]
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
}

/// Environment variables that the host reads, and those that the operator names in plugins.toml.
#[derive(Clone, Default)]
pub struct Variables {
    known: BTreeMap<String, Zeroizing<String>>,
    /// True if other variables are read from the environment of this process.
    of_process: bool,
}

/// Every variable that the host reads, with its description. Excludes USER, which `clap` reads as the default of
/// `--as`, and the variables that plugins.toml names.
pub const VARIABLES: [(&str, &str); 10] = [
    ("TENON_CONFIG", "the configuration file; default: plugins.toml in the current folder"),
    ("TENON_LISTEN", "overrides `listen`"),
    ("TENON_ADMIN_LISTEN", "overrides `admin-listen`"),
    ("TENON_DATABASE", "overrides `database`"),
    ("TENON_DATA_DIR", "overrides `data-dir`; the command line reads the operators' token there"),
    ("TENON_MASTER_KEY", "the master key: 32 bytes as hex or base64; older keys may follow, separated by commas"),
    ("TENON_ADMIN", "address of the operators' listener for the command line"),
    ("TENON_WEBHOOK_SECRET", "secrets that `tenon listen` verifies signatures with, separated by commas"),
    ("TENON_LOG", "log filter, such as debug or info,tenon=debug; default: info"),
    ("RUST_LOG", "log filter where TENON_LOG is not set"),
];

impl Variables {
    /// Reads the variables of this process. Invalid UTF-8 is converted lossily, so that its mistake is reported.
    #[expect(clippy::disallowed_methods, reason = "one of two functions that read the environment")]
    pub fn of_process() -> Variables {
        let known = VARIABLES.iter().filter_map(|(name, _)| Some((*name, std::env::var_os(name)?)));
        // `into_string` reuses the buffer. Only invalid UTF-8 is copied.
        let text = |value: OsString| value.into_string().unwrap_or_else(|value| value.to_string_lossy().into_owned());
        let known = known.map(|(name, value)| (name.to_owned(), Zeroizing::new(text(value))));
        Variables { known: known.collect(), of_process: true }
    }

    /// Creates variables from pairs, for tests and for hosts embedded in a program.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Variables {
        let known = pairs.into_iter().map(|(name, value)| (name.to_owned(), Zeroizing::new(value.to_owned())));
        Variables { known: known.collect(), of_process: false }
    }

    /// Returns the value, or `None` if it is not set or empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.known.get(name).map(|value| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns the value of a variable that plugins.toml names as "env:NAME". `None` if it is not set, empty, or not
    /// UTF-8.
    #[expect(clippy::disallowed_methods, reason = "one of two functions that read the environment")]
    pub fn secret(&self, name: &str) -> Option<SecretText> {
        let is_name = !name.is_empty() && !name.contains(['=', '\0']);
        if !self.of_process || !is_name {
            return self.get(name).map(|text| SecretText::new(text.to_owned()));
        }
        let text = std::env::var_os(name)?.into_string().ok()?;
        Some(SecretText::new(text)).filter(|text| !text.expose().is_empty())
    }
}
