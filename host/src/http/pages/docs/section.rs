//! The HTML of one interface: its operations, their parameters and responses, and its webhooks.
//!
//! Invariant: every string from outside passes through `escape`, and no operation or row is added once
//! `DOCS_BYTES_MAX` is reached.

use std::{collections::BTreeSet, fmt::Write};

use serde_json::{Map, Value};

use super::{
    command::curl,
    document::{Document, is_name, list_of, members_of, render_name, render_text, text_of},
    fields::{Fields, fields_of, kind_of},
    keys::Keys,
};
use crate::{
    http::pages::escape,
    limits::{DOCS_BYTES_MAX, DOCS_FIELDS_MAX, DOCS_STEPS_MAX},
};

pub const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];
const COMMON_RESPONSES: &str = "#/components/responses/";

pub struct Section<'d> {
    document: Document<'d>,
    html: String,
    /// Number of schemas that may still be examined.
    steps: usize,
    /// Names of the component responses that operations refer to. Each is rendered once.
    common: BTreeSet<&'d str>,
}

impl<'d> Section<'d> {
    pub fn new(document: Document<'d>) -> Section<'d> {
        Section { document, html: String::new(), steps: DOCS_STEPS_MAX, common: BTreeSet::new() }
    }

    /// Renders the section.
    pub fn write(mut self) -> String {
        self.contents();
        for (path, item) in members_of(self.document.root, "paths").into_iter().flatten() {
            self.path_item(path, item);
        }
        self.common_responses();
        self.webhooks();
        if !self.has_room() {
            self.html.push_str("<p>There is more: the document has all of it.</p>");
        }
        self.html
    }

    fn has_room(&self) -> bool {
        self.html.len() < DOCS_BYTES_MAX
    }

    fn contents(&mut self) {
        self.html.push_str("<details><summary>Operations</summary><ul>");
        for (path, item) in members_of(self.document.root, "paths").into_iter().flatten() {
            for (method, operation) in METHODS.iter().filter_map(|method| Some((method, item.get(method)?))) {
                if !self.has_room() {
                    break;
                }
                let Some(anchor) = self.document.anchor(text_of(operation, "operationId")) else { continue };
                let title = render_name(&title(method, path));
                let _ = write!(self.html, "<li><a href=\"#{}\">{title}</a></li>", escape(&anchor));
            }
        }
        self.html.push_str("</ul></details>");
    }

    fn path_item(&mut self, path: &'d str, item: &'d Value) {
        for method in METHODS {
            let Some(operation) = item.get(method).and_then(Value::as_object) else { continue };
            if !self.has_room() {
                return;
            }
            let name = operation.get("operationId").and_then(Value::as_str).unwrap_or_default();
            self.open_article(name, &heading(method, path));
            self.descriptions(operation);
            self.html.push_str(&Keys::of(self.document, operation).sentence());
            self.parameters(list_of(item, "parameters"), operation);
            self.body("Body", operation);
            self.responses(operation);
            let command = curl(self.document, method, path, operation);
            let _ = write!(
                self.html,
                "<pre tabindex=\"0\" role=\"region\" aria-label=\"Example of {}\">{}</pre></article>",
                render_name(&title(method, path)),
                escape(&command)
            );
        }
    }

    fn open_article(&mut self, name: &str, heading: &str) {
        let anchor = self.document.anchor(name).map(|anchor| format!(" id=\"{}\"", escape(&anchor)));
        let _ = write!(self.html, "<article{}>{heading}", anchor.unwrap_or_default());
    }

    fn descriptions(&mut self, object: &Map<String, Value>) {
        for member in ["summary", "description"] {
            if let Some(text) = object.get(member).and_then(Value::as_str) {
                let _ = write!(self.html, "<p>{}</p>", render_text(text));
            }
        }
    }

    fn parameters(&mut self, path_parameters: &'d [Value], operation: &'d Map<String, Value>) {
        let own = operation.get("parameters").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let all =
            path_parameters.iter().chain(own).take(DOCS_FIELDS_MAX).map(|parameter| self.document.resolve(parameter));
        let all: Vec<&Value> = all.collect();
        if all.is_empty() {
            return;
        }
        self.html.push_str("<table><caption>Parameters</caption><thead><tr><th scope=\"col\">Name</th>");
        self.html.push_str("<th scope=\"col\">In</th><th scope=\"col\">Type</th><th scope=\"col\">Required</th>");
        self.html.push_str("<th scope=\"col\">Meaning</th></tr></thead><tbody>");
        for parameter in all {
            if !self.has_room() {
                break;
            }
            let kind = self.kind(parameter);
            let is_required = parameter.get("required").and_then(Value::as_bool).unwrap_or_default();
            let _ = write!(
                self.html,
                "<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                render_name(text_of(parameter, "name")),
                render_name(text_of(parameter, "in")),
                escape(&kind),
                yes_or_no(is_required),
                render_text(text_of(parameter, "description")),
            );
        }
        self.html.push_str("</tbody></table>");
    }

    fn body(&mut self, caption: &str, operation: &'d Map<String, Value>) {
        let Some(body) = operation.get("requestBody").map(|body| self.document.resolve(body)) else { return };
        let description = text_of(body, "description");
        if !description.is_empty() {
            let _ = write!(self.html, "<p>{}</p>", render_text(description));
        }
        for (media_type, media) in members_of(body, "content").into_iter().flatten().take(DOCS_FIELDS_MAX) {
            if !self.has_room() {
                return;
            }
            let kind = self.kind(media);
            let fields = self.fields(media);
            let caption = format!("{caption}: <code>{}</code> {}", render_name(media_type), escape(&kind));
            if fields.rows.is_empty() {
                let _ = write!(self.html, "<p>{caption}</p>");
            } else {
                self.table(&caption, &fields);
            }
        }
    }

    fn responses(&mut self, operation: &'d Map<String, Value>) {
        let Some(responses) = operation.get("responses").and_then(Value::as_object).filter(|all| !all.is_empty())
        else {
            return;
        };
        self.html.push_str("<table><caption>Answers</caption><thead><tr><th scope=\"col\">Status</th>");
        self.html.push_str("<th scope=\"col\">Meaning</th></tr></thead><tbody>");
        for (status, response) in responses {
            if !self.has_room() {
                break;
            }
            let described = self.document.resolve(response);
            let meaning = render_text(text_of(described, "description"));
            let _ = write!(self.html, "<tr><td><code>{}</code></td><td>{meaning}", render_name(status));
            match text_of(response, "$ref").strip_prefix(COMMON_RESPONSES).filter(|name| is_name(name)) {
                Some(name) if json_of(described).is_some() => {
                    self.common.insert(name);
                    let anchor = self.document.anchor(&format!("answer.{name}")).unwrap_or_default();
                    let _ = write!(self.html, " <a href=\"#{0}\">Fields of {1}</a>", escape(&anchor), escape(name));
                }
                _ => self.response_fields(status, described),
            }
            self.html.push_str("</td></tr>");
        }
        self.html.push_str("</tbody></table>");
    }

    fn response_fields(&mut self, status: &str, response: &'d Value) {
        let Some(media) = json_of(response) else { return };
        let fields = self.fields(media);
        if fields.rows.is_empty() {
            return;
        }
        let _ = write!(self.html, "<details><summary>Fields of {}</summary>", render_name(status));
        self.table("", &fields);
        self.html.push_str("</details>");
    }

    /// Renders the shared responses that operations refer to.
    fn common_responses(&mut self) {
        let names = std::mem::take(&mut self.common);
        if names.is_empty() {
            return;
        }
        self.html.push_str("<h3>Answers of several operations</h3>");
        for name in names {
            if !self.has_room() {
                return;
            }
            let declared = self.document.root.pointer("/components/responses").and_then(|all| all.get(name));
            let Some(response) = declared.map(|response| self.document.resolve(response)) else { continue };
            self.open_article(&format!("answer.{name}"), &format!("<h4>{}</h4>", render_name(name)));
            let _ = write!(self.html, "<p>{}</p>", render_text(text_of(response, "description")));
            if let Some(media) = json_of(response) {
                let fields = self.fields(media);
                self.table("Fields", &fields);
            }
            self.html.push_str("</article>");
        }
    }

    fn webhooks(&mut self) {
        let webhooks = members_of(self.document.root, "webhooks").filter(|all| !all.is_empty());
        let Some(webhooks) = webhooks else { return };
        let _ = write!(self.html, "<h3 id=\"{}.webhooks\">Webhooks</h3>", escape(self.document.plugin));
        for (name, item) in webhooks {
            let item = self.document.resolve(item);
            for operation in METHODS.iter().filter_map(|method| item.get(method)?.as_object()) {
                if !self.has_room() {
                    return;
                }
                self.open_article(&format!("webhook.{name}"), &format!("<h4>{}</h4>", render_name(name)));
                self.descriptions(operation);
                self.parameters(list_of(item, "parameters"), operation);
                self.body("What is sent", operation);
                self.html.push_str("</article>");
            }
        }
    }

    fn kind(&mut self, value: &Value) -> String {
        value.get("schema").map(|schema| kind_of(self.document, schema, &mut self.steps)).unwrap_or_default()
    }

    fn fields(&mut self, media: &'d Value) -> Fields {
        media.get("schema").map(|schema| fields_of(self.document, schema, &mut self.steps)).unwrap_or_default()
    }

    /// Renders a table of fields. `caption` is HTML.
    fn table(&mut self, caption: &str, fields: &Fields) {
        self.html.push_str("<table>");
        if !caption.is_empty() {
            let _ = write!(self.html, "<caption>{caption}</caption>");
        }
        self.html.push_str("<thead><tr><th scope=\"col\">Field</th><th scope=\"col\">Type</th>");
        self.html.push_str("<th scope=\"col\">Required</th><th scope=\"col\">Meaning</th></tr></thead><tbody>");
        for field in &fields.rows {
            if !self.has_room() {
                break;
            }
            let _ = write!(
                self.html,
                "<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td></tr>",
                escape(&field.path),
                escape(&field.kind),
                yes_or_no(field.is_required),
                escape(&field.description),
            );
        }
        if fields.has_more {
            self.html.push_str("<tr><td colspan=\"4\">There are more: the document has all of them.</td></tr>");
        }
        self.html.push_str("</tbody></table>");
    }
}

fn title(method: &str, path: &str) -> String {
    format!("{} {path}", method.to_ascii_uppercase())
}

pub fn heading(method: &str, path: &str) -> String {
    let method = render_name(&method.to_ascii_uppercase());
    format!("<h3><span class=\"method\">{method}</span> {}</h3>", render_name(path))
}

fn json_of(response: &Value) -> Option<&Value> {
    response.pointer("/content/application~1json")
}

fn yes_or_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}
