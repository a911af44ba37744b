//! What falls due: transactions that are taken up, what became of them, what arrives.
//!
//! A task may run again, and finds by the records what is done already; one that comes too late is over without a change.

pub mod gateways;
pub mod incoming;
pub mod outgoing;
pub mod providing;
pub mod screening;
pub mod settling;
pub mod spreading;
pub mod sweeping;
pub mod virtual_accounts;

use tenon_plugin::{Task, count, join};

const LISTS: &[&[Task]] = &[
    outgoing::TASKS,
    incoming::TASKS,
    sweeping::TASKS,
    spreading::TASKS,
    screening::TASKS,
    providing::TASKS,
    gateways::TASKS,
    virtual_accounts::TASKS,
    settling::TASKS,
];

pub const TASKS: &[Task] = &join::<Task, { count(LISTS) }>(LISTS);
