//! How far a payment link is paid: judged from the deposits at its address each time somebody looks.

use tenon_plugin::{Call, Stop};

use crate::page::{Payment, Status};
use crate::records::addresses;
use crate::records::payment_links::{self as links, PaymentLink, PaymentLinkBody};
use crate::records::transactions::Incoming;
use crate::rules::amount::{Money, Units};
use crate::rules::network::Network;
use crate::rules::status::Status as Stage;

/// What the page shows of it now, and what is final of it.
pub fn payment(call: &Call, link: &PaymentLink, network: Network) -> Result<(Payment, Money), Stop> {
    let mut body = link.body.clone();
    let address = addresses::load(call, &body.address)?.ok_or_else(|| Stop::fault("a link has no address"))?;
    // Nobody is asked to pay what cannot leave again.
    body.is_active &= address.body.is_active;
    let (received, status) = judge(&body, &links::deposits(call, link)?, call.now());
    let payment = Payment {
        name: body.name,
        description: body.description,
        asset: body.asset,
        amount: body.amount,
        blockchain: body.asset.blockchain.unwrap_or(address.body.blockchain),
        network,
        address: address.body.address,
        expires_ms: body.expires_ms,
        status,
        success_message: body.success_message,
        inactive_message: body.inactive_message,
        redirect_url: body.redirect_url,
    };
    Ok((payment, Money::new(body.asset, received)))
}

/// What has arrived counts before what has expired or was switched off.
fn judge(link: &PaymentLinkBody, deposits: &[Incoming], now_ms: u64) -> (Units, Status) {
    let of_asset = || deposits.iter().map(|it| &it.record).filter(|it| it.sighting.money.asset == link.asset);
    let finals = of_asset().filter(|it| it.status == Stage::Success);
    let received = finals.fold(Units::ZERO, |sum, it| sum.checked_add(it.sighting.money.units).unwrap_or(sum));
    let coming = of_asset().find(|it| matches!(it.status, Stage::Pending | Stage::Processing));
    let wanted = link.amount.unwrap_or(Units::new(1));
    let status = if received >= wanted {
        let is_more = link.amount.is_some_and(|amount| received > amount);
        if is_more { Status::Overpaid { received } } else { Status::Paid }
    } else if let Some(seen) = coming {
        let confirmations = seen.sighting.confirmations;
        Status::Seen { confirmations, required: seen.sighting.blockchain.confirmations() }
    } else if !link.is_active {
        Status::Inactive
    } else if link.expires_ms.is_some_and(|at| now_ms >= at) {
        Status::Expired
    } else if received.is_zero() {
        Status::Waiting
    } else {
        Status::Underpaid { received }
    };
    (received, status)
}
