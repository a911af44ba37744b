//! Lists (research/fleet 5): a bare array, newest first unless it is asked for otherwise, by offset or page; filters by name
//! and suffix; the total and the neighbouring pages in headers.
//!
//! What a parameter may be is in a resource's [`Listing`]; one that nobody knows is told, or refused where the caller
//! asked for that. Invariant: every query is served by an index, whatever its filters.

pub mod filters;
mod pages;
#[cfg(test)]
mod tests;

use tenon_plugin::records::{Comparison, Entry, Search, Value};
use tenon_plugin::{Answer, Call, Outcome, Stop, json};

use super::errors;
use super::unknown::{STRICT, Unknown, is_strict};
use crate::records::common;
use crate::rules::invalid::Invalid;
pub use filters::{Filter, single, words};
use pages::Pages;

pub use super::unknown::HEADERS;
pub use pages::{LIMIT_DEFAULT, Limit, whole};

/// An answer that is not larger than what the host takes in one look.
const ANSWER_BYTES_MAX: usize = 8 << 20;
/// Counting ends here, and the header says so: "10000+".
const TOTAL_MAX: u32 = 10_000;
/// Conditions that a caller asks for. The host takes a few more, for the sort and for what is near.
const CONDITIONS_MAX: usize = 24;
/// That a handler adds by itself, whoever asks.
const OWN_CONDITIONS_MAX: usize = 1;

const CREATED: &str = "@created-at";
const UPDATED: &str = "@updated-at";

/// What a list offers. The collection has the indexes `common::BY_CREATED` and `common::BY_UPDATED`, one for each of `sorts`,
/// and should have one of field and "@created-at" for what is filtered often.
pub struct Listing {
    pub collection: &'static str,
    pub filters: &'static [Filter],
    /// What it may be sorted by besides `created_at` and `updated_at`: the parameter, and a text field that every record
    /// has.
    pub sorts: &'static [(&'static str, &'static str)],
    /// Parameters that its handler reads by itself.
    pub own: &'static [&'static str],
}

/// What a caller asked for.
pub struct Asked {
    collection: &'static str,
    conditions: Vec<(&'static str, Comparison)>,
    sort: Sort,
    pages: Pages,
    /// Entries that stand before the records.
    leading: u32,
    unknown: Unknown,
}

#[derive(Clone, Copy)]
struct Sort {
    field: &'static str,
    descending: bool,
}

/// One page.
pub struct Found {
    pub entries: Vec<Entry>,
    /// Those of the entries before the records that are of this page: the last ones.
    pub leading: u32,
    asked: Asked,
    /// The host ended the page before its limit.
    is_short: bool,
}

/// A list whose records are shown as they are stored.
pub fn list(call: &Call, listing: &Listing) -> Outcome {
    list_as(call, listing, |entry| Ok(entry.body.clone()))
}

/// A list whose records are shown one by one, without a look at others.
pub fn list_as(call: &Call, listing: &Listing, show: impl Fn(&Entry) -> Result<String, Stop>) -> Outcome {
    let found = Asked::of(call, listing)?.find(call)?;
    let shown: Vec<String> = found.entries.iter().map(show).collect::<Result<_, _>>()?;
    found.answer(call, &shown)
}

impl Asked {
    pub fn of(call: &Call, listing: &Listing) -> Result<Asked, Stop> {
        let sort = Sort::of(single(call, "sort")?.unwrap_or("latest"), listing)?;
        let pages = Pages::of(call)?;
        let mut conditions = Vec::new();
        let mut unknown = Vec::new();
        for (name, values) in filters::grouped(call.pairs()) {
            if is_known(name, listing) {
                continue;
            }
            match filters::read(listing.filters, name, &values)? {
                Some(read) => conditions.extend(read),
                None => unknown.push(name),
            }
        }
        check_conditions(conditions.len(), CONDITIONS_MAX)?;
        let unknown = Unknown::of(unknown.into_iter());
        if is_strict(call) && !unknown.is_empty() {
            return Err(Invalid::Unknown { what: "parameters", names: unknown.listed() }.into());
        }
        Ok(Asked { collection: listing.collection, conditions, sort, pages, leading: 0, unknown })
    }

    /// A condition of the handler's own.
    pub fn narrow(&mut self, field: &'static str, comparison: Comparison) {
        self.conditions.push((field, comparison));
    }

    /// The field is this text.
    pub fn narrow_to(&mut self, field: &'static str, text: &str) {
        self.narrow(field, Comparison::Equal(Value::Text(text.to_owned())));
    }

    /// So many entries that are no records come before all records.
    pub fn lead(&mut self, entries: u32) {
        self.leading = entries;
    }

    /// What the filters say, for a handler that finds by an index of its own.
    pub fn search(&self, search: Search) -> Result<Search, Stop> {
        check_conditions(self.conditions.len(), CONDITIONS_MAX + OWN_CONDITIONS_MAX)?;
        Ok(self.conditions.iter().fold(search, |search, (field, how)| search.with(field, how.clone())))
    }

