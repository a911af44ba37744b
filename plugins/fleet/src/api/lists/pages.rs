//! Which page of a list: `limit`, and `offset` or `page`; and the links to its neighbours (RFC 8288).

use tenon_plugin::{Call, Request, Stop};

use crate::api::unknown::percent_encoded;
use crate::rules::invalid::Invalid;

pub const LIMIT_DEFAULT: u32 = 30;
pub const LIMIT_MAX: u32 = 100;
/// Records that a page may skip: further back a filter by date is cheaper for everybody.
const OFFSET_MAX: u32 = 100_000;
/// The parameter that a key may stand in: never told again.
pub const KEY: &str = "api_key";

pub struct Pages {
    pub limit: u32,
    pub offset: u32,
}

impl Pages {
    /// `page` begins with 1 and counts only where there is no `offset`.
    pub fn of(call: &Call) -> Result<Pages, Stop> {
        let limit = whole(call, "limit", (1, LIMIT_MAX))?.unwrap_or(LIMIT_DEFAULT);
        let offset = match whole(call, "offset", (0, OFFSET_MAX))? {
            Some(offset) => offset,
            None => (whole(call, "page", (1, OFFSET_MAX / LIMIT_MAX))?.unwrap_or(1) - 1) * limit,
        };
        Ok(Pages { limit, offset })
    }

    /// `entries`: of this page. A full page may be the last: the next is empty then.
    pub fn links(&self, request: &Request, entries: u32) -> String {
        let mut links = Vec::new();
        let next = self.offset.saturating_add(self.limit);
        if entries >= self.limit && next <= OFFSET_MAX {
            links.push(self.link(request, next, "next"));
        }
        if self.offset > 0 {
            links.push(self.link(request, self.offset.saturating_sub(self.limit), "prev"));
            links.push(self.link(request, 0, "first"));
        }
        links.join(", ")
    }

    fn link(&self, request: &Request, offset: u32, relation: &str) -> String {
        let is_kept = |name: &str| !["limit", "offset", "page", KEY].contains(&name);
        let kept = request.query.iter().filter(|pair| is_kept(&pair.name));
        let kept: String =
            kept.map(|pair| [&percent_encoded(&pair.name), "=", &percent_encoded(&pair.value), "&"].concat()).collect();
        let page = ["limit=", &self.limit.to_string(), "&offset=", &offset.to_string()].concat();
        ["<", &request.path, "?", &kept, &page, ">; rel=\"", relation, "\""].concat()
    }
}

/// A whole number of the query.
pub fn whole(call: &Call, name: &'static str, (least, most): (u32, u32)) -> Result<Option<u32>, Stop> {
    let Some(text) = call.query(name) else { return Ok(None) };
    match text.parse::<u32>() {
        Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
        _ => Err(Invalid::OutOfRange { field: name, least: least.into(), most: most.into() }.into()),
    }
}
