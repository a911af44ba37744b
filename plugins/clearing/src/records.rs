//! What is stored: names of collections and indexes. Below here is every read and write of them, and nowhere else.
//!
//! A transaction is stored as the interface shows it, beside what it does not show: `transaction` and `kept`.

mod accounts;
mod destinations;
mod endpoints;
mod fingerprints;
mod inbound;
mod outbound;
mod partners;
mod transactions;

use tenon_plugin::{Collection, Index};

pub use accounts::{
    Account, delete_account, find_accounts, has_accounts, load_account, load_proxy, put_account, read_limit,
};
pub use destinations::{
    DestinationText, SECRETS, SETTINGS, find_destination, pair, put_destination, remove_destination,
};
pub use endpoints::{StoredEndpoint, endpoint_text, insert_endpoint, list_endpoints, load_endpoint, put_endpoint};
pub use fingerprints::{note_content, was_seen};
pub use partners::{
    Partner, client_partner, delete_partner, find_partners, guard_partner, guard_payment, load_partner, put_partner,
};
pub use transactions::{
    Found, Kept, Line, Transaction, View, count_concern, find_shown, find_transactions, has_any, has_open, load_shown,
    load_transaction,
};

const INBOUND: &str = "inbound";
const OUTBOUND: &str = "outbound";
const ACCOUNTS: &str = "accounts";
const PROXIES: &str = "proxies";
const PARTNERS: &str = "partners";
const CLIENTS: &str = "clients";
const FINGERPRINTS: &str = "fingerprints";

/// How often a random id that is taken already is drawn anew.
const DRAWS_MAX: usize = 4;

const BY_CREATED: Index = Index::on("by-created", &["@created-at"]);
const BY_STATE: Index = Index::on("by-state", &["transaction.state", "@created-at"]);
const BY_CONCERN: Index = Index::on("by-concern", &["transaction.needs_attention", "@created-at"]);

pub const COLLECTIONS: &[Collection] = &[
    // By uetr; the partner's view. A bank's records have no `partner`, so there is no index on it.
    Collection::new(INBOUND, &[BY_CREATED, BY_STATE, BY_CONCERN]),
    // By uetr; the platform's view.
    Collection::new(
        OUTBOUND,
        &[BY_CREATED, BY_STATE, Index::on("by-partner", &["transaction.partner", "@created-at"]), BY_CONCERN],
    ),
    // By the key of the account, on a platform behind the partner's id.
    Collection::new(
        ACCOUNTS,
        &[Index::on("by-created", &["@created-at"]), Index::on("by-partner", &["partner", "@created-at"])],
    ),
    // By the hash of whose it is and its key: one account for each.
    Collection::new(PROXIES, &[]),
    Collection::new(PARTNERS, &[Index::on("by-created", &["@created-at"])]),
    // By the id of the client: for which partner it speaks.
    Collection::new(CLIENTS, &[]),
    // By day and the hash of a content: which uetr carried it.
    Collection::new(FINGERPRINTS, &[]),
];
