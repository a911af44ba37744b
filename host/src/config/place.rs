//! Settings that may stand in several places: a flag, a variable, the file. The first that is there counts; each of
//! them is checked.

use std::{
    net::SocketAddr,
    ops::Range,
    path::{Path, PathBuf},
};

use super::{mistakes::Mistakes, section::Placed};

/// One setting as it was found, the strongest place first.
pub struct Places<'a> {
    /// "--listen" and its value.
    pub flag: (&'static str, Option<&'a str>),
    /// "TENON_LISTEN" and its value.
    pub variable: (&'static str, Option<&'a str>),
    /// "listen" and its value.
    pub file: (&'static str, Option<Placed<String>>),
}

enum Place {
    Named(&'static str),
    File(&'static str, Range<usize>),
}

impl Place {
    fn complain(&self, text: &str, mistakes: &Mistakes<'_>) {
        match self {
            Place::Named(name) => mistakes.elsewhere(format!("{name} {text}")),
            Place::File(key, span) => mistakes.at(span, format!("`{key}` {text}")),
        }
    }
}

impl Places<'_> {
    /// Checks every place with `read` and returns what the strongest one says; `in_file` tells where it stood.
    fn settle<T>(self, mistakes: &Mistakes<'_>, read: impl Fn(&str, bool) -> Result<T, String>) -> Option<T> {
        let named = [self.flag, self.variable].into_iter();
        let named = named.filter_map(|(name, value)| Some((Place::Named(name), value?.to_owned())));
        let (key, placed) = self.file;
        let filed = placed.map(|placed| (Place::File(key, placed.span), placed.value));
        let mut settled = None;
        for (place, value) in named.chain(filed) {
            match read(&value, matches!(place, Place::File(..))) {
                Ok(value) => settled = settled.or(Some(value)),
                Err(text) => place.complain(&text, mistakes),
            }
        }
        settled
    }

    pub fn address(self, mistakes: &Mistakes<'_>, default: SocketAddr) -> SocketAddr {
        let read = |text: &str, _| {
            text.parse().map_err(|_| {
                format!(
                    "must be an IP address and a port, such as 127.0.0.1:8080 or [::]:8080, and is \"{}\".",
                    text.escape_debug()
                )
            })
        };
        self.settle(mistakes, read).unwrap_or(default)
    }

    /// A path in the file is relative to the folder of the file; elsewhere it is relative to the current folder.
    pub fn folder(self, mistakes: &Mistakes<'_>, of_file: &Path, default: &str) -> PathBuf {
        let read = |text: &str, in_file| match text {
            "" => Err("must be a folder, and is empty.".to_owned()),
            _ if in_file => Ok(of_file.join(text)),
            _ => Ok(PathBuf::from(text)),
        };
        self.settle(mistakes, read).unwrap_or_else(|| PathBuf::from(default))
    }

    /// "sqlite:PATH". Relative paths as in [`Places::folder`].
    pub fn database(self, mistakes: &Mistakes<'_>, of_file: &Path, default: &Path) -> String {
        let read = |text: &str, in_file| {
            let path = database_path(text)?;
            Ok(if in_file { of_file.join(path) } else { PathBuf::from(path) })
        };
        let path = self.settle(mistakes, read).unwrap_or_else(|| default.to_owned());
        format!("sqlite:{}", path.display())
    }
}

fn database_path(text: &str) -> Result<&str, String> {
    if text.starts_with("postgres:") || text.starts_with("postgresql:") {
        return Err("names PostgreSQL, which is not built into this version; use sqlite:PATH.".to_owned());
    }
    let path = text.strip_prefix("sqlite:").map(|path| path.strip_prefix("//").unwrap_or(path));
    match path {
        Some("") => Err("names no file; write sqlite:PATH, such as sqlite:data/tenon.db.".to_owned()),
        Some(":memory:") => Err("names a database in memory, which would lose everything; use sqlite:PATH.".to_owned()),
        Some(path) if path.contains(['?', '#']) => Err("takes no parameters; write sqlite:PATH.".to_owned()),
        Some(path) => Ok(path),
        None => Err(format!("must be sqlite:PATH, and is \"{}\".", text.escape_debug())),
    }
}
