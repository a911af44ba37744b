//! What every answer looks like: `{statusCode, message, data, meta?, analytics?}`, the same status in head and body.

use tenon_plugin::json::{self, Object};
use tenon_plugin::{Answer, Call, Outcome, Stop};

use super::query;
use super::wallets::of_page;
use crate::rules::page::{Meta, Page};
use crate::rules::refusal::Refusal;
use crate::words;

/// Parameters of every list.
pub const PAGE: &[&str] = &["page", "limit"];

/// `data` is one JSON text.
pub fn ok(message: &str, data: &str) -> Outcome {
    answer(200, message, data, &[])
}

pub fn created(message: &str, data: &str) -> Outcome {
    answer(201, message, data, &[])
}

/// With members behind `data`.
pub fn answer(status: u16, message: &str, data: &str, more: &[(&'static str, String)]) -> Outcome {
    let mut body = Object::default();
    body.set("statusCode", &status)?;
    body.set("message", message)?;
    body.set_raw("data", data);
    for (name, value) in more {
        body.set_raw(name, value.as_str());
    }
    Ok(Answer::new(status, body.to_text()))
}

/// A page of a list.
pub fn list(message: &str, rows: &[String], meta: Meta, analytics: Option<String>) -> Outcome {
    let data = json::array(rows.iter().map(String::as_str));
    let mut more = vec![("meta", meta_text(meta)?)];
    more.extend(analytics.map(|analytics| ("analytics", analytics)));
    answer(200, message, &data, &more)
}

/// Returns the page of `rows` that the query asks for; `rows` are the whole list.
pub fn paged_list(call: &Call, message: &str, rows: &[String]) -> Outcome {
    let page = page(call)?;
    let shown: Vec<String> = of_page(rows, page).cloned().collect();
    list(message, &shown, page.meta(rows.len() as u64), None)
}

/// Returns all rows as one page: the answer to a request that made them, and has no pages to ask for.
pub fn whole_list(message: &str, rows: &[String]) -> Outcome {
    let total = rows.len() as u64;
    let meta = Meta {
        total_items: total,
        item_count: total,
        items_per_page: total.max(1),
        total_pages: total.min(1),
        current_page: 1,
    };
    list(message, rows, meta, None)
}

fn meta_text(meta: Meta) -> Result<String, Stop> {
    let mut text = Object::default();
    text.set("totalItems", &meta.total_items)?;
    text.set("itemCount", &meta.item_count)?;
    text.set("itemsPerPage", &meta.items_per_page)?;
    text.set("totalPages", &meta.total_pages)?;
    text.set("currentPage", &meta.current_page)?;
    Ok(text.to_text())
}

/// Reads the page that the query asks for.
pub fn page(call: &Call) -> Result<Page, Stop> {
    let (page, limit) = (query::single(call, &["page"])?, query::single(call, &["limit"])?);
    Page::read(page, limit).map_err(|all| words::refused(&Refusal::Invalid(all)))
}

/// What a search is asked for: rows, and rows to skip.
pub fn rows(page: Page) -> (u32, u32) {
    let whole = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    (whole(page.rows), whole(page.offset()))
}
