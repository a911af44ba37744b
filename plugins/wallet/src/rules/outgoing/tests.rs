//! Every command in every status, as a table; the postings and the event of each edge; and what holds after any sequence of
//! commands.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::rules::amount::Money;
use crate::rules::asset::{self, Asset};
use crate::rules::blockchain::Blockchain::{Base, Polygon};
use crate::rules::books::{Account, Posting};
use crate::rules::compliance::Currency;
use crate::rules::event::Value;
use proptest::prelude::*;

fn wallet() -> Holder {
    Holder::Wallet("w".into())
}

fn address() -> Holder {
    Holder::Address("a".into())
}

fn usdc(units: u128) -> Money {
    Money::new(asset::find("USDC", Base).unwrap(), Units::new(units))
}

fn to(symbol: &str) -> Destination {
    Destination { asset: asset::find(symbol, Base).unwrap(), holder: Some(wallet()) }
}

fn gas(held: u128) -> Gas {
    Gas { payer: wallet(), held: Money::new(asset::gas(Base), Units::new(held)) }
}

/// Every task, moving a hundred where it moves anything.
fn tasks() -> Vec<Task> {
    let money = usdc(100);
    vec![
        Task::Withdraw { money, destination_address: "0x2".into() },
        Task::Offramp { money, currency: Currency::Ngn, institution_identifier: "OPAYNGPC".into() },
        Task::Swap { money, to: to("DAI"), at_least: Units::new(90), settled: false },
        Task::GatewayDeposit { money },
        Task::GatewayWithdraw { units: Units::new(100), to: to("USDC") },
        Task::Sweep { money, master: wallet() },
        Task::Fund { money, address: address() },
        Task::Salvage { amount: "1".into(), blockchain: Base },
        Task::Broadcast { blockchain: Base },
    ]
}

fn order(id: &str, task: Task) -> Order {
    let from = if matches!(task, Task::Fund { .. }) { wallet() } else { address() };
    Order { id: id.into(), wallet_id: "w".into(), from, task, gas: Some(gas(10)) }
}

fn in_status(task: Task, status: Status) -> Outgoing {
    let begun = |record| step(step(record, Command::Start).unwrap().record, sign("0x1")).unwrap().record;
    let record = accept(order("t", task)).record;
    match status {
        Status::Pending => record,
        Status::Processing => begun(record),
        Status::Cancelled => step(record, Command::Cancel).unwrap().record,
        Status::Success => step(begun(record), settled(3)).unwrap().record,
        Status::Failed => step(begun(record), failed(3)).unwrap().record,
        Status::Incomplete => step(begun(record), Command::Suspend).unwrap().record,
    }
}

fn settled(gas: u128) -> Command {
    Command::Settle(Settled {
        hash: Some("0x1".into()),
        gas: Units::new(gas),
        received: Some(Units::new(95)),
        is_credited: false,
    })
}

fn failed(gas: u128) -> Command {
    Command::Fail { code: Code::WithdrawalFailed, gas: Units::new(gas) }
}

fn sign(hash: &str) -> Command {
    Command::Sign { hash: hash.into() }
}

/// The status that a command leads to, or why it does not.
fn led(record: Outgoing, command: Command) -> &'static str {
    match step(record, command) {
        Ok(step) => step.record.status.name(),
        Err(Refusal::NotPossible { .. }) => "not_possible",
        Err(Refusal::AlreadyDecided) => "already_decided",
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn every_command_in_every_status() {
    let commands = [Command::Start, Command::Cancel, sign("0x1"), settled(3), failed(3), Command::Suspend];
    for (status, expected) in [
        (Status::Pending, "processing cancelled not_possible not_possible not_possible not_possible"),
        (Status::Processing, "processing not_possible processing success failed incomplete"),
        (Status::Success, "success not_possible success success already_decided not_possible"),
        (Status::Failed, "failed not_possible failed already_decided failed not_possible"),
        (Status::Incomplete, "incomplete not_possible incomplete not_possible not_possible incomplete"),
        (Status::Cancelled, "not_possible cancelled not_possible already_decided already_decided not_possible"),
    ] {
        for task in tasks() {
            let record = in_status(task.clone(), status);
            let led: Vec<&str> = commands.iter().map(|command| led(record.clone(), command.clone())).collect();
            assert_eq!(led.join(" "), expected, "{status:?} {task:?}");
        }
    }
}

#[test]
fn a_repeated_command_does_nothing() {
    for (status, command) in [
        (Status::Processing, Command::Start),
        (Status::Cancelled, Command::Cancel),
        (Status::Success, settled(3)),
        (Status::Failed, failed(3)),
        (Status::Incomplete, Command::Suspend),
    ] {
        for task in tasks() {
            let record = in_status(task, status);
            let step = step(record.clone(), command.clone()).unwrap();
            assert_eq!(step, Step::of(record), "{command:?}");
        }
    }
}

fn told(step: &Step<Outgoing>) -> Vec<&'static str> {
    step.events.iter().map(|event| event.name).collect()
}

