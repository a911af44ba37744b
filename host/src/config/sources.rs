//! Where a setting may come from besides plugins.toml: flags of `tenon serve`, and the environment.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf};

use clap::Args;
use zeroize::Zeroizing;

use crate::secrets::SecretText;

/// What stood on the command line. Texts, so that their mistakes are reported together with those of the file.
#[derive(Clone, Debug, Default, Args)]
pub struct Flags {
    /// The configuration [default: TENON_CONFIG, else plugins.toml]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Address of the interfaces [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Address of the operators' listener [default: 127.0.0.1:9090]
    #[arg(long = "admin", value_name = "ADDRESS")]
    pub admin_listen: Option<String>,
    /// Where records are kept, sqlite:PATH [default: tenon.db in the data folder]
    #[arg(long, value_name = "URL")]
    pub database: Option<String>,
    /// Folder of database, keys and compiled components [default: data]
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
}

/// The variables of the environment that the host knows, and those that the operator named in plugins.toml.
#[derive(Clone, Default)]
pub struct Variables {
    known: BTreeMap<String, Zeroizing<String>>,
    /// Whether others are looked for in the environment of this process.
    of_process: bool,
}

/// Every variable that the host reads: name and what it is for.
pub const VARIABLES: [(&str, &str); 10] = [
    ("TENON_CONFIG", "the configuration file; default: plugins.toml in the current folder"),
    ("TENON_LISTEN", "as `listen`"),
    ("TENON_ADMIN_LISTEN", "as `admin-listen`"),
    ("TENON_DATABASE", "as `database`"),
    ("TENON_DATA_DIR", "as `data-dir`; the command line finds the operators' token there"),
    ("TENON_MASTER_KEY", "the master key: 32 bytes as hex or base64; older ones may follow after commas"),
    ("TENON_ADMIN", "where the command line finds the operators' listener"),
    ("TENON_WEBHOOK_SECRET", "what `tenon listen` checks signatures with; several with commas between"),
    ("TENON_LOG", "log filter, such as debug or info,tenon=debug; default: info"),
    ("RUST_LOG", "log filter where TENON_LOG is not set"),
];

impl Variables {
    /// Those of this process. One that is not UTF-8 is taken as it can be read, so that its mistake is reported.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn of_process() -> Variables {
        let known = VARIABLES.iter().filter_map(|(name, _)| Some((*name, std::env::var_os(name)?)));
        // `into_string` takes the bytes over; only what is no UTF-8 is copied.
        let text = |value: OsString| value.into_string().unwrap_or_else(|value| value.to_string_lossy().into_owned());
        let known = known.map(|(name, value)| (name.to_owned(), Zeroizing::new(text(value))));
        Variables { known: known.collect(), of_process: true }
    }

    /// For tests, and for hosts within a program.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Variables {
        let known = pairs.into_iter().map(|(name, value)| (name.to_owned(), Zeroizing::new(value.to_owned())));
        Variables { known: known.collect(), of_process: false }
    }

    /// `None` where it is not set or empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.known.get(name).map(|value| value.as_str()).filter(|value| !value.is_empty())
    }

    /// One that plugins.toml names as "env:NAME". `None` where it is not set, empty, or no text.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn secret(&self, name: &str) -> Option<SecretText> {
        let is_name = !name.is_empty() && !name.contains(['=', '\0']);
        if !self.of_process || !is_name {
            return self.get(name).map(|text| SecretText::new(text.to_owned()));
        }
        let text = std::env::var_os(name)?.into_string().ok()?;
        Some(SecretText::new(text)).filter(|text| !text.expose().is_empty())
    }
}
