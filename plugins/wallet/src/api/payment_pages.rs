//! The page behind `payment_link_url`, and the status that it asks for. The token in the path is the credential, and opens one link;
//! one that opens nothing finds nothing.

use tenon_plugin::{Call, Outcome, Route, Stop, get};

use super::access;
use crate::page::{self, Payment};
use crate::records::payment_links::{self as links, ATTRIBUTE};
use crate::{paying, words};

/// Their queries may give anything: links are followed with parameters that others add to them.
pub const ROUTES: &[Route] = &[
    get("/pay/{ticket}", "show-payment-page", show).key_parameter("ticket").any_query(),
    get("/pay/{ticket}/status", "read-payment-status", status).key_parameter("ticket").any_query(),
];

fn show(call: &Call) -> Outcome {
    page::show(&payment(call)?)
}

fn status(call: &Call) -> Outcome {
    page::status(&payment(call)?)
}

fn payment(call: &Call) -> Result<Payment, Stop> {
    let id = call.attribute(ATTRIBUTE).ok_or_else(words::not_found)?;
    let link = links::load(call, id)?.ok_or_else(words::not_found)?;
    Ok(paying::payment(call, &link, access::network(call))?.0)
}
