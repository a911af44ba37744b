//! How an order configuration is called (research/fleet 1.5, 3). What it does is its `flow`.

use super::change::{Change, Faults, TextField};
use super::flow::{self, CODE_CHARS_MAX};
use super::invalid::Invalid;

/// The key of the one that is built in.
pub const TRANSPORT: &str = "transport";
const NAME: TextField = ("name", 128);
const KEY: TextField = ("key", CODE_CHARS_MAX);
const NAMESPACE: TextField = ("namespace", 128);
const DESCRIPTION: TextField = ("description", 500);
const VERSION: TextField = ("version", 64);

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    pub name: String,
    /// Lower-case letters, digits, hyphens and underscores.
    pub key: String,
    pub namespace: String,
    pub description: Option<String>,
    pub version: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    pub name: Change<String>,
    pub key: Change<String>,
    pub namespace: Change<String>,
    pub description: Change<String>,
    pub version: Change<String>,
}

/// What was asked for, on top of the names before where there are some. Every fault at once.
pub fn settle(before: Option<Names>, asked: Asked, organization: &str) -> Result<Names, Vec<Invalid>> {
    let mut faults = Faults::default();
    let (name, key, namespace, description, version) = match before {
        Some(names) => {
            (Some(names.name), Some(names.key), Some(names.namespace), names.description, Some(names.version))
        }
        None => (None, None, None, None, None),
    };
    let key = faults.required(KEY, asked.key, key);
    if !key.is_empty() && !key.bytes().all(is_of_key) {
        faults.note(Invalid::Not { field: "key", kind: "a word of lower-case letters, digits, - and _" });
    }
    let namespace = faults.line(NAMESPACE, asked.namespace, namespace);
    let names = Names {
        name: faults.required(NAME, asked.name, name),
        namespace: namespace.unwrap_or_else(|| [organization, ":order-config:", &key].concat()),
        key,
        description: faults.lines(DESCRIPTION, asked.description, description),
        version: faults.line(VERSION, asked.version, version).unwrap_or_else(|| flow::VERSION.to_owned()),
    };
    if names.key == TRANSPORT {
        faults.note(Invalid::Taken("key"));
    }
    if names.namespace == flow::NAMESPACE {
        faults.note(Invalid::Taken("namespace"));
    }
    faults.finish(names)
}

fn is_of_key(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte)
}

/// Nobody changes the one that is built in.
pub fn refuse_built_in() -> Invalid {
    Invalid::NotAccepted { field: "id", why: "the built-in configuration stays as it is".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(text: &str) -> Change<String> {
        Change::To(text.to_owned())
    }

    fn asked() -> Asked {
        Asked { name: to("Food"), key: to("food"), ..Asked::default() }
    }

    #[test]
    fn a_configuration_has_a_name_and_a_key() {
        let names = settle(None, asked(), "acme").unwrap();
        assert_eq!((names.namespace.as_str(), names.version.as_str()), ("acme:order-config:food", "0.0.1"));
        assert_eq!(settle(None, Asked::default(), "acme").unwrap_err(), ["key", "name"].map(Invalid::Required));
    }

    #[test]
    fn what_is_absent_stays() {
        let before = settle(None, asked(), "acme").unwrap();
        assert_eq!(settle(Some(before.clone()), Asked::default(), "acme"), Ok(before.clone()));
        let renamed = settle(Some(before), Asked { key: to("meals"), ..Asked::default() }, "acme").unwrap();
        assert_eq!((renamed.key.as_str(), renamed.namespace.as_str()), ("meals", "acme:order-config:food"));
    }

    #[test]
    fn the_built_in_names_are_taken() {
        let transport = Asked { key: to(TRANSPORT), namespace: to(flow::NAMESPACE), ..asked() };
        assert_eq!(settle(None, transport, "acme").unwrap_err(), ["key", "namespace"].map(Invalid::Taken));
    }

    #[test]
    fn a_key_is_a_word() {
        for key in ["Food", "fast food", "a:b", "é"] {
            let faults = settle(None, Asked { key: to(key), ..asked() }, "acme").unwrap_err();
            assert_eq!(faults.len(), 1, "{key}");
        }
    }
}
