//! The imports of a plugin: every interface that a host of this version offers.
//!
//! In a component, [`HostRef`] has no size and each call goes to the import directly. The linker drops the imports that
//! a plugin does not call, and these need no grant. Natively, [`HostRef`] is a trait object of the test kit or of
//! another native host. Invariant: no code makes a `dyn Host` on wasm, because its table would keep every import alive.

pub use crate::bindings::tenon::plugin::chains::{
    Following, Movement, Network, Sending, State as TransactionState, Terms, Token, Transaction, Watching,
    Wish as CoinRequest,
};
pub use crate::bindings::tenon::plugin::credentials::{Credential, Grant, Issued};
pub use crate::bindings::tenon::plugin::destinations::{Destination, Refusal as DestinationRefusal};
pub use crate::bindings::tenon::plugin::effects::Effect;
pub use crate::bindings::tenon::plugin::events::{EventEntry, FeedFilter, Page as FeedPage};
pub use crate::bindings::tenon::plugin::keyring::{Account, Signed, Transfer as ChainTransfer};
pub use crate::bindings::tenon::plugin::ledger::{Holding, Refusal as LedgerRefusal, Transfer};
pub use crate::bindings::tenon::plugin::log::Level;
pub use crate::bindings::tenon::plugin::records::{
    Comparison, Condition, Entry, Page, Query, Refusal as RecordRefusal, Sort, Value,
};
pub use crate::bindings::tenon::plugin::subscriptions::{
    Attempt, Delivery, Endpoint, Page as DeliveryPage, Refusal as SubscriptionRefusal, Signature,
    State as EndpointState,
};
pub use crate::bindings::tenon::plugin::types::{Call as OutgoingCall, Pair, Response};

/// Declares each import of the contract once: `method = function(arguments)`, grouped by interface. The trait and its
/// implementation for components follow from it.
macro_rules! imports {
    ($($interface:ident { $($method:ident = $function:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)* })*) => {
        /// The imports of the contract, one method each, named after interface and function. Object-safe.
        ///
        /// A call that breaks a rule of the contract (an undeclared collection, a body that is not JSON) does not
        /// return: a component traps, a native host panics.
        pub trait Host {
            $($(fn $method(&self, $($argument: $type),*) $(-> $result)?;)*)*
        }

        #[cfg(target_arch = "wasm32")]
        impl Host for component::Imports {
            $($(fn $method(&self, $($argument: $type),*) $(-> $result)? {
                crate::bindings::tenon::plugin::$interface::$function($($argument),*)
            })*)*
        }
    };
}

