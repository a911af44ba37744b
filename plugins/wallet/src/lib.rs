//! The rules of the stablecoin wallet interface (spec/wallet): what may happen to money, and what a request must say.
//!
//! Owns the table of what the interface offers. `rules` is plain Rust without SDK, JSON or clock: a rule takes a state and a
//! command to a `Step` (new state, postings, events) or to a `Refusal`. Around it: `api` (requests and answers), `records`
//! (what is stored), `show` (how it is shown), `carry` (a step, stored in one commit), `sending` (onto a blockchain),
//! `following` (what comes after), `retrying` (who goes on from what has not worked), `salvaging` (what is in no book),
//! `tasks` (what falls due), `providers` (other companies), `providing` (what they move for us), `claiming` (whose
//! something is that arrives), `delivered` (that it has arrived), `page` (what a payer sees), `words` (how it says no).
//!
//! Every family has files of its own in `api`, `records`, `tasks` and `tests`, and one line in the list of each.
//!
//! | to read about | open |
//! |---|---|
//! | where things are | `blockchain`, `asset`, `address`, `network` |
//! | money | `amount` (text and base units), `rate`, `fee`, `books` (accounts and postings) |
//! | what moves it | `status` (the edges), `outgoing` (withdrawals, payouts, swaps, gateway, sweeps, salvage, raw transactions), `deposit` |
//! | what follows a deposit | `arrival`, `settlement` (rules of auto-settlement), `settings` (auto-sweep, gasless), `sweep` |
//! | what a provider brings | `delivery` (which movement is whose) |
//! | prices | `quote` (accepted, used once, expired), `swap` (offers, four priorities, slippage), `payout` |
//! | who may | `compliance` (forms of the currencies), `virtual_account`, `screening`, `target` (where nothing is sent) |
//! | what is asked | `request` (one file for each kind), `page`, `reference`, `invalid`, `refusal`, `code` |
//! | what is told | `event` |
//! | that it holds | `simulation` (tests alone): a hostile world, and what must be true when it comes to rest |
//!
//! # Decisions
//!
//! The specification wins; where it is silent, research/wallet; where that is silent too, the reason stands here.
//!
//! - *What was held ends once*: spent, released, or passed on. `incomplete` keeps its hold, because what may have left must not
//!   be spent again; the transaction that resumes it takes over hold and hash. A failed one has given its hold back, so a
//!   retry holds anew. Either is continued at most once (issue: "a linked new transaction continues it").
//! - *Only what is certain fails.* What is merely not known to have gone stays in `processing`, or becomes `incomplete`.
//! - *The hash is stored before anything is sent*, and no second one is ever taken. So nothing goes out twice, and nothing can
//!   be sent again at a higher fee either.
//! - *What arrives at an address of ours is a deposit*, unless a transaction of ours with that very hash fills the balance
//!   itself (sweep, coins for gas, a swap on one blockchain, the gateway's way out). So money is booked once, whoever sees it first.
//! - *What a provider delivers* to a balance of ours, or sends back, is booked with the amount that the blockchain shows, once that is
//!   final. Each movement is that of one order; what is in the books as a deposit already settles the order that it belongs to, and is
//!   not booked again. What belongs to none is a deposit.
//! - *Gas beyond the estimate* is taken from who pays it: the blockchain has taken it already.
//! - *A final deposit stays final*: no edge leads out of `success`. Confirmations are chosen so that it may.
//! - *Coins for gas* are booked in silence (research 5); a coin that is a stablecoin too (Arc, Tempo) is told.
//! - *Deposits of whitelisted addresses* are told and not booked: nobody here can spend them.
//! - *A settlement rule goes before the sweep*: the same money does one of both. The first rule that fits decides. A rule of the
//!   address that is switched off still replaces those of the wallet.
//! - *Priorities* (FASTEST, CHEAPEST, RECOMMENDED, NO_SLIPPAGE): soonest, least fee, most, most at a fixed price.
//! - *Slippage*: "-1" or nothing is no limit (research 0); the least is rounded up, in the client's favour. A swap that brings less
//!   is `incomplete`.
//! - *The same reference with the same request* finds the first transaction; with another request it is refused (409). The real
//!   product refuses both; this way a client can repeat what it has no answer to.
//! - *BRL* has no form in the specification; it asks for due diligence.
//! - *Failures without a code of their own* take SERVICE_VALIDATION_ERROR with 403, 409 or 422; a lost deposit tells
//!   SERVICE_NOT_FOUND, salvage and raw transactions WITHDRAWAL_FAILED.
//! - *Where stablecoins live, their decimals and the confirmations* stand in no source of the interface: they follow the issuers'
//!   contracts and common practice. All are there in both environments.
//! - *Keys* are counted up (`ids.next`, so that calls do not wait for each other) and leave gaps where a call came to nothing;
//!   a key is taken in a call that asks nothing, since each round of a call would take another.
//! - *The gas of a gasless withdrawal* is held by the master wallet, then sent to the address as coins, and held there.
//! - *An address that others have* is watched once: one of ours cannot be whitelisted.
//! - *A master wallet's address on another EVM blockchain* is no deposit address of it: what comes there is salvaged. An address
//!   under a wallet receives on all of them, and is booked to the wallet of the blockchain.
//! - *Salvage* moves what is in no book, so the blockchain itself is asked whether it is there, gas included; on a blockchain with
//!   books what they hold is left alone. What arrives where something was salvaged is a deposit if all of it still lies there; of what
//!   was salvaged in part the rest is salvaged too.
//! - *An asset that is switched off* cannot be named in requests; what arrives of it is booked all the same, since it is there.
//! - *An address that is switched off* (`is_active`; one that stands on a sanctions list is) signs and sends nothing. What arrives is
//!   booked and told, and rests: neither settled nor swept; a payment link to it is closed. What was accepted before goes on.
//! - *`blockchain`* is a text everywhere, as the specification has it; the real product's object is `blockchainInfo`.
//! - *Signing without sending* exists for raw transactions of the client's; a withdrawal that is only signed would block the
//!   lane of its sender until somebody sends it, and is not offered.
//! - *Pages* have at most 100 rows: the default is the limit. The answer to a batch has all of its rows, at most 20.
//! - *No parameter of a query is ignored*: one that the operation does not have is refused. Payment pages and callbacks take any, since
//!   others add parameters to links and to the addresses of callbacks.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod api;
mod carry;
mod claiming;
mod delivered;
pub mod events;
mod following;
mod ids;
pub mod page;
mod paying;
mod providers;
mod providing;
pub mod records;
mod retrying;
pub mod rules;
mod salvaging;
mod sending;
pub mod settings;
mod show;
pub mod tasks;
#[cfg(test)]
mod tests;
mod wire;
pub mod words;

use tenon_plugin::Plugin;

pub static PLUGIN: Plugin = Plugin::new("wallet", env!("CARGO_PKG_VERSION"))
    .title("Stablecoin wallets: addresses, deposits, withdrawals")
    .key_in_header("x-api-key")
    .routes(api::ROUTES)
    .collections(records::COLLECTIONS)
    .event_types(events::TYPES)
    .envelope(events::ENVELOPE)
    .tasks(tasks::TASKS)
    .settings(include_str!("settings.schema.json"))
    .failures(words::FAILURES)
    .invalid(400, words::VALIDATION_ERROR)
    .render_error(words::words)
    .strict_queries(words::refuse_query)
    .openapi(include_str!("openapi.json"));

tenon_plugin::export!(PLUGIN);
