//! The query of a list of transactions.

use super::reader::Reader;
use crate::rules::invalid::Field;
use crate::rules::kind::Kind;
use crate::rules::limits::{IDENTIFIER_CHARS_MAX, REFERENCE_CHARS_MAX};
use crate::rules::page::Page;
use crate::rules::refusal::Refusal;
use crate::rules::status::Status;

/// As it was sent.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    pub page: Option<String>,
    pub limit: Option<String>,
    pub order: Option<String>,
    pub transaction_status: Option<String>,
    pub kind: Option<String>,
    pub transaction_hash: Option<String>,
    pub reference: Option<String>,
}

/// In which order they come; the newest first where nothing is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    Ascending,
    #[default]
    Descending,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Transactions {
    pub page: Page,
    pub direction: Direction,
    pub status: Option<Status>,
    pub kind: Option<Kind>,
    pub transaction_hash: Option<String>,
    pub reference: Option<String>,
}

pub fn read(raw: &Raw) -> Result<Transactions, Refusal> {
    let mut reader = Reader::default();
    let page = Page::read(raw.page.as_deref(), raw.limit.as_deref());
    let page = page.map_err(|all| all.into_iter().for_each(|one| reader.breaks(one.field, one.rule))).ok();
    let direction = reader.choice(Field("order"), &raw.order, &["ASC", "DESC"], |name| match name {
        "ASC" => Some(Direction::Ascending),
        "DESC" => Some(Direction::Descending),
        _ => None,
    });
    let direction = direction.unwrap_or_default();
    let status = reader.choice(Field("transaction_status"), &raw.transaction_status, &Status::NAMES, Status::of_name);
    let kind = reader.choice(Field("type"), &raw.kind, &Kind::NAMES, Kind::of_name);
    let transaction_hash = reader.text(Field("transaction_hash"), &raw.transaction_hash, 2 * IDENTIFIER_CHARS_MAX);
    let reference = reader.text(Field("reference"), &raw.reference, REFERENCE_CHARS_MAX);
    reader.finish(page.map(|page| Transactions { page, direction, status, kind, transaction_hash, reference }))
}

#[cfg(test)]
mod tests {
    use super::super::samples::{some, wrong};
    use super::*;

    #[test]
    fn a_list_is_the_newest_hundred_where_nothing_is_asked_for() {
        let list = read(&Raw::default()).unwrap();
        assert_eq!((list.page.number, list.page.rows, list.direction), (1, 100, Direction::Descending));
    }

    #[test]
    fn a_list_is_asked_for_in_known_words() {
        let raw = Raw {
            page: some("0"),
            limit: some("1000"),
            order: some("UP"),
            transaction_status: some("done"),
            kind: some("PAYMENT"),
            ..Raw::default()
        };
        assert_eq!(
            wrong(read(&raw)),
            "page whole_number, limit whole_number, order one_of, transaction_status one_of, type one_of"
        );
        assert_eq!(wrong(read(&Raw { order: some("ASC"), transaction_status: some("failed"), ..Raw::default() })), "");
    }
}
