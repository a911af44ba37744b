//! What the page says of a payment, in words: the same on the page and in the status that it asks for.

use std::borrow::Cow;

use serde::Serialize;

use super::html::plain;
use super::payment::{Payment, Status};
use crate::rules::amount::Units;
use crate::rules::blockchain::Blockchain;

/// The status of a payment, and what to do about it.
#[derive(Serialize)]
pub struct Notice {
    pub state: &'static str,
    pub title: &'static str,
    pub detail: Cow<'static, str>,
    /// In the words of whoever made the link.
    pub message: Option<String>,
    /// What is still to be sent, without its symbol.
    pub due: Option<String>,
    /// Whether to send anything now.
    pub open: bool,
    /// Whether to ask no more.
    pub over: bool,
    pub redirect_url: Option<String>,
}

pub fn of(payment: &Payment) -> Notice {
    let status = payment.status;
    let (title, detail) = words(payment);
    Notice {
        state: status.name(),
        title,
        detail,
        message: message(payment).map(plain),
        due: payment.due().map(|due| payment.decimal(due)),
        open: status.is_open(),
        over: status.is_over(),
        redirect_url: payment.onward().map(str::to_owned),
    }
}

fn words(payment: &Payment) -> (&'static str, Cow<'static, str>) {
    let symbol = payment.asset.symbol;
    match payment.status {
        Status::Waiting => {
            let due = payment.due().map(|due| [payment.decimal(due).as_str(), " ", symbol].concat());
            let what = due.unwrap_or_else(|| ["any amount of ", symbol].concat());
            let detail = ["Send ", what.as_str(), " to the address below. This page updates by itself."].concat();
            ("Waiting for your payment", detail.into())
        }
        Status::Seen { confirmations, required } => {
            let counted = [&confirmations.min(required).to_string(), " of ", &required.to_string()].concat();
            let detail = [counted.as_str(), " confirmations. There is nothing more to send."].concat();
            ("Your payment has been seen", detail.into())
        }
        Status::Underpaid { received } => ("A part of the amount has arrived", missing(payment, received).into()),
        Status::Paid => ("Paid", "The payment has arrived.".into()),
        Status::Overpaid { received } => ("Paid, with more than was asked for", surplus(payment, received).into()),
        Status::Expired => ("This payment link has expired", "Send nothing more to its address.".into()),
        Status::Inactive => ("This payment link is closed", "Send nothing more to its address.".into()),
    }
}

fn missing(payment: &Payment, received: Units) -> String {
    let symbol = payment.asset.symbol;
    let amount = payment.decimal(payment.amount.unwrap_or_default());
    let due = payment.decimal(payment.due().unwrap_or_default());
    let received = payment.decimal(received);
    let arrived = [received.as_str(), " of ", &amount, " ", symbol, " have arrived. "].concat();
    [arrived.as_str(), "Send the remaining ", &due, " ", symbol, " to the same address."].concat()
}

fn surplus(payment: &Payment, received: Units) -> String {
    let symbol = payment.asset.symbol;
    let more = payment.decimal(received.saturating_sub(payment.amount.unwrap_or_default()));
    let arrived =
        [&payment.decimal(received), " ", symbol, " have arrived, ", &more, " more than asked for. "].concat();
    [arrived.as_str(), "Ask the recipient about the difference."].concat()
}

fn message(payment: &Payment) -> Option<&str> {
    match payment.status {
        Status::Inactive => payment.inactive_message.as_deref(),
        status if status.is_paid() => payment.success_message.as_deref(),
        _ => None,
    }
}

/// As people write it.
pub fn name_of(blockchain: Blockchain) -> &'static str {
    match blockchain {
        Blockchain::Ethereum => "Ethereum",
        Blockchain::Bsc => "BNB Smart Chain",
        Blockchain::Polygon => "Polygon",
        Blockchain::Base => "Base",
        Blockchain::Arbitrum => "Arbitrum",
        Blockchain::Optimism => "Optimism",
        Blockchain::Celo => "Celo",
        Blockchain::Lisk => "Lisk",
        Blockchain::Avalanche => "Avalanche",
        Blockchain::Tron => "Tron",
        Blockchain::Solana => "Solana",
        Blockchain::AssetChain => "Asset Chain",
        Blockchain::Plasma => "Plasma",
        Blockchain::Arc => "Arc",
        Blockchain::Tempo => "Tempo",
    }
}
