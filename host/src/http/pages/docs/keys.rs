//! With which key an operation is asked: the document's security schemes, as a sentence and as part of a command.
//!
//! A command is pasted into a shell: what could be anything but a name is left out of it.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::document::{Document, is_name, members_of, shown, shown_name, text_of};
use crate::limits::DOCS_ALTERNATIVES_MAX;

/// Of one operation: any of these, each all of its schemes together. `None`: the document says nothing about it.
pub struct Keys<'d>(Option<Vec<Vec<Scheme<'d>>>>);

struct Scheme<'d> {
    name: &'d str,
    declared: &'d Value,
    scopes: &'d [Value],
}

enum Place<'d> {
    Bearer,
    /// A token that a server of OAuth gives out.
    Token,
    Basic,
    Header(&'d str),
    Query(&'d str),
    Cookie(&'d str),
    Elsewhere,
}

impl<'d> Keys<'d> {
    pub fn of(document: Document<'d>, operation: &'d Map<String, Value>) -> Keys<'d> {
        let declared = operation.get("security").or_else(|| document.root.get("security"));
        let Some(alternatives) = declared.and_then(Value::as_array) else { return Keys(None) };
        let schemes = document.root.pointer("/components/securitySchemes").unwrap_or(&Value::Null);
        let scheme = |(name, scopes): (&'d String, &'d Value)| Scheme {
            name,
            declared: document.resolve(schemes.get(name).unwrap_or(&Value::Null)),
            scopes: scopes.as_array().map(Vec::as_slice).unwrap_or_default(),
        };
        let together = |one: &'d Value| -> Vec<Scheme<'d>> {
            one.as_object().into_iter().flatten().take(DOCS_ALTERNATIVES_MAX).map(scheme).collect()
        };
        Keys(Some(alternatives.iter().take(DOCS_ALTERNATIVES_MAX).map(together).collect()))
    }

    /// HTML; empty where the document says nothing.
    pub fn sentence(&self) -> String {
        let Some(alternatives) = &self.0 else { return String::new() };
        let together = |schemes: &Vec<Scheme<'_>>| {
            let all: Vec<String> = schemes.iter().map(Scheme::sentence).collect();
            if all.is_empty() { "nothing".to_owned() } else { all.join(" and ") }
        };
        let ways: Vec<String> = alternatives.iter().map(together).collect();
        if alternatives.iter().all(Vec::is_empty) {
            return "<p>Needs no key.</p>".to_owned();
        }
        format!("<p>Key: {}.</p>", ways.join(", or "))
    }

    /// What curl needs for the first of them that it can show; a document that says nothing means the host's own way.
    pub fn of_curl(&self) -> Shown<'d> {
        let Some(alternatives) = &self.0 else { return Shown { options: BEARER.to_owned(), query: None } };
        let mut shown = alternatives.iter().filter_map(|schemes| {
            let mut shown = Shown::default();
            schemes.iter().all(|scheme| scheme.show(&mut shown)).then_some(shown)
        });
        shown.next().unwrap_or_default()
    }
}

const BEARER: &str = " -H \"Authorization: Bearer $KEY\"";

/// Parts of a command.
#[derive(Default)]
pub struct Shown<'d> {
    pub options: String,
    /// A parameter of the address.
    pub query: Option<&'d str>,
}

impl<'d> Scheme<'d> {
    fn place(&self) -> Place<'d> {
        let name = text_of(self.declared, "name");
        match (text_of(self.declared, "type"), text_of(self.declared, "in")) {
            ("http", _) if text_of(self.declared, "scheme").eq_ignore_ascii_case("bearer") => Place::Bearer,
            ("http", _) if text_of(self.declared, "scheme").eq_ignore_ascii_case("basic") => Place::Basic,
            ("oauth2" | "openIdConnect", _) => Place::Token,
            ("apiKey", "header") => Place::Header(name),
            ("apiKey", "query") => Place::Query(name),
            ("apiKey", "cookie") => Place::Cookie(name),
            _ => Place::Elsewhere,
        }
    }

    fn sentence(&self) -> String {
        let mut text = match self.place() {
            Place::Bearer => "header <code>Authorization: Bearer</code>".to_owned(),
            Place::Token => "token of OAuth in the header <code>Authorization: Bearer</code>".to_owned(),
            Place::Basic => "user name of basic authentication".to_owned(),
            Place::Header(name) => format!("header <code>{}</code>", shown_name(name)),
            Place::Query(name) => format!("parameter <code>{}</code> of the address", shown_name(name)),
            Place::Cookie(name) => format!("cookie <code>{}</code>", shown_name(name)),
            Place::Elsewhere => format!("<code>{}</code>", shown_name(self.name)),
        };
        let scopes = self.scopes.iter().filter_map(Value::as_str).take(DOCS_ALTERNATIVES_MAX);
        for (number, scope) in scopes.enumerate() {
            let before = if number == 0 { " with the scope" } else { "," };
            let _ = write!(text, "{before} <code>{}</code>", shown_name(scope));
        }
        text
    }

    /// Whether a command can say it.
    fn show(&self, shown: &mut Shown<'d>) -> bool {
        match self.place() {
            Place::Bearer => shown.options.push_str(BEARER),
            Place::Token => shown.options.push_str(" -H \"Authorization: Bearer $TOKEN\""),
            Place::Basic => shown.options.push_str(" -u \"$KEY:\""),
            Place::Header(name) if is_name(name) => {
                let _ = write!(shown.options, " -H \"{name}: $KEY\"");
            }
            Place::Query(name) if is_name(name) => shown.query = Some(name),
            Place::Cookie(name) if is_name(name) => {
                let _ = write!(shown.options, " -b \"{name}=$KEY\"");
            }
            _ => return false,
        }
        true
    }
}

/// How to get at the schemes once for a whole interface.
pub fn described(document: Document<'_>) -> String {
    let mut text = String::new();
    let schemes = document.root.pointer("/components/securitySchemes").unwrap_or(&Value::Null);
    for (name, scheme) in schemes.as_object().into_iter().flatten().take(DOCS_ALTERNATIVES_MAX) {
        let declared = document.resolve(scheme);
        let place = Scheme { name, declared, scopes: &[] }.sentence();
        let _ = write!(text, "<p>Key: {place}. {}", shown(text_of(declared, "description")));
        for flow in members_of(declared, "flows").into_iter().flat_map(Map::values).take(DOCS_ALTERNATIVES_MAX) {
            let address = text_of(flow, "tokenUrl");
            if !address.is_empty() {
                let _ = write!(text, " Tokens: <code>{}</code>.", shown_name(address));
            }
        }
        text.push_str("</p>");
    }
    text
}
