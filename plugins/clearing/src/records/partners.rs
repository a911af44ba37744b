//! The partners of a platform, and which client speaks for which of them.
//!
//! Invariants: a client speaks for one partner; one that has spoken for a partner is never somebody of the platform again.

use serde::{Deserialize, Serialize};
use tenon_plugin::records::Search;
use tenon_plugin::{Call, Stop, json};

use super::transactions::bad_cursor;
use super::{CLIENTS, PARTNERS};
use crate::rules::outbound::route;
use crate::rules::scheme::Scheme;
use crate::rules::uetr::Uetr;
use crate::words;

/// As it is stored and shown. Its id is the name of the destination that its messages go to.
#[derive(Serialize, Deserialize)]
pub struct Partner {
    pub id: String,
    pub name: Option<String>,
    pub payment_schemes: Vec<String>,
    pub account_mirroring: bool,
    pub proxy_management: bool,
    /// Clients that speak for it. Where there are none, every client of the tenant that may respond does.
    pub client_ids: Vec<String>,
    pub created_at: String,
    pub updated_at: String,
}

impl Partner {
    /// As far as it decides the way of a payment.
    pub fn agreed(&self) -> route::Partner {
        let schemes = self.payment_schemes.iter().filter_map(|name| Scheme::of_name(name).ok()).collect();
        let (account_mirroring, proxy_management) = (self.account_mirroring, self.proxy_management);
        route::Partner { schemes, account_mirroring, proxy_management }
    }
}

/// For whom a client speaks that has lost its partner: no partner has this id.
const NOBODY: &str = "";

#[derive(Serialize, Deserialize)]
struct ClientText {
    partner: String,
}

pub fn load_partner(call: &Call, id: &str) -> Result<Option<Partner>, Stop> {
    call.records(PARTNERS).get(id).map(|entry| json::from_text(&entry.body)).transpose()
}

/// The newest first, and where the next page begins.
pub fn find_partners(call: &Call, search: &Search) -> Result<(Vec<Partner>, Option<String>), Stop> {
    let page = call.records(PARTNERS).find(search).map_err(bad_cursor)?;
    let partners = page.entries.iter().map(|entry| json::from_text(&entry.body)).collect::<Result<_, _>>()?;
    Ok((partners, page.next))
}

/// In place of `before`, with its clients.
pub fn put_partner(call: &Call, partner: &Partner, before: Option<&Partner>) -> Result<(), Stop> {
    let text = json::to_text(partner)?;
    match before {
        Some(before) => {
            call.records(PARTNERS).replace(&partner.id, &text)?;
            free_clients(call, before)?;
        }
        None => call.records(PARTNERS).insert(&partner.id, &text)?,
    }
    for client in &partner.client_ids {
        match speaks_for(call, client)? {
            None => call.records(CLIENTS).insert(client, &text_of(&partner.id)?)?,
            Some(other) if other == NOBODY => call.records(CLIENTS).replace(client, &text_of(&partner.id)?)?,
            Some(_) => return Err(words::wrong("client_ids", "must not speak for another partner already")),
        }
    }
    Ok(())
}

/// Whoever begins a payment to a partner names one of so many guards, whoever deletes the partner all of them: neither
/// commits unseen by the other, and payments hardly ever wait for each other.
const GUARDS: u32 = 256;

pub fn guard_payment(call: &Call, partner: &str, uetr: &Uetr) {
    let spread = uetr.as_str().bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
    guard(call, partner, spread % GUARDS);
}

pub fn guard_partner(call: &Call, partner: &str) {
    (0..GUARDS).for_each(|number| guard(call, partner, number));
}

fn guard(call: &Call, partner: &str, number: u32) {
    call.guard(&["partner/", partner, "/", &number.to_string()].concat());
}

pub fn delete_partner(call: &Call, partner: &Partner) -> Result<(), Stop> {
    free_clients(call, partner)?;
    Ok(call.records(PARTNERS).delete(&partner.id)?)
}

/// Their tokens live on: they open nothing now, and not everything.
fn free_clients(call: &Call, partner: &Partner) -> Result<(), Stop> {
    let nobody = text_of(NOBODY)?;
    Ok(partner.client_ids.iter().try_for_each(|client| call.records(CLIENTS).replace(client, &nobody))?)
}

fn text_of(partner: &str) -> Result<String, Stop> {
    json::to_text(&ClientText { partner: partner.to_owned() })
}

fn speaks_for(call: &Call, client: &str) -> Result<Option<String>, Stop> {
    let known = call.records(CLIENTS).get(client);
    let text = known.map(|entry| json::from_text::<ClientText>(&entry.body)).transpose()?;
    Ok(text.map(|text| text.partner))
}

/// The partner that whoever calls speaks for; `None`: somebody of the platform. Who has lost its partner is refused.
pub fn client_partner(call: &Call) -> Result<Option<String>, Stop> {
    let subject = call.principal().subject.as_str();
    let partner = if subject.is_empty() { None } else { speaks_for(call, subject)? };
    if partner.as_deref() == Some(NOBODY) { Err(words::forbidden()) } else { Ok(partner) }
}
