//! The event of each edge (spec/wallet: Events). What the specification names no event for is silent: cancelling, the failures
//! of the gateway, coins for gas.

use super::{Outgoing, Task};
use crate::rules::code::Code;
use crate::rules::event::{Event, Failing};
use crate::rules::step::Step;

pub(super) fn begun(step: &mut Step<Outgoing>) {
    if let Task::Offramp { money, currency, .. } = &step.record.task {
        let event = Event::offramp_processing(&step.record.wallet_id, *money, currency.code());
        step.tell(event);
    }
}

pub(super) fn succeeded(step: &mut Step<Outgoing>) {
    let Outgoing { wallet_id, from, task, hash, .. } = &step.record;
    let hash = hash.as_deref().unwrap_or_default();
    let event = match task {
        Task::Withdraw { money, destination_address } => {
            Event::withdraw_success(wallet_id, *money, destination_address, hash)
        }
        Task::Offramp { money, currency, institution_identifier } => {
            Event::offramp_success(wallet_id, *money, currency.code(), institution_identifier)
        }
        Task::Swap { money, to, settled, .. } => {
            let event = Event::swap_success(wallet_id, *money, to.asset);
            if *settled { event.settled(money.asset, to.asset) } else { event }
        }
        Task::GatewayDeposit { money } => {
            let Some(blockchain) = money.asset.blockchain else { return };
            Event::gateway_deposit_success(wallet_id, *money, blockchain)
        }
        Task::GatewayWithdraw { to, .. } => {
            let (Some(money), Some(blockchain)) = (task.money(), to.asset.blockchain) else { return };
            Event::gateway_withdraw_success(wallet_id, money, blockchain)
        }
        Task::Sweep { money, .. } => Event::swept(wallet_id, from.address_id(), *money, hash),
        Task::Salvage { amount, blockchain } => Event::salvage_success(wallet_id, amount, *blockchain),
        Task::Broadcast { .. } => Event::broadcast_success(wallet_id, hash),
        Task::Fund { .. } => return,
    };
    step.tell(event);
}

pub(super) fn failed(step: &mut Step<Outgoing>, code: Code) {
    let wallet_id = &step.record.wallet_id;
    let failing = match &step.record.task {
        Task::Withdraw { .. } => Failing::Withdraw,
        Task::Offramp { .. } => Failing::Offramp,
        Task::Swap { .. } => Failing::Swap,
        Task::Broadcast { .. } => Failing::Signed,
        Task::Salvage { .. } => Failing::Salvage,
        Task::Sweep { .. } => {
            let event = Event::sweep_failed(wallet_id, step.record.from.address_id(), code);
            step.tell(event);
            return;
        }
        Task::GatewayDeposit { .. } | Task::GatewayWithdraw { .. } | Task::Fund { .. } => return,
    };
    let event = Event::failed(failing, wallet_id, code);
    step.tell(event);
}