imports! {
    answers {
        answers_repeatable = repeatable();
    }
    records {
        records_get = get(collection: &str, id: &str) -> Option<Entry>;
        records_get_many = get_many(collection: &str, ids: &[String]) -> Vec<Option<Entry>>;
        records_insert = insert(collection: &str, id: &str, body: &str) -> Result<(), RecordRefusal>;
        records_replace = replace(collection: &str, id: &str, body: &str) -> Result<(), RecordRefusal>;
        records_delete = delete(collection: &str, id: &str) -> Result<(), RecordRefusal>;
        records_find = find(collection: &str, query: &Query) -> Result<Page, RecordRefusal>;
        records_count = count(collection: &str, conditions: &[Condition], limit: u32) -> u32;
        records_guard = guard(name: &str);
    }
    ledger {
        ledger_open_external = open_external(account: &str);
        ledger_balance = balance(account: &str, asset: &str) -> String;
        ledger_balances = balances(account: &str) -> Vec<Holding>;
        ledger_post = post(transfers: &[Transfer]) -> Result<(), LedgerRefusal>;
        ledger_require = require(account: &str, asset: &str, at_least: Option<&str>, at_most: Option<&str>);
    }
    events {
        events_emit = emit(event_type: &str, subject: &str, payload: &str) -> String;
        events_list = list(filter: &FeedFilter, after: Option<&str>, limit: u32) -> Option<FeedPage>;
    }
    subscriptions {
        subscriptions_put = put(endpoint: &Endpoint) -> Result<(), SubscriptionRefusal>;
        subscriptions_remove = remove(id: &str) -> bool;
        subscriptions_get = get(id: &str) -> Option<EndpointState>;
        subscriptions_all = all() -> Vec<EndpointState>;
        subscriptions_secret = secret(id: &str) -> Option<String>;
        subscriptions_rotate_secret = rotate_secret(id: &str) -> Option<String>;
        subscriptions_deliveries = deliveries(
            endpoint: &str,
            state: Option<&str>,
            after: Option<&str>,
            limit: u32
        ) -> Option<DeliveryPage>;
        subscriptions_attempts = attempts(endpoint: &str, event: &str) -> Option<Vec<Attempt>>;
        subscriptions_redeliver = redeliver(endpoint: &str, event: &str) -> bool;
        subscriptions_recover = recover(endpoint: &str, since: u64) -> bool;
        subscriptions_send_test = send_test(endpoint: &str, event_type: &str, payload: &str) -> Option<String>;
    }
    tasks {
        tasks_schedule = schedule(name: &str, key: &str, at: u64, payload: &str);
        tasks_cancel = cancel(name: &str, key: &str) -> bool;
    }
    effects {
        effects_start = start(effect: &Effect) -> bool;
        effects_cancel = cancel(then: &str, key: &str) -> bool;
    }
    questions {
        questions_ask = ask(key: &str, call: &OutgoingCall) -> Option<Result<Response, String>>;
    }
    destinations {
        destinations_put = put(destination: &Destination) -> Result<(), DestinationRefusal>;
        destinations_remove = remove(name: &str) -> bool;
        destinations_get = get(name: &str) -> Option<Destination>;
    }
    credentials {
        credentials_issue_key = issue_key(grant: &Grant) -> Issued;
        credentials_issue_token = issue_token(grant: &Grant) -> Issued;
        credentials_find = find(attribute: &Pair) -> Vec<Credential>;
        credentials_revoke = revoke(id: &str) -> bool;
        credentials_revoke_all = revoke_all(attribute: &Pair) -> u32;
        credentials_hash_password = hash_password(password: &str) -> String;
        credentials_verify_password = verify_password(password: &str, hash: Option<&str>) -> bool;
    }
    keyring {
        keyring_account_of = account_of(blockchain: &str, index: u32) -> Account;
        keyring_read_address = read_address(blockchain: &str, text: &str) -> Option<String>;
        keyring_sign_message = sign_message(blockchain: &str, index: u32, message: &[u8]) -> Result<String, String>;
        keyring_sign_typed_data = sign_typed_data(
            blockchain: &str,
            index: u32,
            document: &str
        ) -> Result<String, String>;
        keyring_sign_transfer = sign_transfer(
            blockchain: &str,
            index: u32,
            transfer: &ChainTransfer,
            terms: &Terms
        ) -> Result<Signed, String>;
        keyring_sign_transaction = sign_transaction(
            blockchain: &str,
            index: u32,
            unsigned: &str
        ) -> Result<Signed, String>;
        keyring_show_private_key = show_private_key(blockchain: &str, index: u32) -> Option<String>;
    }
    chains {
        chains_find_network = find_network(blockchain: &str) -> Option<Network>;
        chains_current_terms = current_terms(blockchain: &str) -> Option<Result<Terms, String>>;
        chains_balance = balance(
            blockchain: &str,
            address: &str,
            token: Option<&str>
        ) -> Option<Result<String, String>>;
        chains_sequence = sequence(blockchain: &str, address: &str) -> Option<Result<u64, String>>;
        chains_find_transaction = find_transaction(
            blockchain: &str,
            hash: &str
        ) -> Option<Result<Option<Transaction>, String>>;
        chains_send = send(sending: &Sending) -> bool;
        chains_request_coins = request_coins(request: &CoinRequest) -> bool;
        chains_follow = follow(following: &Following);
        chains_unfollow = unfollow(blockchain: &str, hash: &str) -> bool;
        chains_watch = watch(watching: &Watching);
        chains_unwatch = unwatch(blockchain: &str, address: &str) -> bool;
    }
    ids {
        ids_uuid = uuid() -> String;
        ids_public_id = public_id(prefix: &str) -> String;
        ids_random = random(length: u32) -> Vec<u8>;
        ids_next = next(name: &str) -> u64;
    }
    journal {
        journal_append = append(entry: &str);
    }
    config {
        config_get = get(key: &str) -> Option<String>;
    }
    log {
        log_write = write(level: Level, message: &str, fields: &[Pair]);
    }
}

#[cfg(not(target_arch = "wasm32"))]
pub type HostRef<'a> = &'a dyn Host;

#[cfg(target_arch = "wasm32")]
pub use component::{Imports, imports};
#[cfg(target_arch = "wasm32")]
pub type HostRef<'a> = &'a Imports;

#[cfg(target_arch = "wasm32")]
mod component {
    /// The host that runs the component.
    pub struct Imports;

    pub fn imports() -> &'static Imports {
        &Imports
    }
}
