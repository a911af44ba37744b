//! A driver who goes away: his orders that were not handed to him yet are nobody's again, and the ad-hoc ones offered to all.
//!
//! Invariant: no open order points at a driver who is gone.

use tenon_plugin::records::{Comparison, Search, Value};
use tenon_plugin::{Call, Stop};

use super::moving::Moving;
use crate::records::orders;
use crate::rules::progress::Command;
use crate::rules::refusal::Refusal;

/// Open orders that are taken from one driver in one call.
const RELEASED_MAX: usize = 100;

/// Refused while he has one to carry out.
pub fn release(call: &Call, driver: &str) -> Result<(), Stop> {
    let open = Search::first(RELEASED_MAX as u32)
        .is("driver_assigned", driver)
        .with("open", Comparison::Equal(Value::Boolean(true)));
    let page = orders::find(call, &open)?;
    if page.next.is_some() {
        return Err(Refusal::TooManyOrders.into());
    }
    for entry in &page.entries {
        let mut moving = Moving::load(call, entry)?;
        let progress = moving.progress();
        if progress.is_started() || progress.is_dispatched() && !progress.adhoc {
            return Err(Refusal::OnTheWay.into());
        }
        moving.tell_changes();
        moving.ask(Command::Assign(None))?;
        moving.finish()?;
    }
    Ok(())
}
