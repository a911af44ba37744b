//! The fields of a body, one by one: the first that is wrong is named.

use tenon_plugin::json::Object;
use tenon_plugin::records::Search;
use tenon_plugin::{Call, Stop};

use crate::rules::amount::Units;
use crate::rules::limits::{
    ADDRESS_CHARS_MAX, CURSOR_CHARS_MAX, ID_CHARS_MAX, PAGE_ROWS, PAGE_ROWS_MAX, TEXT_CHARS_MAX,
};
use crate::words;

pub struct Form<'a> {
    body: Object<'a>,
    /// Stands before the name of each field: "from.".
    place: &'static str,
}

impl<'a> Form<'a> {
    pub fn new(call: &'a Call) -> Result<Form<'a>, Stop> {
        Ok(Form { body: call.object()?, place: "" })
    }

    pub fn wrong(&self, field: &str, must: &str) -> Stop {
        words::wrong(&[self.place, field].concat(), must)
    }

    /// A text of one line; absent or null is `None`.
    pub fn optional(&self, field: &str, characters_max: usize) -> Result<Option<String>, Stop> {
        let text = self.body.text(field).map_err(|_| self.wrong(field, "must be a text"))?;
        let Some(text) = text else { return Ok(None) };
        if text.trim().is_empty() {
            return Err(self.wrong(field, "must not be blank"));
        }
        if text.chars().count() > characters_max || text.chars().any(char::is_control) {
            let most = characters_max.to_string();
            return Err(self.wrong(field, &["must be one line of at most ", &most, " characters"].concat()));
        }
        Ok(Some(text))
    }

    pub fn text(&self, field: &str, characters_max: usize) -> Result<String, Stop> {
        self.optional(field, characters_max)?.ok_or_else(|| self.wrong(field, "is required"))
    }

    /// A name, a reference, an identifier.
    pub fn short(&self, field: &str) -> Result<String, Stop> {
        self.text(field, TEXT_CHARS_MAX)
    }

    /// The customer's id.
    pub fn id(&self) -> Result<String, Stop> {
        let id = self.text("id", ID_CHARS_MAX)?;
        if is_id(&id) { Ok(id) } else { Err(self.wrong("id", "may have letters, digits and -_. only")) }
    }

    /// Above zero, of something with so many decimals.
    pub fn amount(&self, field: &str, decimals: u32) -> Result<Units, Stop> {
        let text = self.text(field, TEXT_CHARS_MAX)?;
        let must = || {
            let most = decimals.to_string();
            ["must be a decimal text above zero with at most ", &most, " decimals"].concat()
        };
        Units::parse(&text, decimals).ok_or_else(|| self.wrong(field, &must()))
    }

    /// As the blockchain writes it.
    pub fn address(&self, call: &Call, field: &str, blockchain: &str) -> Result<String, Stop> {
        let text = self.text(field, ADDRESS_CHARS_MAX)?;
        let address = call.keyring().read_address(blockchain, &text);
        address.ok_or_else(|| self.wrong(field, "must be an address of this blockchain"))
    }

    /// An object inside of the body.
    pub fn inner(&self, field: &str, place: &'static str) -> Result<Form<'_>, Stop> {
        let text = self.body.given(field).ok_or_else(|| self.wrong(field, "is required"))?;
        let body = Object::parse(text).map_err(|_| self.wrong(field, "must be an object"))?;
        Ok(Form { body, place })
    }

    /// A number without sign or decimals.
    pub fn count(&self, field: &str) -> Result<u32, Stop> {
        let count = self.body.read::<u32>(field).ok().flatten();
        count.ok_or_else(|| self.wrong(field, "must be a whole number"))
    }

    /// A list, each member as its JSON text.
    pub fn list(&self, field: &str) -> Result<Vec<Box<serde_json::value::RawValue>>, Stop> {
        let list = self.body.read(field).ok().flatten();
        list.ok_or_else(|| self.wrong(field, "must be a list"))
    }
}

impl<'a> Form<'a> {
    /// A member of a list.
    pub fn member(text: &'a str, place: &'static str) -> Result<Form<'a>, Stop> {
        let body = Object::parse(text).map_err(|_| words::wrong(place, "must be a list of objects"))?;
        Ok(Form { body, place: "entries." })
    }
}

pub fn is_id(text: &str) -> bool {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    is_plain && (1..=ID_CHARS_MAX).contains(&text.len())
}

/// An id of the path; what cannot be one is not found.
pub fn parameter<'a>(call: &Call<'a>, name: &str) -> Result<&'a str, Stop> {
    Some(call.parameter(name)).filter(|text| is_id(text)).ok_or_else(words::not_found)
}

/// Of the query: `limit` and `after`.
pub fn page(call: &Call) -> Result<Search, Stop> {
    let limit = match call.query("limit") {
        Some(text) => text.parse().ok().filter(|limit| (1..=PAGE_ROWS_MAX).contains(limit)),
        None => Some(PAGE_ROWS),
    };
    let search = Search::first(limit.ok_or_else(|| words::wrong("limit", "must be between 1 and 100"))?);
    match call.query("after").filter(|after| !after.is_empty()) {
        None => Ok(search),
        Some(after) if after.chars().count() <= CURSOR_CHARS_MAX && !after.contains('\0') => {
            Ok(search.after(after.to_owned()))
        }
        Some(_) => Err(words::wrong("after", "must be where a page of this list ended")),
    }
}
