//! The payment page (spec/wallet: payment_link_url): what somebody sees who opens the link, and what the page asks to follow its
//! payment.
//!
//! Owns how a [`Payment`] is shown; never reads a record, decides what was paid, or knows the ticket that opened it: the host keeps
//! that, and the page asks below its own address. Every text of a payment is hostile: it reaches the page through `html::Html::text`
//! or as JSON alone. The page works without its script, loads nothing from elsewhere, and tells nobody its address.
//!
//! # Decisions
//!
//! - *The QR code holds the address and nothing else.* Every wallet and exchange reads that. The forms with asset and amount are read
//!   by some alone, and an app that takes the token's contract of EIP-681 for the recipient loses the money. Amount, asset and
//!   blockchain stand beside it.
//! - *Once something was seen, the address is hidden*, so that nobody pays twice; it comes back if that is gone, or was too little.

mod document;
mod html;
mod limits;
mod notice;
mod payment;
mod policy;
mod qr;
#[cfg(test)]
mod tests;

use tenon_plugin::{Answer, Outcome, json};

use crate::api::envelope;
pub use payment::{Payment, Status};

/// The page, whole.
pub fn show(payment: &Payment) -> Outcome {
    let document = document::text(payment)?;
    Ok(with(Answer::with_media_type("text/html; charset=utf-8", document.into_bytes()), &policy::of_document()))
}

/// What has become of it since: what the script asks for.
pub fn status(payment: &Payment) -> Outcome {
    let data = json::to_text(&notice::of(payment))?;
    Ok(with(envelope::ok("Payment status", &data)?, &policy::of_status()))
}

fn with(answer: Answer, headers: &[(&'static str, String)]) -> Answer {
    headers.iter().fold(answer, |answer, (name, value)| answer.header(name, value.clone()))
}
