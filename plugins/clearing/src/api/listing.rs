//! What all lists have in common: pages by cursor, newest first, an object with the list and the `next` page.
//!
//! Invariant: a cursor begins with the name of its list and the key of its filters, and is accepted by that list with those
//! filters alone.

use tenon_plugin::records::{Comparison, Search, Value};
use tenon_plugin::{Answer, Call, Outcome, Pair, Stop, json, time};

use crate::{audit, words};

const LIMIT_DEFAULT: u32 = 50;
pub const LIMIT_MAX: u32 = 200;
const DAY_MS: u64 = 86_400_000;
const CURSOR_CHARS_MAX: usize = 1_000;
/// Behind the name of the list, and behind the key of its filters.
const SEPARATOR: char = '.';
/// Parameters that say which part of a list is read: all others are its filters.
const POSITION: [&str; 2] = ["after", "limit"];
/// Characters of the key of filters: two selections of one list do not share a key by chance.
const FILTERS_KEY_CHARS: usize = 12;

/// Reads `limit` and `after` of the query. `list` is the name of the list in the answer.
pub fn page(call: &Call, list: &str) -> Result<Search, Stop> {
    let search = Search::first(limit(call)?).descending("@created-at");
    Ok(match after(call, list)? {
        Some(cursor) => search.after(cursor),
        None => search,
    })
}

pub fn limit(call: &Call) -> Result<u32, Stop> {
    let Some(text) = call.query("limit") else { return Ok(LIMIT_DEFAULT) };
    let limit = text.parse().ok().filter(|limit| (1..=LIMIT_MAX).contains(limit));
    limit.ok_or_else(|| words::wrong("limit", "must be between 1 and 200"))
}

/// Where a page goes on: the `next` of the one before, of the same list with the same filters.
pub fn after(call: &Call, list: &str) -> Result<Option<String>, Stop> {
    let Some(cursor) = cursor(call)? else { return Ok(None) };
    let own = cursor.strip_prefix(list).and_then(|rest| rest.strip_prefix(SEPARATOR));
    let parts = own.and_then(|own| own.split_once(SEPARATOR)).filter(|(_, place)| !place.is_empty());
    let (filters, place) = parts.ok_or_else(no_cursor)?;
    if filters != filters_key(call)? {
        return Err(words::wrong("after", "must be sent with the filters of the page that ended there"));
    }
    Ok(Some(place.to_owned()))
}

/// A key of what the request selects: the parameters of its path, and the filters of its query in any order.
fn filters_key(call: &Call) -> Result<String, Stop> {
    let request = call.request();
    let is_filter = |pair: &&Pair| !POSITION.contains(&pair.name.as_str());
    let selecting = request.parameters.iter().chain(request.query.iter().filter(is_filter));
    let mut filters: Vec<(&str, &str)> = selecting.map(|pair| (pair.name.as_str(), pair.value.as_str())).collect();
    filters.sort_unstable();
    let mut key = audit::hash(json::to_text(&filters)?.as_bytes());
    key.truncate(FILTERS_KEY_CHARS);
    Ok(key)
}

/// `after` as it was sent.
pub fn cursor<'a>(call: &Call<'a>) -> Result<Option<&'a str>, Stop> {
    let Some(cursor) = call.query("after").filter(|cursor| !cursor.is_empty()) else { return Ok(None) };
    if cursor.chars().count() > CURSOR_CHARS_MAX || cursor.contains('\0') {
        return Err(no_cursor());
    }
    Ok(Some(cursor))
}

fn no_cursor() -> Stop {
    words::wrong("after", "must be where a page of this list ended")
}

/// Created between `from` and `to` (days or times; the day of `to` is included). Always a condition, so that every other
/// filter is served by the time.
pub fn within(call: &Call, search: Search) -> Result<Search, Stop> {
    let bound = |name: &str| match call.query(name) {
        Some(text) => time::parse(text)
            .map(|ms| Some((ms, time::is_date(text))))
            .ok_or_else(|| words::wrong(name, "must be a day or a time, like 2026-05-07 or 2026-05-07T08:30:00Z")),
        None => Ok(None),
    };
    let integer = |ms: u64| Value::Integer(i64::try_from(ms).unwrap_or(i64::MAX));
    let from_ms = bound("from")?.map_or(0, |(ms, _)| ms);
    let search = search.with("@created-at", Comparison::AtLeast(integer(from_ms)));
    Ok(match bound("to")? {
        Some((ms, is_date)) => {
            let end_ms = if is_date { ms.saturating_add(DAY_MS - 1) } else { ms };
            search.with("@created-at", Comparison::AtMost(integer(end_ms)))
        }
        None => search,
    })
}

/// `{"NAME": [...], "next": CURSOR or null}`.
pub fn answer(call: &Call, name: &str, texts: &[String], next: Option<&str>) -> Outcome {
    let list = json::array(texts.iter().map(String::as_str));
    let next = match next {
        Some(cursor) => Some(format!("{name}{SEPARATOR}{}{SEPARATOR}{cursor}", filters_key(call)?)),
        None => None,
    };
    Ok(Answer::ok(["{\"", name, "\":", &list, ",\"next\":", &json::to_text(&next)?, "}"].concat()))
}
