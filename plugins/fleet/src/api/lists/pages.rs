//! Which page of a list: `limit`, and `offset` or `page`; and the links to its neighbours (RFC 8288).
//!
//! A limit that is too large or nought becomes the nearest that is possible (research/fleet 5), which a header tells and a
//! strict caller is refused for.

use tenon_plugin::{Answer, Call, Stop, escape};

use super::filters::single;
use crate::api::unknown::is_strict;
use crate::rules::invalid::Invalid;

pub const LIMIT_DEFAULT: u32 = 30;
pub const LIMIT_MAX: u32 = 100;
/// Records that a page may skip: further back a filter by date is cheaper for everybody.
const OFFSET_MAX: u32 = 100_000;
/// The parameter that a key may stand in: never told again.
pub const KEY: &str = "api_key";

const CHANGED_HEADER: &str = "x-changed-parameters";

/// Entries of a page.
#[derive(Clone, Copy)]
pub struct Limit {
    pub entries: u32,
    /// It is not what was asked for.
    changed: bool,
}

impl Limit {
    /// `default`: where nothing is asked for. A limit below nought is refused: to some servers it means everything.
    pub fn of(call: &Call, default: u32) -> Result<Limit, Stop> {
        let Some(text) = single(call, "limit")? else { return Ok(Limit { entries: default, changed: false }) };
        // What is longer than a number can be is large.
        let is_whole = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let entries = text.parse::<u32>().unwrap_or(u32::MAX).clamp(1, LIMIT_MAX);
        let changed = text.parse() != Ok(entries);
        if !is_whole || changed && is_strict(call) {
            return Err(Invalid::OutOfRange { field: "limit", least: 1.0, most: LIMIT_MAX.into() }.into());
        }
        Ok(Limit { entries, changed })
    }

    pub fn tell(self, answer: Answer) -> Answer {
        if !self.changed {
            return answer;
        }
        answer.header(CHANGED_HEADER, ["limit=", &self.entries.to_string()].concat())
    }
}

pub struct Pages {
    pub limit: Limit,
    pub offset: u32,
}

impl Pages {
    /// `page` begins with 1 and counts only where there is no `offset`.
    pub fn of(call: &Call) -> Result<Pages, Stop> {
        let limit = Limit::of(call, LIMIT_DEFAULT)?;
        let offset = match whole(call, "offset", (0, OFFSET_MAX))? {
            Some(offset) => offset,
            None => (whole(call, "page", (1, OFFSET_MAX / LIMIT_MAX))?.unwrap_or(1) - 1) * limit.entries,
        };
        Ok(Pages { limit, offset })
    }

    /// `entries`: of this page. A full page may be the last: the next is empty then.
    pub fn links(&self, call: &Call, entries: u32) -> String {
        let mut links = Vec::new();
        let next = self.offset.saturating_add(self.limit.entries);
        if entries >= self.limit.entries && next <= OFFSET_MAX {
            links.push(self.link(call, next, "next"));
        }
        if self.offset > 0 {
            links.push(self.link(call, self.offset.saturating_sub(self.limit.entries), "prev"));
            links.push(self.link(call, 0, "first"));
        }
        links.join(", ")
    }

    fn link(&self, call: &Call, offset: u32, relation: &str) -> String {
        let is_kept = |name: &str| !["limit", "offset", "page", KEY].contains(&name);
        let kept = call.pairs().iter().filter(|pair| is_kept(&pair.name));
        let kept: String = kept.map(|pair| [&escape(&pair.name), "=", &escape(&pair.value), "&"].concat()).collect();
        let page = ["limit=", &self.limit.entries.to_string(), "&offset=", &offset.to_string()].concat();
        ["<", call.path(), "?", &kept, &page, ">; rel=\"", relation, "\""].concat()
    }
}

/// A whole number of the query.
pub fn whole(call: &Call, name: &'static str, (least, most): (u32, u32)) -> Result<Option<u32>, Stop> {
    let Some(text) = single(call, name)? else { return Ok(None) };
    match text.parse::<u32>() {
        Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
        _ => Err(Invalid::OutOfRange { field: name, least: least.into(), most: most.into() }.into()),
    }
}
