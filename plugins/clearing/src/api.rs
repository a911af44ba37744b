//! Requests and answers: parse, call the rules, answer. Owns the wire forms; decides nothing.

pub mod accounts;
pub mod completions;
pub mod destinations;
pub mod form;
pub mod identifiers;
pub mod listing;
pub mod messages;
pub mod partners;
pub mod payments;
pub mod receipts;
pub mod reports;
pub mod responses;
pub mod stream;
pub mod transactions;
pub mod webhooks;
