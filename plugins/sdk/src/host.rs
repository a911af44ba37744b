//! What a plugin can ask of its host: every interface that a host of this version offers.
//!
//! In a component, [`HostRef`] is a value without size and each call goes straight to the import, so that imports that
//! a plugin does not use are dropped when it is linked and need no grant. Natively it is a trait object: the test kit,
//! or whoever runs the rules without WebAssembly. Invariant: on wasm nobody makes a `dyn Host`, its table would keep
//! every import alive.

pub use crate::bindings::tenon::plugin::chains::{
    Following, Movement, Network, Sending, State as TransactionState, Terms, Token, Transaction, Watching, Wish,
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

/// The imports of the contract, one method each, named interface and function. Object-safe.
///
/// What breaks a rule of the contract (an undeclared collection, a body that is not JSON) does not return: a component
/// traps, a native host panics.
pub trait Host {
    fn answers_repeatable(&self);

    fn records_get(&self, collection: &str, id: &str) -> Option<Entry>;
    fn records_get_many(&self, collection: &str, ids: &[String]) -> Vec<Option<Entry>>;
    fn records_insert(&self, collection: &str, id: &str, body: &str) -> Result<(), RecordRefusal>;
    fn records_replace(&self, collection: &str, id: &str, body: &str) -> Result<(), RecordRefusal>;
    fn records_delete(&self, collection: &str, id: &str) -> Result<(), RecordRefusal>;
    fn records_find(&self, collection: &str, query: &Query) -> Result<Page, RecordRefusal>;
    fn records_count(&self, collection: &str, conditions: &[Condition], limit: u32) -> u32;
    fn records_guard(&self, name: &str);

    fn ledger_open_external(&self, account: &str);
    fn ledger_balance(&self, account: &str, asset: &str) -> String;
    fn ledger_balances(&self, account: &str) -> Vec<Holding>;
    fn ledger_post(&self, transfers: &[Transfer]) -> Result<(), LedgerRefusal>;
    fn ledger_require(&self, account: &str, asset: &str, at_least: Option<&str>, at_most: Option<&str>);

    fn events_emit(&self, event_type: &str, subject: &str, payload: &str) -> String;
    fn events_list(&self, filter: &FeedFilter, after: Option<&str>, limit: u32) -> Option<FeedPage>;

    fn subscriptions_put(&self, endpoint: &Endpoint) -> Result<(), SubscriptionRefusal>;
    fn subscriptions_remove(&self, id: &str) -> bool;
    fn subscriptions_get(&self, id: &str) -> Option<EndpointState>;
    fn subscriptions_all(&self) -> Vec<EndpointState>;
    fn subscriptions_secret(&self, id: &str) -> Option<String>;
    fn subscriptions_rotate_secret(&self, id: &str) -> Option<String>;
    fn subscriptions_deliveries(
        &self,
        endpoint: &str,
        state: Option<&str>,
        after: Option<&str>,
        limit: u32,
    ) -> Option<DeliveryPage>;
    fn subscriptions_attempts(&self, endpoint: &str, event: &str) -> Option<Vec<Attempt>>;
    fn subscriptions_redeliver(&self, endpoint: &str, event: &str) -> bool;
    fn subscriptions_recover(&self, endpoint: &str, since: u64) -> bool;
    fn subscriptions_send_test(&self, endpoint: &str, event_type: &str, payload: &str) -> Option<String>;

    fn tasks_schedule(&self, name: &str, key: &str, at: u64, payload: &str);
    fn tasks_cancel(&self, name: &str, key: &str) -> bool;
    fn effects_start(&self, effect: &Effect) -> bool;
    fn effects_cancel(&self, then: &str, key: &str) -> bool;
    fn questions_ask(&self, key: &str, call: &OutgoingCall) -> Option<Result<Response, String>>;
    fn destinations_put(&self, destination: &Destination) -> Result<(), DestinationRefusal>;
    fn destinations_remove(&self, name: &str) -> bool;
    fn destinations_get(&self, name: &str) -> Option<Destination>;

    fn credentials_issue_key(&self, grant: &Grant) -> Issued;
    fn credentials_issue_token(&self, grant: &Grant) -> Issued;
    fn credentials_find(&self, attribute: &Pair) -> Vec<Credential>;
    fn credentials_revoke(&self, id: &str) -> bool;
    fn credentials_revoke_all(&self, attribute: &Pair) -> u32;
    fn credentials_hash_password(&self, password: &str) -> String;
    fn credentials_verify_password(&self, password: &str, hash: Option<&str>) -> bool;

    fn keyring_account_of(&self, blockchain: &str, index: u32) -> Account;
    fn keyring_read_address(&self, blockchain: &str, text: &str) -> Option<String>;
    fn keyring_sign_message(&self, blockchain: &str, index: u32, message: &[u8]) -> Result<String, String>;
    fn keyring_sign_typed_data(&self, blockchain: &str, index: u32, document: &str) -> Result<String, String>;
    fn keyring_sign_transfer(
        &self,
        blockchain: &str,
        index: u32,
        transfer: &ChainTransfer,
        terms: &Terms,
    ) -> Result<Signed, String>;
    fn keyring_sign_transaction(&self, blockchain: &str, index: u32, unsigned: &str) -> Result<Signed, String>;
    fn keyring_show_private_key(&self, blockchain: &str, index: u32) -> Option<String>;

    fn chains_find_network(&self, blockchain: &str) -> Option<Network>;
    fn chains_current_terms(&self, blockchain: &str) -> Option<Result<Terms, String>>;
    fn chains_balance(&self, blockchain: &str, address: &str, token: Option<&str>) -> Option<Result<String, String>>;
    fn chains_sequence(&self, blockchain: &str, address: &str) -> Option<Result<u64, String>>;
    fn chains_find_transaction(&self, blockchain: &str, hash: &str) -> Option<Result<Option<Transaction>, String>>;
    fn chains_send(&self, sending: &Sending) -> bool;
    fn chains_request_coins(&self, wish: &Wish) -> bool;
    fn chains_follow(&self, following: &Following);
    fn chains_unfollow(&self, blockchain: &str, hash: &str) -> bool;
    fn chains_watch(&self, watching: &Watching);
    fn chains_unwatch(&self, blockchain: &str, address: &str) -> bool;

    fn ids_uuid(&self) -> String;
    fn ids_public_id(&self, prefix: &str) -> String;
    fn ids_random(&self, length: u32) -> Vec<u8>;
    fn ids_next(&self, name: &str) -> u64;

    fn journal_append(&self, entry: &str);
    fn config_get(&self, key: &str) -> Option<String>;
    fn log_write(&self, level: Level, message: &str, fields: &[Pair]);
}

#[cfg(not(target_arch = "wasm32"))]
pub type HostRef<'a> = &'a dyn Host;

#[cfg(target_arch = "wasm32")]
pub use component::{Imports, imports};
#[cfg(target_arch = "wasm32")]
pub type HostRef<'a> = &'a Imports;

#[cfg(target_arch = "wasm32")]
mod component {
    use super::*;
    use crate::bindings::tenon::plugin::{
        answers, chains, config, credentials, destinations, effects, events, ids, journal, keyring, ledger, log,
        questions, records, subscriptions, tasks,
    };

    /// The host that the component runs in.
    pub struct Imports;

    pub fn imports() -> &'static Imports {
        &Imports
    }

    impl Host for Imports {
        fn answers_repeatable(&self) {
            answers::repeatable();
        }
        fn records_get(&self, collection: &str, id: &str) -> Option<Entry> {
            records::get(collection, id)
        }
        fn records_get_many(&self, collection: &str, ids: &[String]) -> Vec<Option<Entry>> {
            records::get_many(collection, ids)
        }
        fn records_insert(&self, collection: &str, id: &str, body: &str) -> Result<(), RecordRefusal> {
            records::insert(collection, id, body)
        }
        fn records_replace(&self, collection: &str, id: &str, body: &str) -> Result<(), RecordRefusal> {
            records::replace(collection, id, body)
        }
        fn records_delete(&self, collection: &str, id: &str) -> Result<(), RecordRefusal> {
            records::delete(collection, id)
        }
        fn records_find(&self, collection: &str, query: &Query) -> Result<Page, RecordRefusal> {
            records::find(collection, query)
        }
        fn records_count(&self, collection: &str, conditions: &[Condition], limit: u32) -> u32 {
            records::count(collection, conditions, limit)
        }
        fn records_guard(&self, name: &str) {
            records::guard(name)
        }
        fn ledger_open_external(&self, account: &str) {
            ledger::open_external(account)
        }
        fn ledger_balance(&self, account: &str, asset: &str) -> String {
            ledger::balance(account, asset)
        }
        fn ledger_balances(&self, account: &str) -> Vec<Holding> {
            ledger::balances(account)
        }
        fn ledger_post(&self, transfers: &[Transfer]) -> Result<(), LedgerRefusal> {
            ledger::post(transfers)
        }
        fn ledger_require(&self, account: &str, asset: &str, at_least: Option<&str>, at_most: Option<&str>) {
            ledger::require(account, asset, at_least, at_most)
        }
        fn events_emit(&self, event_type: &str, subject: &str, payload: &str) -> String {
            events::emit(event_type, subject, payload)
        }
        fn events_list(&self, filter: &FeedFilter, after: Option<&str>, limit: u32) -> Option<FeedPage> {
            events::list(filter, after, limit)
        }
        fn subscriptions_put(&self, endpoint: &Endpoint) -> Result<(), SubscriptionRefusal> {
            subscriptions::put(endpoint)
        }
        fn subscriptions_remove(&self, id: &str) -> bool {
            subscriptions::remove(id)
        }
        fn subscriptions_get(&self, id: &str) -> Option<EndpointState> {
            subscriptions::get(id)
        }
        fn subscriptions_all(&self) -> Vec<EndpointState> {
            subscriptions::all()
        }
        fn subscriptions_secret(&self, id: &str) -> Option<String> {
            subscriptions::secret(id)
        }
        fn subscriptions_rotate_secret(&self, id: &str) -> Option<String> {
            subscriptions::rotate_secret(id)
        }
        fn subscriptions_deliveries(
            &self,
            endpoint: &str,
            state: Option<&str>,
            after: Option<&str>,
            limit: u32,
        ) -> Option<DeliveryPage> {
            subscriptions::deliveries(endpoint, state, after, limit)
        }
        fn subscriptions_attempts(&self, endpoint: &str, event: &str) -> Option<Vec<Attempt>> {
            subscriptions::attempts(endpoint, event)
        }
        fn subscriptions_redeliver(&self, endpoint: &str, event: &str) -> bool {
            subscriptions::redeliver(endpoint, event)
        }
        fn subscriptions_recover(&self, endpoint: &str, since: u64) -> bool {
            subscriptions::recover(endpoint, since)
        }
        fn subscriptions_send_test(&self, endpoint: &str, event_type: &str, payload: &str) -> Option<String> {
            subscriptions::send_test(endpoint, event_type, payload)
        }
        fn tasks_schedule(&self, name: &str, key: &str, at: u64, payload: &str) {
            tasks::schedule(name, key, at, payload)
        }
        fn tasks_cancel(&self, name: &str, key: &str) -> bool {
            tasks::cancel(name, key)
        }
        fn effects_start(&self, effect: &Effect) -> bool {
            effects::start(effect)
        }
        fn effects_cancel(&self, then: &str, key: &str) -> bool {
            effects::cancel(then, key)
        }
        fn questions_ask(&self, key: &str, call: &OutgoingCall) -> Option<Result<Response, String>> {
            questions::ask(key, call)
        }

        fn destinations_put(&self, destination: &Destination) -> Result<(), DestinationRefusal> {
            destinations::put(destination)
        }
        fn destinations_remove(&self, name: &str) -> bool {
            destinations::remove(name)
        }
        fn destinations_get(&self, name: &str) -> Option<Destination> {
            destinations::get(name)
        }
        fn credentials_issue_key(&self, grant: &Grant) -> Issued {
            credentials::issue_key(grant)
        }
        fn credentials_issue_token(&self, grant: &Grant) -> Issued {
            credentials::issue_token(grant)
        }
        fn credentials_find(&self, attribute: &Pair) -> Vec<Credential> {
            credentials::find(attribute)
        }
        fn credentials_revoke(&self, id: &str) -> bool {
            credentials::revoke(id)
        }
        fn credentials_revoke_all(&self, attribute: &Pair) -> u32 {
            credentials::revoke_all(attribute)
        }
        fn credentials_hash_password(&self, password: &str) -> String {
            credentials::hash_password(password)
        }
        fn credentials_verify_password(&self, password: &str, hash: Option<&str>) -> bool {
            credentials::verify_password(password, hash)
        }
        fn keyring_account_of(&self, blockchain: &str, index: u32) -> Account {
            keyring::account_of(blockchain, index)
        }
        fn keyring_read_address(&self, blockchain: &str, text: &str) -> Option<String> {
            keyring::read_address(blockchain, text)
        }
        fn keyring_sign_message(&self, blockchain: &str, index: u32, message: &[u8]) -> Result<String, String> {
            keyring::sign_message(blockchain, index, message)
        }
        fn keyring_sign_typed_data(&self, blockchain: &str, index: u32, document: &str) -> Result<String, String> {
            keyring::sign_typed_data(blockchain, index, document)
        }
        fn keyring_sign_transfer(
            &self,
            blockchain: &str,
            index: u32,
            transfer: &ChainTransfer,
            terms: &Terms,
        ) -> Result<Signed, String> {
            keyring::sign_transfer(blockchain, index, transfer, terms)
        }
        fn keyring_sign_transaction(&self, blockchain: &str, index: u32, unsigned: &str) -> Result<Signed, String> {
            keyring::sign_transaction(blockchain, index, unsigned)
        }
        fn keyring_show_private_key(&self, blockchain: &str, index: u32) -> Option<String> {
            keyring::show_private_key(blockchain, index)
        }
        fn chains_find_network(&self, blockchain: &str) -> Option<Network> {
            chains::find_network(blockchain)
        }
        fn chains_current_terms(&self, blockchain: &str) -> Option<Result<Terms, String>> {
            chains::current_terms(blockchain)
        }
        fn chains_balance(
            &self,
            blockchain: &str,
            address: &str,
            token: Option<&str>,
        ) -> Option<Result<String, String>> {
            chains::balance(blockchain, address, token)
        }
        fn chains_sequence(&self, blockchain: &str, address: &str) -> Option<Result<u64, String>> {
            chains::sequence(blockchain, address)
        }
        fn chains_find_transaction(&self, blockchain: &str, hash: &str) -> Option<Result<Option<Transaction>, String>> {
            chains::find_transaction(blockchain, hash)
        }
        fn chains_send(&self, sending: &Sending) -> bool {
            chains::send(sending)
        }
        fn chains_request_coins(&self, wish: &Wish) -> bool {
            chains::request_coins(wish)
        }
        fn chains_follow(&self, following: &Following) {
            chains::follow(following)
        }
        fn chains_unfollow(&self, blockchain: &str, hash: &str) -> bool {
            chains::unfollow(blockchain, hash)
        }
        fn chains_watch(&self, watching: &Watching) {
            chains::watch(watching)
        }
        fn chains_unwatch(&self, blockchain: &str, address: &str) -> bool {
            chains::unwatch(blockchain, address)
        }
        fn ids_uuid(&self) -> String {
            ids::uuid()
        }
        fn ids_public_id(&self, prefix: &str) -> String {
            ids::public_id(prefix)
        }
        fn ids_random(&self, length: u32) -> Vec<u8> {
            ids::random(length)
        }
        fn ids_next(&self, name: &str) -> u64 {
            ids::next(name)
        }
        fn journal_append(&self, entry: &str) {
            journal::append(entry)
        }
        fn config_get(&self, key: &str) -> Option<String> {
            config::get(key)
        }
        fn log_write(&self, level: Level, message: &str, fields: &[Pair]) {
            log::write(level, message, fields)
        }
    }
}
