//! Payment links.

use tenon_plugin::{Call, Stop, time};

use super::{Text, asset};
use crate::ids;
use crate::page::{Payment, Status};
use crate::records::payment_links::PaymentLink;
use crate::rules::amount::Money;
use crate::rules::network::Network;

pub fn full(
    call: &Call,
    link: &PaymentLink,
    (payment, paid): (&Payment, Money),
    network: Network,
) -> Result<Text, Stop> {
    let body = &link.body;
    let metadata = body.metadata.as_ref().map(|metadata| metadata.get().to_owned());
    let amount = body.money().map(Money::to_decimal);
    let is_active = body.is_active && !matches!(payment.status, Status::Expired | Status::Inactive);
    Ok(Text::new()
        .with("payment_link_id", &link.id)?
        .with("payment_link_url", &body.url)?
        .with("wallet_id", &body.wallet)?
        .with("address_id", &body.address)?
        .with("address", &payment.address)?
        .with("asset_id", &ids::wallet_asset(&body.wallet, body.asset))?
        .with("amount", &amount)?
        .with("blockchain", payment.blockchain.slug())?
        .with("network", network.name())?
        .with("payment_status", payment.status.name())?
        .with("amount_paid", &paid.to_decimal())?
        .raw_or_null("metadata", metadata)
        .with("id", &link.id)?
        .with("name", &body.name)?
        .with("description", &body.description)?
        .with("slug", &link.id)?
        .with("currency", &body.asset.currency())?
        .with("active", &is_active)?
        .with("type", "payment")?
        .with("createdChannel", "api")?
        .with("imageUrl", &None::<String>)?
        .with("redirectUrl", &body.redirect_url)?
        .with("successMessage", &body.success_message)?
        .with("inactiveMessage", &body.inactive_message)?
        .with("expiresAt", &body.expires_ms.map(time::to_text))?
        .with("url", &body.url)?
        .with("createdAt", &time::to_text(link.created_ms))?
        .with("updatedAt", &time::to_text(link.updated_ms))?
        .raw("asset", asset::asset(call, body.asset, network)?.to_text()))
}
