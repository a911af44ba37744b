//! The fleet plugin compiled into the host's process.
//!
//! It has the same rules, records and routes as the component. It calls the host's capabilities directly, without a
//! sandbox. Only measurements use it.

#![expect(clippy::panic, reason = "a native plugin can only panic where a component traps")]

mod convert;

use std::{cell::RefCell, sync::Arc};

use futures_util::FutureExt;
use tenon::{
    capability::CallState,
    plugin::native::{Native, Natives},
};
use tenon_bindings::{
    exports::tenon::plugin::handler::{Answer, Request, Task, Verdict},
    tenon::plugin as contract,
};
use tenon_plugin::host::{
    Account, Attempt, ChainTransfer, CoinRequest, Condition, Credential, DeliveryPage, Destination, DestinationRefusal,
    Effect, Endpoint, EndpointState, Entry, FeedFilter, FeedPage, Following, Grant, Holding, Host, Issued,
    LedgerRefusal, Level, Network, OutgoingCall, Page, Pair, Query, RecordRefusal, Response, Sending, Signed,
    SubscriptionRefusal, Terms, Transaction, Transfer, Watching,
};

/// The allocator of the `tenon` program, so that only the sandbox differs in comparisons.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Returns the compiled-in plugins: fleet.
pub fn natives() -> Natives {
    Natives::from([("fleet".into(), Arc::new(Fleet) as Arc<dyn Native>)])
}

struct Fleet;

impl Native for Fleet {
    fn handle(&self, request: &Request, state: &mut CallState) -> Result<Answer, String> {
        let answer = fleet::PLUGIN.handle(&DirectHost(RefCell::new(state)), &convert::request(request));
        answer.map(convert::answer)
    }

    fn run(&self, task: &Task, _state: &mut CallState) -> Result<Verdict, String> {
        Err(format!("fleet has no task {}", task.name))
    }
}

/// Implements the SDK's host trait with the host's capabilities.
struct DirectHost<'a>(RefCell<&'a mut CallState>);

/// Waits for a capability and returns its result. Most reads complete from memory. A database read blocks this thread.
///
/// Panics if the capability returns an error, which would trap a component.
fn wait<T>(call: impl Future<Output = wasmtime::Result<T>> + Send) -> T {
    let mut call = std::pin::pin!(call);
    let result = match call.as_mut().now_or_never() {
        Some(result) => result,
        None => tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(call)),
    };
    match result {
        Ok(value) => value,
        Err(error) => std::panic::panic_any(format!("{error:#}")),
    }
}

