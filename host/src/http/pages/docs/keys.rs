//! The credentials of an operation: the security schemes of the document, as a sentence and as part of a command.
//!
//! A command is pasted into a shell, so it contains only plain names.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::document::{Document, is_name, members_of, render_name, render_text, text_of};
use crate::limits::DOCS_ALTERNATIVES_MAX;

/// The security requirements of one operation: alternatives, each with all of its schemes. `None` if the document
/// defines none.
pub struct Keys<'d>(Option<Vec<Vec<Scheme<'d>>>>);

struct Scheme<'d> {
    name: &'d str,
    declared: &'d Value,
    scopes: &'d [Value],
}

enum CredentialLocation<'d> {
    Bearer,
    /// A token issued by an OAuth server.
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

    /// Renders the requirements as HTML. Returns an empty string if the document defines none.
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

    /// Returns what curl needs for the first alternative that a command can express. Without requirements in the
    /// document, the default of the host applies.
    pub fn curl_credential(&self) -> CurlCredential<'d> {
        let Some(alternatives) = &self.0 else { return CurlCredential { options: BEARER.to_owned(), query: None } };
        let mut credentials = alternatives.iter().filter_map(|schemes| {
            let mut credential = CurlCredential::default();
            schemes.iter().all(|scheme| scheme.add_to(&mut credential)).then_some(credential)
        });
        credentials.next().unwrap_or_default()
    }
}

const BEARER: &str = " -H \"Authorization: Bearer $KEY\"";

/// The credential in a curl command.
#[derive(Default)]
pub struct CurlCredential<'d> {
    pub options: String,
    /// A query parameter.
    pub query: Option<&'d str>,
}

impl<'d> Scheme<'d> {
    fn location(&self) -> CredentialLocation<'d> {
        let name = text_of(self.declared, "name");
        match (text_of(self.declared, "type"), text_of(self.declared, "in")) {
            ("http", _) if text_of(self.declared, "scheme").eq_ignore_ascii_case("bearer") => {
                CredentialLocation::Bearer
            }
            ("http", _) if text_of(self.declared, "scheme").eq_ignore_ascii_case("basic") => CredentialLocation::Basic,
            ("oauth2" | "openIdConnect", _) => CredentialLocation::Token,
            ("apiKey", "header") => CredentialLocation::Header(name),
            ("apiKey", "query") => CredentialLocation::Query(name),
            ("apiKey", "cookie") => CredentialLocation::Cookie(name),
            _ => CredentialLocation::Elsewhere,
        }
    }

    fn sentence(&self) -> String {
        let mut text = match self.location() {
            CredentialLocation::Bearer => "header <code>Authorization: Bearer</code>".to_owned(),
            CredentialLocation::Token => "token of OAuth in the header <code>Authorization: Bearer</code>".to_owned(),
            CredentialLocation::Basic => "user name of basic authentication".to_owned(),
            CredentialLocation::Header(name) => format!("header <code>{}</code>", render_name(name)),
            CredentialLocation::Query(name) => format!("parameter <code>{}</code> of the address", render_name(name)),
            CredentialLocation::Cookie(name) => format!("cookie <code>{}</code>", render_name(name)),
            CredentialLocation::Elsewhere => format!("<code>{}</code>", render_name(self.name)),
        };
        let scopes = self.scopes.iter().filter_map(Value::as_str).take(DOCS_ALTERNATIVES_MAX);
        for (number, scope) in scopes.enumerate() {
            let before = if number == 0 { " with the scope" } else { "," };
            let _ = write!(text, "{before} <code>{}</code>", render_name(scope));
        }
        text
    }

    /// Adds the scheme to a command. Returns false if a command cannot express it.
    fn add_to(&self, credential: &mut CurlCredential<'d>) -> bool {
        match self.location() {
            CredentialLocation::Bearer => credential.options.push_str(BEARER),
            CredentialLocation::Token => credential.options.push_str(" -H \"Authorization: Bearer $TOKEN\""),
            CredentialLocation::Basic => credential.options.push_str(" -u \"$KEY:\""),
            CredentialLocation::Header(name) if is_name(name) => {
                let _ = write!(credential.options, " -H \"{name}: $KEY\"");
            }
            CredentialLocation::Query(name) if is_name(name) => credential.query = Some(name),
            CredentialLocation::Cookie(name) if is_name(name) => {
                let _ = write!(credential.options, " -b \"{name}=$KEY\"");
            }
            _ => return false,
        }
        true
    }
}

/// Describes all schemes of an interface.
pub fn describe_schemes(document: Document<'_>) -> String {
    let mut text = String::new();
    let schemes = document.root.pointer("/components/securitySchemes").unwrap_or(&Value::Null);
    for (name, scheme) in schemes.as_object().into_iter().flatten().take(DOCS_ALTERNATIVES_MAX) {
        let declared = document.resolve(scheme);
        let place = Scheme { name, declared, scopes: &[] }.sentence();
        let _ = write!(text, "<p>Key: {place}. {}", render_text(text_of(declared, "description")));
        for flow in members_of(declared, "flows").into_iter().flat_map(Map::values).take(DOCS_ALTERNATIVES_MAX) {
            let address = text_of(flow, "tokenUrl");
            if !address.is_empty() {
                let _ = write!(text, " Tokens: <code>{}</code>.", render_name(address));
            }
        }
        text.push_str("</p>");
    }
    text
}
