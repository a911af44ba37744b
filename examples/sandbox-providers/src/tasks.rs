//! What falls due: names of tasks, what they carry, and who does them.

use serde::{Deserialize, Serialize};
use tenon_plugin::tasks::{FiredTask, Task, TaskOutcome, Verdict, task};
use tenon_plugin::{Call, json};

use crate::rules::order::Way;
use crate::{callbacks, delivery, intake, records};

pub const DEPOSIT_ARRIVED: &str = "deposit-arrived";
pub const DEPOSIT_MISSING: &str = "deposit-missing";
pub const PAY_OUT: &str = "pay-out";
pub const DELIVER: &str = "deliver";
pub const COINS_GIVEN: &str = "coins-given";
pub const COINS_CAME: &str = "coins-came";
pub const DELIVERY_SENT: &str = "delivery-sent";
pub const DELIVERY_DONE: &str = "delivery-done";
pub const CALLBACK_TOLD: &str = "callback-told";
pub const FORGET_QUOTE: &str = "forget-quote";
pub const CLEAR_ENTRIES: &str = "clear-entries";

pub const TASKS: &[Task] = &[
    task(DEPOSIT_ARRIVED, intake::arrived),
    task(DEPOSIT_MISSING, intake::missing),
    task(PAY_OUT, intake::pay_out),
    task(DELIVER, delivery::deliver),
    task(COINS_GIVEN, delivery::coins_given),
    task(COINS_CAME, delivery::coins_came),
    task(DELIVERY_SENT, delivery::sent),
    task(DELIVERY_DONE, delivery::done),
    task(CALLBACK_TOLD, callbacks::told),
    task(FORGET_QUOTE, forget_quote),
    task(CLEAR_ENTRIES, clear_entries),
];

/// Which order.
#[derive(Serialize, Deserialize)]
pub struct Of {
    pub order: String,
}

/// Which attempt of which delivery; an older one is not looked at any more.
#[derive(Clone, Serialize, Deserialize)]
pub struct Place {
    pub order: String,
    pub way: Way,
    pub attempt: u32,
}

/// Entries that count no more.
#[derive(Serialize, Deserialize)]
pub struct Stale {
    pub list: String,
    pub load: String,
}

fn forget_quote(call: &Call, task: &FiredTask) -> TaskOutcome {
    records::forget_quote(call, &task.key)?;
    Ok(Verdict::Done)
}

fn clear_entries(call: &Call, task: &FiredTask) -> TaskOutcome {
    let stale: Stale = json::from_text(&task.payload)?;
    if records::clear_entries(call, &stale.list, &stale.load)? {
        records::drop_load(call, &stale.list, &stale.load)?;
    }
    Ok(Verdict::Done)
}