    /// A page of what the handler has found and put in order; `show` gives one JSON text for each.
    pub fn answer_ranked(
        self,
        call: &Call,
        ranked: Vec<Entry>,
        show: impl Fn(&[Entry]) -> Result<Vec<String>, Stop>,
    ) -> Outcome {
        let total = ranked.len();
        let page = ranked.into_iter().skip(self.pages.offset as usize).take(self.pages.limit.entries as usize);
        let entries: Vec<Entry> = page.collect();
        let shown = show(&entries)?;
        self.respond(call, &shown, total.to_string())
    }

    /// `shown`: one JSON text for each entry of the page.
    fn respond(self, call: &Call, shown: &[String], total: String) -> Outcome {
        let body = json::array(shown.iter().map(String::as_str));
        if body.len() > ANSWER_BYTES_MAX {
            return Err(too_large_together());
        }
        let links = self.pages.links(call, u32::try_from(shown.len()).unwrap_or(u32::MAX));
        let mut answer = Answer::ok(body).header("x-total-count", total);
        if !links.is_empty() {
            answer = answer.header("link", links);
        }
        Ok(self.unknown.tell_parameters(self.pages.limit.tell(answer)))
    }

    pub fn find(self, call: &Call) -> Result<Found, Stop> {
        let leading = self.leading.saturating_sub(self.pages.offset).min(self.pages.limit.entries);
        let limit = self.pages.limit.entries - leading;
        if limit == 0 {
            return Ok(Found { entries: Vec::new(), leading, asked: self, is_short: false });
        }
        let offset = self.pages.offset.saturating_sub(self.leading);
        let search = self.conditions(Search::first(limit).offset(offset))?;
        let search =
            if self.sort.descending { search.descending(self.sort.field) } else { search.ascending(self.sort.field) };
        let page = common::find(call, self.collection, &search)?;
        let is_short = page.next.is_some() && page.entries.len() < limit as usize;
        Ok(Found { entries: page.entries, leading, asked: self, is_short })
    }

    fn conditions(&self, search: Search) -> Result<Search, Stop> {
        let search = self.search(search)?;
        // Holds for every record, and lets the index of the sort serve where no filter has one.
        let least = if self.sort.field.starts_with('@') { Value::Integer(0) } else { Value::Text(String::new()) };
        Ok(search.with(self.sort.field, Comparison::AtLeast(least)))
    }

    /// `page`: entries of this one.
    fn total(&self, call: &Call, page: u32) -> Result<String, Stop> {
        // An unfinished page is the last, and says how many there are.
        if page < self.pages.limit.entries && (page > 0 || self.pages.offset == 0) {
            return Ok(self.pages.offset.saturating_add(page).to_string());
        }
        let counted = call.records(self.collection).count(&self.conditions(Search::first(1))?, TOTAL_MAX + 1);
        let total = counted.saturating_add(self.leading);
        Ok(if counted > TOTAL_MAX { [&TOTAL_MAX.to_string(), "+"].concat() } else { total.to_string() })
    }
}

impl Found {
    /// `shown`: one JSON text for each entry, those before the records among them.
    pub fn answer(self, call: &Call, shown: &[String]) -> Outcome {
        // Who counts on by `limit` would miss what a short page leaves out.
        if self.is_short {
            return Err(too_large_together());
        }
        let entries = u32::try_from(shown.len()).unwrap_or(u32::MAX);
        let total = self.asked.total(call, entries)?;
        self.asked.respond(call, shown, total)
    }
}

fn check_conditions(count: usize, most: usize) -> Result<(), Invalid> {
    if count > most {
        return Err(Invalid::TooManyConditions(CONDITIONS_MAX));
    }
    Ok(())
}

/// What a page refers to is more than one answer holds.
pub fn too_large_together() -> Stop {
    Invalid::Not { field: "limit", kind: "smaller: the resources of this page are too large together" }.into()
}

/// Whether somebody else reads it: the page, the sort, the handler; or the host, to whom keys are shown.
fn is_known(name: &str, listing: &Listing) -> bool {
    let common = ["limit", "offset", "page", "sort", "single", STRICT, pages::KEY];
    common.contains(&name) || listing.own.contains(&name)
}

impl Sort {
    /// `field`, `-field`, `field:desc`, `field:asc`, `latest`, `oldest`.
    fn of(text: &str, listing: &Listing) -> Result<Sort, Stop> {
        let (name, descending) = match text {
            "latest" => ("created_at", true),
            "oldest" => ("created_at", false),
            // Its handler sorts so by itself.
            "distance" if listing.own.contains(&"nearby") => ("created_at", true),
            _ => match (text.strip_prefix('-'), text.split_once(':')) {
                (Some(name), _) => (name, true),
                (None, Some((name, "desc"))) => (name, true),
                (None, Some((name, "asc"))) => (name, false),
                _ => (text, false),
            },
        };
        let times = [("created_at", CREATED), ("updated_at", UPDATED)];
        let found = times.iter().chain(listing.sorts).find(|(known, _)| *known == name);
        match found {
            Some((_, field)) => Ok(Sort { field, descending }),
            None => {
                let known: Vec<&str> = times.iter().chain(listing.sorts).map(|(known, _)| *known).collect();
                let why = ["it is none of these: ", &known.join(", "), ", each also with a - before it"].concat();
                Err(errors::invalid(&[Invalid::NotAccepted { field: "sort", why }]))
            }
        }
    }
}