#[test]
fn every_task_tells_its_own_events() {
    let expected = [
        (&[][..], &["withdraw.success"][..], &["withdraw.failed"][..]),
        (&["offramp.processing"], &["offramp.success"], &["offramp.failed"]),
        (&[], &["swap.success"], &["swap.failed"]),
        (&[], &["gateway.deposit.success"], &[]),
        (&[], &["gateway.withdraw.success"], &[]),
        (&[], &["deposit.swept.success"], &["deposit.swept.failed"]),
        (&[], &[], &[]),
        (&[], &["salvage.success"], &["salvage.failed"]),
        (&[], &["signed.success"], &["signed.failed"]),
    ];
    for (task, (begun, succeeded, not)) in tasks().into_iter().zip(expected) {
        let pending = in_status(task, Status::Pending);
        assert_eq!(told(&step(pending.clone(), Command::Start).unwrap()), begun);
        let processing = in_status(pending.task, Status::Processing);
        assert_eq!(told(&step(processing.clone(), settled(3)).unwrap()), succeeded);
        assert_eq!(told(&step(processing.clone(), failed(3)).unwrap()), not);
        assert!(told(&step(processing, Command::Suspend).unwrap()).is_empty());
    }
}

fn posted(postings: &[Posting]) -> Vec<String> {
    let written = |posting: &Posting| {
        let units = posting.units.to_digits();
        [posting.reason.name(), &units, posting.asset.symbol, &posting.debit.name(), &posting.credit.name()].join(" ")
    };
    postings.iter().map(written).collect()
}

#[test]
fn what_is_needed_is_held_first() {
    let step = accept(order("t", tasks().remove(0)));
    assert_eq!(
        posted(&step.postings),
        ["hold 100 USDC available/address/a held/address/a", "hold_gas 10 ETH available/wallet/w held/wallet/w"]
    );
}

#[test]
fn a_settled_transaction_spends_what_it_held() {
    let gas = ["gas 3 ETH held/wallet/w fees/base", "release_gas 7 ETH held/wallet/w available/wallet/w"];
    let expected: [&[&str]; 9] = [
        &["spend 100 USDC held/address/a external/base"],
        &["spend 100 USDC held/address/a external/bank"],
        &["spend 100 USDC held/address/a external/swap", "receive 95 DAI external/swap available/wallet/w"],
        &["spend 100 USDC held/address/a external/base", "receive 100 USDC external/gateway available/address/a"],
        &["spend 100 USDC held/address/a external/gateway", "receive 100 USDC external/base available/wallet/w"],
        &["spend 100 USDC held/address/a available/wallet/w"],
        &["spend 100 USDC held/wallet/w available/address/a"],
        &[],
        &[],
    ];
    for (task, money) in tasks().into_iter().zip(expected) {
        let step = step(in_status(task, Status::Processing), settled(3)).unwrap();
        assert_eq!(posted(&step.postings), [money, &gas].concat());
    }
}

#[test]
fn a_failed_transaction_gives_back_all_but_the_gas() {
    let step = step(in_status(tasks().remove(0), Status::Processing), failed(3)).unwrap();
    assert_eq!(
        posted(&step.postings),
        [
            "release 100 USDC held/address/a available/address/a",
            "gas 3 ETH held/wallet/w fees/base",
            "release_gas 7 ETH held/wallet/w available/wallet/w"
        ]
    );
}

#[test]
fn gas_beyond_the_hold_is_paid_by_who_pays_the_gas() {
    let step = step(in_status(tasks().remove(0), Status::Processing), settled(15)).unwrap();
    assert_eq!(
        posted(&step.postings)[1..],
        ["gas 10 ETH held/wallet/w fees/base", "gas_beyond 5 ETH available/wallet/w fees/base"]
    );
}

