//! The page behind `payment_link_url`, and the status that it asks for. The token in the path is the credential, and opens one link;
//! one that opens nothing finds nothing.

use tenon_plugin::{Call, Outcome, Route, Stop, get};

use super::access;
use crate::page::{self, Payment, Status};
use crate::records::payment_links::{self as links, PaymentState};
use crate::rules::amount::Units;
use crate::rules::asset;
use crate::words;

pub const ROUTES: &[Route] = &[
    get("/pay/{ticket}", "show-payment-page", show).key_parameter("ticket"),
    get("/pay/{ticket}/status", "read-payment-status", status).key_parameter("ticket"),
];

fn show(call: &Call) -> Outcome {
    page::show(&payment(call)?)
}

fn status(call: &Call) -> Outcome {
    page::status(&payment(call)?)
}

fn payment(call: &Call) -> Result<Payment, Stop> {
    let link = call.attribute(links::ATTRIBUTE).ok_or_else(words::not_found)?;
    let found = links::payment(call, link, access::network(call))?.ok_or_else(words::not_found)?;
    let asset = asset::find(&found.symbol, found.blockchain).ok_or_else(|| Stop::fault("a link asks for no asset"))?;
    let units = |text: &str| Units::parse(text, asset.decimals).map_err(|_| Stop::fault("a link has no sound amount"));
    let received = units(&found.paid)?;
    Ok(Payment {
        status: status_of(found.state, received),
        amount: found.amount.as_deref().map(units).transpose()?,
        asset,
        name: found.name,
        description: found.description,
        blockchain: found.blockchain,
        network: found.network,
        address: found.address,
        expires_ms: found.expires_ms,
        success_message: found.success_message,
        inactive_message: found.inactive_message,
        redirect_url: found.redirect_url,
    })
}

fn status_of(state: PaymentState, received: Units) -> Status {
    match state {
        PaymentState::Waiting => Status::Waiting,
        PaymentState::Seen { confirmations, needed } => Status::Seen { confirmations, required: needed },
        PaymentState::Underpaid => Status::Underpaid { received },
        PaymentState::Paid => Status::Paid,
        PaymentState::Overpaid => Status::Overpaid { received },
        PaymentState::Expired => Status::Expired,
        PaymentState::Inactive => Status::Inactive,
    }
}
