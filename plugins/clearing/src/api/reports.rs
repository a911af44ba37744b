//! /v1/clearing/reports: what a day came to, and what somebody should look at.

use serde::Serialize;
use serde_json::value::RawValue;
use tenon_plugin::records::Search;
use tenon_plugin::{Answer, Call, Outcome, Stop, json};

use super::listing;
use crate::records::{self, Found, Transaction, View};
use crate::rules::concern::Concern;
use crate::rules::inbound::Inbound;
use crate::rules::limits::{RECONCILED_BYTES, RECONCILED_MAX};
use crate::rules::outbound::Outbound;
use crate::rules::report::{Direction, Key, Reconciliation, Row, Standing, Total};
use crate::settings::{self, Side};
use crate::words;

const LIST: &str = "rows";

/// Nobody needs to know more exactly how much there is to do.
const COUNTED_MAX: u32 = 10_000;

/// Payments of one look into the database.
const LOOK_MAX: u32 = 500;

#[derive(Serialize)]
struct RowText<'a> {
    day: String,
    payment_scheme: &'a str,
    currency: &'a str,
    direction: &'a str,
    received: TotalText,
    outstanding: TotalText,
    approved: TotalText,
    unsettled: TotalText,
    completed: TotalText,
    returned: TotalText,
    rejected: TotalText,
    timed_out: TotalText,
    failed: TotalText,
}

#[derive(Serialize)]
struct TotalText {
    count: u64,
    /// In major units, exactly.
    value: Box<RawValue>,
}

/// Totals by day, scheme, currency and direction of the payments received between `from` and `to`. A page adds up a few
/// thousand; where there is a `next`, the rows of all pages are to be added.
pub fn reconciliation(call: &Call) -> Outcome {
    let side = staff_side(call)?;
    let mut reconciliation = Reconciliation::default();
    let next = match side {
        Side::Partner => add_up::<Inbound>(call, &mut reconciliation, Standing::of_inbound)?,
        Side::Platform => add_up::<Outbound>(call, &mut reconciliation, Standing::of_outbound)?,
    };
    let rows = reconciliation.rows().map(|(key, row)| json::to_text(&row_text(key, row)?));
    listing::answer(call, LIST, &rows.collect::<Result<Vec<_>, _>>()?, next.as_deref())
}

/// How many transactions somebody should look at, and why.
pub fn concerns(call: &Call) -> Outcome {
    #[derive(Serialize)]
    struct Counts {
        overdue: u32,
        undelivered: u32,
        undecided: u32,
        contradicted: u32,
    }
    let side = staff_side(call)?;
    let count = |concern| records::count_concern(call, side, concern, COUNTED_MAX);
    Ok(Answer::ok(json::to_text(&Counts {
        overdue: count(Concern::Overdue),
        undelivered: count(Concern::Undelivered),
        undecided: count(Concern::Undecided),
        contradicted: count(Concern::Contradicted),
    })?))
}

/// A report is about everybody's payments.
fn staff_side(call: &Call) -> Result<Side, Stop> {
    let side = settings::load(call)?.side;
    let is_partner = side == Side::Platform && records::client_partner(call)?.is_some();
    if is_partner { Err(words::forbidden()) } else { Ok(side) }
}

/// Where the next page begins.
fn add_up<R: View>(
    call: &Call,
    reconciliation: &mut Reconciliation,
    standing: impl Fn(&R) -> Standing,
) -> Result<Option<String>, Stop> {
    let mut after = listing::after(call, LIST)?;
    let (mut left, mut read_bytes) = (RECONCILED_MAX, 0);
    while left > 0 && read_bytes < RECONCILED_BYTES {
        let search = Search::first(left.min(LOOK_MAX)).ascending("@created-at");
        let search = after.iter().fold(listing::within(call, search)?, |search, cursor| search.after(cursor.clone()));
        let Found { transactions, next, bytes } = records::find_transactions::<R>(call, &search)?;
        read_bytes += bytes;
        for Transaction { record, kept, .. } in &transactions {
            reconciliation.add(record.payment(), standing(record), kept.received_ms);
        }
        left = left.saturating_sub(u32::try_from(transactions.len()).unwrap_or(u32::MAX));
        if next.is_none() || transactions.is_empty() {
            return Ok(next);
        }
        after = next;
    }
    Ok(after)
}

fn row_text<'a>(key: &Key, row: &Row) -> Result<RowText<'a>, Stop> {
    let decimals = key.currency.decimals();
    let became = |standing| total_text(row.became(standing), decimals);
    Ok(RowText {
        day: key.day.to_text(),
        payment_scheme: key.scheme.name(),
        currency: key.currency.code(),
        direction: if key.direction == Direction::Credit { "credit" } else { "debit" },
        received: total_text(row.received, decimals)?,
        outstanding: became(Standing::Outstanding)?,
        approved: became(Standing::Approved)?,
        unsettled: became(Standing::Unsettled)?,
        completed: became(Standing::Completed)?,
        returned: became(Standing::Returned)?,
        rejected: became(Standing::Rejected)?,
        timed_out: became(Standing::TimedOut)?,
        failed: became(Standing::Failed)?,
    })
}

fn total_text(total: Total, decimals: u32) -> Result<TotalText, Stop> {
    let value = RawValue::from_string(major(total.minor, decimals as usize));
    Ok(TotalText { count: total.count, value: value.map_err(|error| Stop::fault(error.to_string()))? })
}

/// 1234 with two decimals is "12.34".
fn major(minor: u128, decimals: usize) -> String {
    let digits = format!("{minor:0>width$}", width = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    if fraction.is_empty() { whole.to_owned() } else { [whole, ".", fraction].concat() }
}

#[cfg(test)]
mod tests {
    #[test]
    fn totals_are_written_exactly() {
        for (minor, decimals, expected) in [
            (0, 2, "0.00"),
            (5, 2, "0.05"),
            (1_234, 2, "12.34"),
            (1_234, 0, "1234"),
            (u128::MAX, 3, "340282366920938463463374607431768211.455"),
        ] {
            assert_eq!(super::major(minor, decimals), expected);
        }
    }
}