#[test]
fn what_is_bought_on_another_blockchain_arrives_as_a_deposit() {
    let there = Destination { asset: asset::find("USDC", Polygon).unwrap(), holder: Some(wallet()) };
    let task = Task::Swap { money: usdc(100), to: there, at_least: Units::new(90), settled: false };
    let record = in_status(task, Status::Processing);
    assert_eq!(record.fills(), None);
    let step = step(record, settled(0)).unwrap();
    assert_eq!(posted(&step.postings)[0], "spend 100 USDC held/address/a external/swap");
    assert!(step.postings.iter().all(|posting| posting.reason.name() != "receive"));
}

#[test]
fn a_swap_that_brings_too_little_is_incomplete_and_whoever_resumes_it_takes_that() {
    let task = Task::Swap { money: usdc(100), to: to("DAI"), at_least: Units::new(96), settled: true };
    let short = step(in_status(task, Status::Processing), settled(3)).unwrap();
    assert_eq!((short.record.status, short.postings.len()), (Status::Incomplete, 0));
    let resumed = resume(short.record, "t2".into()).unwrap();
    let begun = step(resumed.new.record, Command::Start).unwrap().record;
    assert_eq!(told(&step(begun, settled(3)).unwrap()), ["swap.success"]);
}

#[test]
fn what_a_deposit_has_brought_is_not_brought_again() {
    let gas = ["gas 3 ETH held/wallet/w fees/base", "release_gas 7 ETH held/wallet/w available/wallet/w"];
    let settled = Settled { hash: None, gas: Units::new(3), received: Some(Units::new(95)), is_credited: true };
    for (at, spent) in [(2, "external/swap"), (4, "external/gateway")] {
        let record = in_status(tasks().remove(at), Status::Processing);
        let step = step(record, Command::Settle(settled.clone())).unwrap();
        let spent = ["spend 100 USDC held/address/a ", spent].concat();
        assert_eq!(posted(&step.postings), [&[spent.as_str()], &gas[..]].concat());
    }
    let back = Command::Return { code: Code::SwapFailed, gas: Units::new(3) };
    let step = step(in_status(tasks().remove(2), Status::Processing), back).unwrap();
    assert_eq!(
        (step.record.status, step.record.hold, step.events[0].name),
        (Status::Failed, Hold::Spent, "swap.failed")
    );
    assert_eq!(posted(&step.postings), [&["spend 100 USDC held/address/a external/base"], &gas[..]].concat());
}

#[test]
fn what_was_signed_is_not_signed_otherwise() {
    let record = in_status(tasks().remove(0), Status::Processing);
    assert!(step(record.clone(), sign("0x1")).is_ok());
    assert_eq!(step(record.clone(), sign("0x2")), Err(Refusal::AlreadySent));
    let other =
        Command::Settle(Settled { hash: Some("0x2".into()), gas: Units::ZERO, received: None, is_credited: false });
    assert_eq!(step(record, other), Err(Refusal::AlreadySent));
}

#[test]
fn what_was_not_signed_cannot_have_settled() {
    let unsigned = step(in_status(tasks().remove(0), Status::Pending), Command::Start).unwrap().record;
    assert_eq!(led(unsigned, settled(3)), "not_possible");
}

#[test]
fn a_failed_transaction_is_retried_once_with_a_hold_of_its_own() {
    let linked = retry(in_status(tasks().remove(0), Status::Failed), "t2".into()).unwrap();
    assert_eq!(linked.new.record.continues.as_deref(), Some("t"));
    assert_eq!((linked.new.record.status, linked.new.postings.len()), (Status::Pending, 2));
    assert_eq!(retry(linked.old, "t3".into()), Err(Refusal::AlreadyContinued { by: "t2".into() }));
    let refused = Refusal::NotPossible { status: Status::Success };
    assert_eq!(retry(in_status(tasks().remove(0), Status::Success), "t2".into()), Err(refused));
}

#[test]
fn an_incomplete_transaction_passes_its_hold_and_what_may_have_left() {
    let linked = resume(in_status(tasks().remove(0), Status::Incomplete), "t2".into()).unwrap();
    assert_eq!((linked.old.hold, linked.new.postings.len()), (Hold::Passed, 0));
    assert_eq!(step(linked.new.record.clone(), Command::Cancel), Err(Refusal::AlreadySent));
    let begun = step(linked.new.record, Command::Start).unwrap().record;
    assert_eq!(step(begun, sign("0x2")), Err(Refusal::AlreadySent));
    assert_eq!(resume(linked.old, "t3".into()), Err(Refusal::AlreadyContinued { by: "t2".into() }));
}

