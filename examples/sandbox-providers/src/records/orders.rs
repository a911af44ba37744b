//! What customers have ordered, by kind and their id.

use tenon_plugin::records::Search;
use tenon_plugin::{Call, Stop, json};

use super::ORDERS;
use crate::rules::order::{Kind, Order};
use crate::words;

pub fn order_key(kind: Kind, id: &str) -> String {
    [kind.name(), "/", id].concat()
}

/// `key`: of `order_key`.
pub fn find_order(call: &Call, key: &str) -> Result<Option<Order>, Stop> {
    super::find(call, ORDERS, key)
}

/// Refuses what is not there.
pub fn load_order(call: &Call, kind: Kind, id: &str) -> Result<Order, Stop> {
    find_order(call, &order_key(kind, id))?.ok_or_else(words::not_found)
}

pub fn insert_order(call: &Call, order: &Order) -> Result<(), Stop> {
    Ok(call.records(ORDERS).insert(&order_key(order.kind, &order.id), &json::to_text(order)?)?)
}

pub fn replace_order(call: &Call, order: &Order) -> Result<(), Stop> {
    Ok(call.records(ORDERS).replace(&order_key(order.kind, &order.id), &json::to_text(order)?)?)
}

/// Payments to a virtual account, newest first, and where the page after them begins.
pub fn list_payments(call: &Call, account: &str, search: Search) -> Result<(Vec<Order>, Option<String>), Stop> {
    let page = super::page_of(call, ORDERS, search.is("account", account))?;
    let orders = page.entries.iter().map(|entry| json::from_text(&entry.body));
    Ok((orders.collect::<Result<_, _>>()?, page.next))
}
