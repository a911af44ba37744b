//! Settings that may be given as a flag, a variable, or in the file. The first value in this order takes effect. Every
//! value is checked.

use std::{
    net::SocketAddr,
    ops::Range,
    path::{Path, PathBuf},
};

use super::{mistakes::Mistakes, section::Located};

/// A setting with its value in each layer. A flag overrides a variable, which overrides the file.
pub struct LayeredSetting<'a> {
    /// "--listen" and its value.
    pub flag: (&'static str, Option<&'a str>),
    /// "TENON_LISTEN" and its value.
    pub variable: (&'static str, Option<&'a str>),
    /// "listen" and its value.
    pub file: (&'static str, Option<Located<String>>),
}

enum Layer {
    Named(&'static str),
    File(&'static str, Range<usize>),
}

impl Layer {
    fn report(&self, text: &str, mistakes: &Mistakes<'_>) {
        match self {
            Layer::Named(name) => mistakes.unlocated(format!("{name} {text}")),
            Layer::File(key, span) => mistakes.at(span, format!("`{key}` {text}")),
        }
    }
}

impl LayeredSetting<'_> {
    /// Parses the value of every layer with `read` and returns the first valid one. `read` receives the value, and true
    /// if it is in the file.
    fn resolve<T>(self, mistakes: &Mistakes<'_>, read: impl Fn(&str, bool) -> Result<T, String>) -> Option<T> {
        let named = [self.flag, self.variable].into_iter();
        let named = named.filter_map(|(name, value)| Some((Layer::Named(name), value?.to_owned())));
        let (key, value) = self.file;
        let in_file = value.map(|value| (Layer::File(key, value.span), value.value));
        let mut resolved = None;
        for (layer, value) in named.chain(in_file) {
            match read(&value, matches!(layer, Layer::File(..))) {
                Ok(value) => resolved = resolved.or(Some(value)),
                Err(text) => layer.report(&text, mistakes),
            }
        }
        resolved
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
        self.resolve(mistakes, read).unwrap_or(default)
    }

    /// Resolves a folder. A path in the file is relative to the folder of the file. Every other path, including the
    /// default, is relative to the current folder.
    pub fn folder(self, mistakes: &Mistakes<'_>, of_file: &Path, default: &str) -> PathBuf {
        let read = |text: &str, in_file| match text {
            "" => Err("must be a folder, and is empty.".to_owned()),
            _ if in_file => Ok(of_file.join(text)),
            _ => Ok(PathBuf::from(text)),
        };
        self.resolve(mistakes, read).unwrap_or_else(|| PathBuf::from(default))
    }

    /// Resolves a database URL, "sqlite:PATH". Relative paths are resolved as in [`LayeredSetting::folder`].
    pub fn database(self, mistakes: &Mistakes<'_>, of_file: &Path, default: &Path) -> String {
        let read = |text: &str, in_file| {
            let path = database_path(text)?;
            Ok(if in_file { of_file.join(path) } else { PathBuf::from(path) })
        };
        let path = self.resolve(mistakes, read).unwrap_or_else(|| default.to_owned());
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
