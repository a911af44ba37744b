//! Requests and answers: parse, call the rules, answer. Owns the wire forms; decides nothing.
//!
//! A family has a file of its own with its handlers and its list of routes; aliases of the real product's paths stand beside
//! the specification's (research/wallet 1).

pub mod access;
pub mod addresses;
pub mod assets;
pub mod balances;
pub mod callbacks;
pub mod compliance;
pub mod envelope;
pub mod fiat;
pub mod form;
pub mod gateway;
pub mod payment_links;
pub mod payment_pages;
pub mod query;
pub mod rates;
pub mod recovery;
pub mod settlements;
pub mod signing;
pub mod swaps;
pub mod sweeps;
pub mod transactions;
pub mod virtual_accounts;
pub mod wallets;
pub mod webhooks;
pub mod withdraw;

use tenon_plugin::{Route, count, join, scoped};

const LISTS: &[&[Route]] = &[
    wallets::ROUTES,
    addresses::ROUTES,
    assets::ROUTES,
    balances::ROUTES,
    withdraw::ROUTES,
    transactions::ROUTES,
    webhooks::ROUTES,
    sweeps::ROUTES,
    signing::ROUTES,
    recovery::ROUTES,
    payment_links::ROUTES,
    payment_pages::ROUTES,
    compliance::ROUTES,
    fiat::ROUTES,
    swaps::ROUTES,
    gateway::ROUTES,
    rates::ROUTES,
    virtual_accounts::ROUTES,
    settlements::ROUTES,
    callbacks::ROUTES,
];

/// What a key with scopes needs for all that names no other: one that has none opens everything.
const SCOPE: &[&str] = &["wallets"];

pub const ROUTES: &[Route] = &scoped(join::<Route, { count(LISTS) }>(LISTS), SCOPE);