impl Host for DirectHost<'_> {
    fn answers_repeatable(&self) {
        wait(contract::answers::Host::repeatable(&mut **self.0.borrow_mut()))
    }

    fn records_get(&self, collection: &str, id: &str) -> Option<Entry> {
        let mut state = self.0.borrow_mut();
        wait(contract::records::Host::get(&mut **state, collection.to_owned(), id.to_owned())).map(convert::entry)
    }

    fn records_get_many(&self, collection: &str, ids: &[String]) -> Vec<Option<Entry>> {
        let mut state = self.0.borrow_mut();
        let entries = wait(contract::records::Host::get_many(&mut **state, collection.to_owned(), ids.to_vec()));
        entries.into_iter().map(|entry| entry.map(convert::entry)).collect()
    }

    fn records_insert(&self, collection: &str, id: &str, body: &str) -> Result<(), RecordRefusal> {
        let mut state = self.0.borrow_mut();
        let (collection, id, body) = (collection.to_owned(), id.to_owned(), body.to_owned());
        wait(contract::records::Host::insert(&mut **state, collection, id, body)).map_err(convert::record_refusal)
    }

    fn records_replace(&self, collection: &str, id: &str, body: &str) -> Result<(), RecordRefusal> {
        let mut state = self.0.borrow_mut();
        let (collection, id, body) = (collection.to_owned(), id.to_owned(), body.to_owned());
        wait(contract::records::Host::replace(&mut **state, collection, id, body)).map_err(convert::record_refusal)
    }

    fn records_delete(&self, collection: &str, id: &str) -> Result<(), RecordRefusal> {
        let mut state = self.0.borrow_mut();
        let (collection, id) = (collection.to_owned(), id.to_owned());
        wait(contract::records::Host::delete(&mut **state, collection, id)).map_err(convert::record_refusal)
    }

    fn records_find(&self, collection: &str, query: &Query) -> Result<Page, RecordRefusal> {
        let mut state = self.0.borrow_mut();
        let page = wait(contract::records::Host::find(&mut **state, collection.to_owned(), convert::query(query)));
        page.map(convert::page).map_err(convert::record_refusal)
    }

    fn records_count(&self, collection: &str, conditions: &[Condition], limit: u32) -> u32 {
        let mut state = self.0.borrow_mut();
        let conditions = conditions.iter().map(convert::condition).collect();
        wait(contract::records::Host::count(&mut **state, collection.to_owned(), conditions, limit))
    }

    fn records_guard(&self, name: &str) {
        wait(contract::records::Host::guard(&mut **self.0.borrow_mut(), name.to_owned()));
    }

    fn events_emit(&self, event_type: &str, subject: &str, payload: &str) -> String {
        let mut state = self.0.borrow_mut();
        let (event_type, subject, payload) = (event_type.to_owned(), subject.to_owned(), payload.to_owned());
        wait(contract::events::Host::emit(&mut **state, event_type, subject, payload))
    }

    fn events_list(&self, _filter: &FeedFilter, _after: Option<&str>, _limit: u32) -> Option<FeedPage> {
        not_measured()
    }

    fn ids_uuid(&self) -> String {
        wait(contract::ids::Host::uuid(&mut **self.0.borrow_mut()))
    }

    fn ids_public_id(&self, prefix: &str) -> String {
        wait(contract::ids::Host::public_id(&mut **self.0.borrow_mut(), prefix.to_owned()))
    }

    fn ids_random(&self, length: u32) -> Vec<u8> {
        wait(contract::ids::Host::random(&mut **self.0.borrow_mut(), length))
    }

    fn ids_next(&self, name: &str) -> u64 {
        wait(contract::ids::Host::next(&mut **self.0.borrow_mut(), name.to_owned()))
    }

    fn journal_append(&self, entry: &str) {
        wait(contract::journal::Host::append(&mut **self.0.borrow_mut(), entry.to_owned()));
    }

    fn config_get(&self, key: &str) -> Option<String> {
        wait(contract::config::Host::get(&mut **self.0.borrow_mut(), key.to_owned()))
    }

    fn log_write(&self, level: Level, message: &str, fields: &[Pair]) {
        let (level, fields) = (convert::level(level), fields.iter().map(convert::pair_in).collect());
        wait(contract::log::Host::write(&mut **self.0.borrow_mut(), level, message.to_owned(), fields));
    }

    // No measured request uses the following capabilities. fleet has no grant for some of them.

    fn tasks_schedule(&self, _name: &str, _key: &str, _at: u64, _payload: &str) {
        not_granted()
    }

    fn tasks_cancel(&self, _name: &str, _key: &str) -> bool {
        not_granted()
    }

    fn effects_start(&self, _effect: &Effect) -> bool {
        not_granted()
    }

    fn effects_cancel(&self, _then: &str, _key: &str) -> bool {
        not_granted()
    }

    fn questions_ask(&self, _key: &str, _call: &OutgoingCall) -> Option<Result<Response, String>> {
        not_granted()
    }

    fn ledger_open_external(&self, _account: &str) {
        not_granted()
    }

    fn ledger_balance(&self, _account: &str, _asset: &str) -> String {
        not_granted()
    }

    fn ledger_balances(&self, _account: &str) -> Vec<Holding> {
        not_granted()
    }

    fn ledger_post(&self, _transfers: &[Transfer]) -> Result<(), LedgerRefusal> {
        not_granted()
    }

    fn ledger_require(&self, _account: &str, _asset: &str, _at_least: Option<&str>, _at_most: Option<&str>) {
        not_granted()
    }

    fn subscriptions_put(&self, _endpoint: &Endpoint) -> Result<(), SubscriptionRefusal> {
        not_measured()
    }

    fn subscriptions_remove(&self, _id: &str) -> bool {
        not_measured()
    }

    fn subscriptions_get(&self, _id: &str) -> Option<EndpointState> {
        not_measured()
    }

    fn subscriptions_all(&self) -> Vec<EndpointState> {
        not_measured()
    }

    fn subscriptions_secret(&self, _id: &str) -> Option<String> {
        not_measured()
    }

    fn subscriptions_rotate_secret(&self, _id: &str) -> Option<String> {
        not_measured()
    }

    fn subscriptions_deliveries(
        &self,
        _endpoint: &str,
        _state: Option<&str>,
        _after: Option<&str>,
        _limit: u32,
    ) -> Option<DeliveryPage> {
        not_measured()
    }

    fn subscriptions_attempts(&self, _endpoint: &str, _event: &str) -> Option<Vec<Attempt>> {
        not_measured()
    }

    fn subscriptions_redeliver(&self, _endpoint: &str, _event: &str) -> bool {
        not_measured()
    }

    fn subscriptions_recover(&self, _endpoint: &str, _since: u64) -> bool {
        not_measured()
    }

    fn subscriptions_send_test(&self, _endpoint: &str, _event_type: &str, _payload: &str) -> Option<String> {
        not_measured()
    }

    fn destinations_put(&self, _destination: &Destination) -> Result<(), DestinationRefusal> {
        not_granted()
    }

    fn destinations_remove(&self, _name: &str) -> bool {
        not_granted()
    }

    fn destinations_get(&self, _name: &str) -> Option<Destination> {
        not_granted()
    }

    fn credentials_issue_key(&self, _grant: &Grant) -> Issued {
        not_granted()
    }

    fn credentials_issue_token(&self, _grant: &Grant) -> Issued {
        not_granted()
    }

    fn credentials_find(&self, _attribute: &Pair) -> Vec<Credential> {
        not_granted()
    }

    fn credentials_revoke(&self, _id: &str) -> bool {
        not_granted()
    }

    fn credentials_revoke_all(&self, _attribute: &Pair) -> u32 {
        not_granted()
    }

    fn credentials_hash_password(&self, _password: &str) -> String {
        not_granted()
    }

    fn credentials_verify_password(&self, _password: &str, _hash: Option<&str>) -> bool {
        not_granted()
    }

    fn keyring_account_of(&self, _blockchain: &str, _index: u32) -> Account {
        not_granted()
    }

    fn keyring_read_address(&self, _blockchain: &str, _text: &str) -> Option<String> {
        not_granted()
    }

    fn keyring_sign_message(&self, _blockchain: &str, _index: u32, _message: &[u8]) -> Result<String, String> {
        not_granted()
    }

    fn keyring_sign_typed_data(&self, _blockchain: &str, _index: u32, _document: &str) -> Result<String, String> {
        not_granted()
    }

    fn keyring_sign_transfer(
        &self,
        _blockchain: &str,
        _index: u32,
        _transfer: &ChainTransfer,
        _terms: &Terms,
    ) -> Result<Signed, String> {
        not_granted()
    }

    fn keyring_sign_transaction(&self, _blockchain: &str, _index: u32, _unsigned: &str) -> Result<Signed, String> {
        not_granted()
    }

    fn keyring_show_private_key(&self, _blockchain: &str, _index: u32) -> Option<String> {
        not_granted()
    }

    fn chains_find_network(&self, _blockchain: &str) -> Option<Network> {
        not_granted()
    }

    fn chains_current_terms(&self, _blockchain: &str) -> Option<Result<Terms, String>> {
        not_granted()
    }

    fn chains_balance(
        &self,
        _blockchain: &str,
        _address: &str,
        _token: Option<&str>,
    ) -> Option<Result<String, String>> {
        not_granted()
    }

    fn chains_sequence(&self, _blockchain: &str, _address: &str) -> Option<Result<u64, String>> {
        not_granted()
    }

    fn chains_find_transaction(&self, _blockchain: &str, _hash: &str) -> Option<Result<Option<Transaction>, String>> {
        not_granted()
    }

    fn chains_send(&self, _sending: &Sending) -> bool {
        not_granted()
    }

    fn chains_request_coins(&self, _request: &CoinRequest) -> bool {
        not_granted()
    }

    fn chains_follow(&self, _following: &Following) {
        not_granted()
    }

    fn chains_unfollow(&self, _blockchain: &str, _hash: &str) -> bool {
        not_granted()
    }

    fn chains_watch(&self, _watching: &Watching) {
        not_granted()
    }

    fn chains_unwatch(&self, _blockchain: &str, _address: &str) -> bool {
        not_granted()
    }
}

fn not_granted() -> ! {
    std::panic::panic_any("fleet does not have this grant")
}

fn not_measured() -> ! {
    std::panic::panic_any("no measured request uses webhook endpoints")
}
