//! /v1/gateway: one balance of USDC, which lies on no blockchain.

use serde_json::{Map, json};
use tenon_plugin::ledger::{LedgerRefusal, Transfer};
use tenon_plugin::{Answer, Call, Outcome, Stop, json as text};

use super::form::Form;
use crate::rules::amount::Units;
use crate::rules::fate::{self, Fate};
use crate::rules::limits::GATEWAY_INDEX;
use crate::rules::order::{Asset, Delivery, Kind, Order, Reason, Status, Way};
use crate::words::{self, No};
use crate::{delivery, intake, records};

/// Where it works.
const BLOCKCHAINS: [&str; 6] = ["ethereum", "base", "polygon", "arbitrum", "optimism", "avalanche"];
const USDC: &str = "USDC";
/// Of the balance, and of USDC on each of these blockchains.
const DECIMALS: u32 = 6;
const MINIMUM: &str = "0.01";
const POOL: &str = "gateway/pool";
/// What was burned and is minted.
const BURNED: &str = "gateway/burned";

pub fn list_networks(call: &Call) -> Outcome {
    let served = BLOCKCHAINS.iter().filter(|blockchain| super::asset(call, blockchain, USDC).is_ok());
    let networks: Vec<_> = served
        .map(|blockchain| {
            let contract = call.keyring().account(blockchain, GATEWAY_INDEX).address;
            json!({ "blockchain": blockchain, "contract_address": contract, "minimum_amount": MINIMUM })
        })
        .collect();
    Ok(Answer::ok(text::to_text(&json!({ "asset": USDC, "networks": networks }))?))
}

pub fn balance(call: &Call) -> Outcome {
    let digits = call.ledger().balance(POOL, USDC);
    let units = Units::of_digits(&digits).ok_or_else(|| Stop::fault("a balance that is no amount"))?;
    Ok(Answer::ok(text::to_text(&json!({ "asset": USDC, "balance": units.to_decimal(DECIMALS) }))?))
}

/// What a deposit and a withdrawal ask alike.
fn asked(call: &Call, form: &Form) -> Result<(Asset, Units), Stop> {
    let blockchain = form.short("blockchain")?;
    if !BLOCKCHAINS.contains(&blockchain.as_str()) {
        return Err(No::Route.into());
    }
    let asset = super::asset(call, &blockchain, USDC)?;
    let units = form.amount("amount", DECIMALS)?;
    if asset.decimals != DECIMALS {
        return Err(No::Route.into());
    }
    if Units::parse(MINIMUM, DECIMALS).is_some_and(|least| units < least) {
        return Err(words::too_small(MINIMUM));
    }
    Ok((asset, units))
}

pub fn deposit(call: &Call) -> Outcome {
    let form = Form::new(call)?;
    let (id, (asset, units)) = (form.id()?, asked(call, &form)?);
    let refund_address = form.address(call, "refund_address", &asset.blockchain)?;
    let request = text::to_text(&(&asset.blockchain, units, &refund_address))?;
    if let Some(order) = super::find_repeat(call, Kind::GatewayDeposit, &id, &request)? {
        return super::repeated(&order);
    }
    let fate = fate::of_amount(&super::decimal(&asset, units));
    let deposit = intake::open(call, Kind::GatewayDeposit, &id, asset, units)?;
    super::taken(
        call,
        &Order {
            request,
            fate,
            refund_address: Some(refund_address),
            deposit: Some(deposit),
            ..Order::new(Kind::GatewayDeposit, id, Status::AwaitingDeposit, call.now())
        },
    )
}

pub fn show_deposit(call: &Call) -> Outcome {
    super::read(call, Kind::GatewayDeposit)
}

pub fn withdraw(call: &Call) -> Outcome {
    let form = Form::new(call)?;
    let (id, (asset, units)) = (form.id()?, asked(call, &form)?);
    let recipient = form.address(call, "recipient_address", &asset.blockchain)?;
    let request = text::to_text(&(&asset.blockchain, units, &recipient))?;
    if let Some(order) = super::find_repeat(call, Kind::GatewayWithdrawal, &id, &request)? {
        return super::repeated(&order);
    }
    let (amount, fate) = (super::decimal(&asset, units), fate::of_amount(&super::decimal(&asset, units)));
    let shown = json!({ "amount": amount, "fee": "0", "recipient_address": recipient });
    let mut order = Order {
        request,
        fate,
        shown: shown.as_object().cloned().unwrap_or_else(Map::new),
        delivery: Some(Delivery::new(asset, recipient, units)),
        ..Order::new(Kind::GatewayWithdrawal, id, Status::Processing, call.now())
    };
    charge(call, &records::order_key(order.kind, &order.id), units)?;
    match fate {
        // As if the blockchain had refused it: the balance has it back.
        Fate::Fails => {
            (order.status, order.reason) = (Status::Failed, Some(Reason::DeliveryFailed));
            credit(call, &records::order_key(order.kind, &order.id), units)?;
        }
        Fate::Stalls => {}
        _ => delivery::begin(call, &order, Way::Delivery)?,
    }
    super::taken(call, &order)
}

pub fn show_withdrawal(call: &Call) -> Outcome {
    super::read(call, Kind::GatewayWithdrawal)
}

fn charge(call: &Call, order: &str, units: Units) -> Result<(), Stop> {
    match post(call, [order, "/charge"].concat(), (POOL, BURNED), units) {
        Err(LedgerRefusal::Insufficient(_)) => Err(No::Balance.into()),
        outcome => Ok(outcome?),
    }
}

/// `order`: of a deposit that has come, or of a withdrawal that will not arrive; once for each.
pub fn credit(call: &Call, order: &str, units: Units) -> Result<(), Stop> {
    Ok(post(call, [order, "/credit"].concat(), (BURNED, POOL), units)?)
}

fn post(call: &Call, id: String, (debit, credit): (&str, &str), units: Units) -> Result<(), LedgerRefusal> {
    call.ledger().open_external(BURNED);
    let (debit, credit, asset, memo) = (debit.to_owned(), credit.to_owned(), USDC.to_owned(), String::new());
    call.ledger().post(&[Transfer { id, debit, credit, asset, amount: units.to_digits(), memo }])
}
