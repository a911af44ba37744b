//! What a bank has made of a virtual account: told after each order, by a callback, or looked up until it is known.

use tenon_plugin::tasks::{FiredTask, Outcome, TaskOutcome, Verdict};
use tenon_plugin::{Call, Stop, Task, task};

use crate::api::virtual_accounts::tell;
use crate::providers::accounts::{DESTINATION, Shown};
use crate::providers::client::{self, Reply};
use crate::records::virtual_accounts::{self as records, VirtualAccount, state_named};
use crate::rules::virtual_account::{AccountState, Command, step};

pub const TASKS: &[Task] = &[task("virtual-account", told)];

/// Until a bank that thinks about it is asked again.
const PAUSE_MS: u64 = 60_000;
/// Characters of what a bank says that are kept.
const TEXT_CHARS_MAX: usize = 128;

fn told(call: &Call, task: &FiredTask) -> TaskOutcome {
    let id = task.key.split('/').next().unwrap_or_default();
    let Some(mut account) = records::load(call, id)? else { return Ok(Verdict::Done) };
    let later = call.now().saturating_add(PAUSE_MS);
    let reply = match &task.outcome {
        Some(Outcome::Answered(response)) => client::read(response),
        Some(_) => Reply::Silent,
        None => client::ask(call, DESTINATION, &["/v1/virtual-accounts/", &account.id].concat(), None)?,
    };
    match reply {
        Reply::Good(text) => match serde_json::from_str(&text) {
            Ok(shown) => apply(call, &mut account, shown, task)?,
            Err(_) => look_again(call, &account, later),
        },
        // It will never be one, where the bank has not heard of it.
        Reply::Refused { .. } if account.body.state() == AccountState::Requested => {
            account.body.set_state(AccountState::Rejected);
            records::save(call, &account)?;
        }
        Reply::Refused { .. } => {}
        Reply::Silent if task.outcome.is_none() => return Ok(Verdict::Later(later)),
        Reply::Silent => look_again(call, &account, later),
    }
    Ok(Verdict::Done)
}

fn look_again(call: &Call, account: &VirtualAccount, at_ms: u64) {
    call.tasks().schedule("virtual-account", &account.id, at_ms, "{}");
}

/// After the answer to a change another one may be on its way: only who looks it up tells it again.
fn apply(call: &Call, account: &mut VirtualAccount, shown: Shown, task: &FiredTask) -> Result<(), Stop> {
    let (here, there) = (account.body.state(), state_named(&shown.status));
    let change = match (here, there) {
        (AccountState::Inactive, Some(AccountState::Active)) => Some("deactivate"),
        (AccountState::Active, Some(AccountState::Inactive)) => Some("activate"),
        _ => None,
    };
    match change {
        Some(change) if task.outcome.is_none() => tell(call, account, change, "{}".to_owned()),
        Some(_) => look_again(call, account, call.now().saturating_add(PAUSE_MS)),
        None => {}
    }
    let command = match there {
        Some(AccountState::Active) if here == AccountState::Inactive => None,
        Some(AccountState::Active) => Some(Command::Open),
        Some(AccountState::Rejected) => Some(Command::Reject),
        Some(AccountState::Requested) => {
            look_again(call, account, call.now().saturating_add(PAUSE_MS));
            None
        }
        Some(AccountState::Inactive) | None => None,
    };
    if let Some(next) = command.and_then(|command| step(account.body.state(), command)) {
        account.body.set_state(next);
    }
    let short = |text: Option<String>| text.map(|text| text.chars().take(TEXT_CHARS_MAX).collect());
    account.body.account_name = short(shown.account_name);
    account.body.account_number = short(shown.account_number);
    account.body.bank_code = short(shown.bank_code);
    account.body.bank_name = short(shown.bank_name);
    records::save(call, account)
}
