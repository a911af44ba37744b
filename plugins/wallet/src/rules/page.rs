//! Pages of lists (spec/wallet: Endpoints, Response envelope): which rows a request asks for, and `meta`, always complete.

use super::invalid::{Field, Invalid, Rule};
use super::limits::{PAGE_DEFAULT, PAGE_OFFSET_MAX, PAGE_ROWS};

pub const PAGE: Field = Field("page");
pub const LIMIT: Field = Field("limit");

/// Counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    pub number: u64,
    pub rows: u64,
}

/// meta of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    pub total_items: u64,
    pub item_count: u64,
    pub items_per_page: u64,
    pub total_pages: u64,
    pub current_page: u64,
}

impl Page {
    /// The texts of the query, where they are given.
    pub fn read(page: Option<&str>, limit: Option<&str>) -> Result<Page, Vec<Invalid>> {
        let rows = whole(LIMIT, limit, PAGE_ROWS, PAGE_ROWS);
        let last = PAGE_OFFSET_MAX / rows.as_ref().map_or(PAGE_ROWS, |rows| *rows);
        let number = whole(PAGE, page, PAGE_DEFAULT, last);
        match (number, rows) {
            (Ok(number), Ok(rows)) => Ok(Page { number, rows }),
            (number, rows) => Err([number.err(), rows.err()].into_iter().flatten().collect()),
        }
    }

    /// Rows in front of it.
    pub fn offset(self) -> u64 {
        self.number.saturating_sub(1).saturating_mul(self.rows)
    }

    /// A list of nothing has no page; a page behind the last one is empty and says so.
    pub fn meta(self, total_items: u64) -> Meta {
        Meta {
            total_items,
            item_count: total_items.saturating_sub(self.offset()).min(self.rows),
            items_per_page: self.rows,
            total_pages: total_items.div_ceil(self.rows.max(1)),
            current_page: self.number,
        }
    }
}

fn whole(field: Field, text: Option<&str>, default: u64, max: u64) -> Result<u64, Invalid> {
    let Some(text) = text else { return Ok(default) };
    // A sign is not a digit, though the standard library takes "+1".
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|number| digits && (1..=max).contains(number));
    number.ok_or(field.breaks(Rule::NotWholeNumber { min: 1, max }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(page: Option<&str>, limit: Option<&str>, expected: Option<(u64, u64)>) {
        let read = Page::read(page, limit).ok().map(|page| (page.number, page.rows));
        assert_eq!(read, expected, "{page:?} {limit:?}");
    }

    #[test]
    fn the_first_hundred_rows_are_the_default() {
        check(None, None, Some((1, 100)));
        check(Some("3"), Some("20"), Some((3, 20)));
        check(None, Some("100"), Some((1, 100)));
    }

    #[test]
    fn a_page_is_a_whole_number_within_its_limits() {
        for text in ["0", "-1", "+1", "1.0", "", " 1", "x", "99999999999999999999", "10001"] {
            check(Some(text), None, None);
        }
        for text in ["0", "101", "-1"] {
            check(None, Some(text), None);
        }
        assert_eq!(Page::read(Some("x"), Some("y")).unwrap_err().len(), 2);
    }

    #[test]
    fn meta_is_complete() {
        let meta = |number, total| Page { number, rows: 20 }.meta(total);
        let expected = |total_items, item_count, total_pages, current_page| Meta {
            total_items,
            item_count,
            items_per_page: 20,
            total_pages,
            current_page,
        };
        assert_eq!(meta(1, 0), expected(0, 0, 0, 1));
        assert_eq!(meta(1, 20), expected(20, 20, 1, 1));
        assert_eq!(meta(2, 21), expected(21, 1, 2, 2));
        assert_eq!(meta(9, 21), expected(21, 0, 2, 9));
    }

    proptest! {
        #[test]
        fn the_pages_together_have_every_row(total in 0u64..5_000, rows in 1u64..=100) {
            let pages = Page { number: 1, rows }.meta(total).total_pages;
            let counted: u64 = (1..=pages).map(|number| Page { number, rows }.meta(total).item_count).sum();
            prop_assert_eq!(counted, total);
        }
    }
}