#[test]
fn a_batch_has_one_hold_and_each_recipient_ends_its_part() {
    let orders = (1..=3).map(|index| order(&format!("t{index}"), tasks().remove(0))).collect();
    let (records, postings) = accept_batch("b", orders).unwrap();
    assert_eq!(
        posted(&postings),
        ["hold 300 USDC available/address/a held/address/a", "hold_gas 30 ETH available/wallet/w held/wallet/w"]
    );
    assert_eq!(postings[0].id(), "b/hold/base/USDC/available/address/a");
    let ended = step(records[1].clone(), Command::Cancel).unwrap();
    assert_eq!(posted(&ended.postings)[0], "release 100 USDC held/address/a available/address/a");
}

#[test]
fn a_failure_carries_its_code() {
    let command = Command::Fail { code: Code::OfframpFailed, gas: Units::ZERO };
    let step = step(in_status(tasks().remove(1), Status::Processing), command).unwrap();
    assert!(step.events[0].data.contains(&("error_code", Value::Text("OFFRAMP_FAILED".into()))));
    assert_eq!(step.record.error_code, Some(Code::OfframpFailed));
}

#[test]
fn gas_that_the_master_promised_is_held_by_the_address_once_it_has_the_coins() {
    let freed = give_gas_back(in_status(tasks().remove(0), Status::Processing));
    assert_eq!(posted(&freed.postings), ["release_gas 10 ETH held/wallet/w available/wallet/w"]);
    assert_eq!(give_gas_back(freed.record.clone()).postings.len(), 0);
    let held = take_gas(freed.record, gas(8).held);
    assert_eq!(posted(&held.postings), ["hold_gas 8 ETH available/address/a held/address/a"]);
    assert_eq!(take_gas(held.record.clone(), gas(8).held).postings.len(), 0);
    let settled = step(held.record, settled(3)).unwrap();
    assert_eq!(
        posted(&settled.postings)[1..],
        ["gas 3 ETH held/address/a fees/base", "release_gas 5 ETH held/address/a available/address/a"]
    );
}

fn commands() -> impl Strategy<Value = Command> {
    prop_oneof![
        Just(Command::Start),
        Just(Command::Cancel),
        Just(sign("0x1")),
        Just(sign("0x2")),
        (0u128..20).prop_map(settled),
        (0u128..20).prop_map(failed),
        (0u128..20).prop_map(|gas| Command::Return { code: Code::SwapFailed, gas: Units::new(gas) }),
        Just(Command::Suspend),
    ]
}

proptest! {
    #[test]
    fn no_sequence_of_commands_ends_a_hold_twice_or_loses_money(
        which in 0usize..9,
        sequence in prop::collection::vec((commands(), 0u8..8), 0..40)
    ) {
        let mut books: BTreeMap<(Account, Asset), i128> = BTreeMap::new();
        let mut ids = BTreeSet::new();
        let mut book = |postings: Vec<Posting>| {
            for posting in postings {
                assert!(ids.insert(posting.id()), "posted twice: {posting:?}");
                let units: i128 = posting.units.to_digits().parse().unwrap();
                *books.entry((posting.debit, posting.asset)).or_default() -= units;
                *books.entry((posting.credit, posting.asset)).or_default() += units;
            }
        };
        let first = accept(order("t0", tasks().remove(which)));
        book(first.postings);
        let mut record = first.record;
        for (at, (command, chance)) in sequence.into_iter().enumerate() {
            // Now and then somebody goes on from where no edge leads out.
            let linked = match (chance, record.status) {
                (0, Status::Failed) => retry(record.clone(), format!("t{}", at + 1)).ok(),
                (0, Status::Incomplete) => resume(record.clone(), format!("t{}", at + 1)).ok(),
                _ => None,
            };
            let taken = linked.map(|linked| linked.new).or_else(|| step(record.clone(), command).ok());
            if let Some(taken) = taken {
                prop_assert!(taken.moves.iter().all(|(from, to)| from.may_become(*to)));
                book(taken.postings);
                record = taken.record;
            }
        }
        let held: i128 = books.iter().filter(|((account, _), _)| matches!(account, Account::Held(_))).map(|(_, sum)| sum).sum();
        let money: i128 = record.task.money().map_or(0, |money| money.units.to_digits().parse().unwrap());
        prop_assert_eq!(held, if record.hold == Hold::Held { money + 10 } else { 0 });
        let mut sums: BTreeMap<Asset, i128> = BTreeMap::new();
        books.iter().for_each(|((_, asset), units)| *sums.entry(*asset).or_default() += units);
        prop_assert!(sums.values().all(|sum| *sum == 0));
    }
}
