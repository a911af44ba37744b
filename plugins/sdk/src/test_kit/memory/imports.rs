//! Implementation of each import of the contract in memory.
//!
//! As on the real host, reads include the call's own writes, except for searches and counts of records, the event feed,
//! and deliveries. Changes go into `working`.

use super::super::chains::{faucet_effect, send_effect};
use super::super::{bounds, feed, search};
use super::{Bound, TestHost, amount, parsed};
use crate::host::{
    Account, Attempt, ChainTransfer, CoinRequest, Condition, Credential, DeliveryPage, Destination, DestinationRefusal,
    Effect, Endpoint, EndpointState, Entry, FeedFilter, FeedPage, Following, Grant, Holding, Host, Issued,
    LedgerRefusal, Level, Network, OutgoingCall, Page, Pair, Query, RecordRefusal, Response, Sending, Signed,
    SubscriptionRefusal, Terms, Transaction, Transfer, Watching,
};

impl Host for TestHost {
    fn answers_repeatable(&self) {
        self.repeatable.set(true);
    }

    fn records_get(&self, collection: &str, id: &str) -> Option<Entry> {
        self.working.borrow().records.get(&self.key(collection, id)).cloned()
    }

    fn records_get_many(&self, collection: &str, ids: &[String]) -> Vec<Option<Entry>> {
        let found: Vec<Option<Entry>> = ids.iter().map(|id| self.records_get(collection, id)).collect();
        bounds::check_get_many(&found);
        found
    }

    fn records_insert(&self, collection: &str, id: &str, body: &str) -> Result<(), RecordRefusal> {
        self.writing_tenant();
        let key = self.key(collection, id);
        if self.working.borrow().records.contains_key(&key) {
            return Err(RecordRefusal::AlreadyExists);
        }
        self.check_record(collection, id, body)?;
        let entry = self.entry(id, body, self.now.get());
        self.working.borrow_mut().records.insert(key, entry);
        Ok(())
    }

    fn records_replace(&self, collection: &str, id: &str, body: &str) -> Result<(), RecordRefusal> {
        self.writing_tenant();
        let key = self.key(collection, id);
        let Some(before) = self.working.borrow().records.get(&key).cloned() else {
            return Err(RecordRefusal::NotFound);
        };
        self.check_record(collection, id, body)?;
        let entry = self.entry(id, body, before.created_at);
        self.working.borrow_mut().records.insert(key, entry);
        Ok(())
    }

    fn records_delete(&self, collection: &str, id: &str) -> Result<(), RecordRefusal> {
        self.writing_tenant();
        let key = self.key(collection, id);
        self.working.borrow_mut().records.remove(&key).map(|_| ()).ok_or(RecordRefusal::NotFound)
    }

    fn records_find(&self, collection: &str, query: &Query) -> Result<Page, RecordRefusal> {
        search::check_served(self.collection(collection), &query.conditions, &query.sort);
        let (tenant, state) = (self.tenant(), self.committed.borrow());
        let in_tenant = state.records.iter().filter(|((owner, name, _), _)| *owner == tenant && name == collection);
        search::page(in_tenant.map(|(_, entry)| entry), query)
    }

    fn records_count(&self, collection: &str, conditions: &[Condition], limit: u32) -> u32 {
        search::check_served(self.collection(collection), conditions, &[]);
        let (tenant, state) = (self.tenant(), self.committed.borrow());
        let in_tenant = state.records.iter().filter(|((owner, name, _), _)| *owner == tenant && name == collection);
        let found = search::matching(in_tenant.map(|(_, entry)| entry), conditions).len();
        u32::try_from(found).unwrap_or(limit).min(limit)
    }

    fn records_guard(&self, _name: &str) {
        self.writing_tenant();
    }

    fn ledger_open_external(&self, account: &str) {
        let tenant = self.writing_tenant();
        self.working.borrow_mut().external.push((tenant, account.to_owned()));
    }

    fn ledger_balance(&self, account: &str, asset: &str) -> String {
        let key = (self.tenant(), account.to_owned(), asset.to_owned());
        self.working.borrow().balances.get(&key).copied().unwrap_or(0).to_string()
    }

    fn ledger_balances(&self, account: &str) -> Vec<Holding> {
        let (tenant, state) = (self.tenant(), self.working.borrow());
        let holdings = state.balances.iter().filter(|((owner, name, _), _)| *owner == tenant && name == account);
        holdings.map(|((_, _, asset), amount)| Holding { asset: asset.clone(), amount: amount.to_string() }).collect()
    }

    fn ledger_post(&self, transfers: &[Transfer]) -> Result<(), LedgerRefusal> {
        let tenant = self.writing_tenant();
        let mut state = self.working.borrow().clone();
        for transfer in transfers {
            let amount = self.check_transfer(&state, transfer)?;
            for (account, change) in [(&transfer.debit, -amount), (&transfer.credit, amount)] {
                let key = (tenant.clone(), account.clone(), transfer.asset.clone());
                *state.balances.entry(key).or_default() += change;
            }
            state.transfers.push((tenant.clone(), transfer.id.clone()));
        }
        let overdrawn = state.balances.iter().find(|((owner, account, _), amount)| {
            **amount < 0 && *owner == tenant && !state.external.contains(&(owner.clone(), account.clone()))
        });
        if let Some(((_, account, _), _)) = overdrawn {
            return Err(LedgerRefusal::Insufficient(account.clone()));
        }
        *self.working.borrow_mut() = state;
        Ok(())
    }

    fn ledger_require(&self, account: &str, asset: &str, at_least: Option<&str>, at_most: Option<&str>) {
        let bound = |text: &str| amount(text).unwrap_or_else(|| panic!("{text} is not an amount"));
        let (at_least, at_most) = (at_least.map(bound), at_most.map(bound));
        self.bounds.borrow_mut().push(Bound {
            account: account.to_owned(),
            asset: asset.to_owned(),
            at_least,
            at_most,
        });
    }

    fn events_emit(&self, event_type: &str, subject: &str, payload: &str) -> String {
        let event = self.event(event_type, subject, payload);
        let id = event.id.clone();
        self.working.borrow_mut().events.push(event);
        id
    }

    fn events_list(&self, filter: &FeedFilter, after: Option<&str>, limit: u32) -> Option<FeedPage> {
        feed::list(&self.committed.borrow().events, &self.tenant(), filter, after, limit)
    }

    fn subscriptions_put(&self, endpoint: &Endpoint) -> Result<(), SubscriptionRefusal> {
        let tenant = self.writing_tenant();
        self.working.borrow_mut().webhooks.put(&tenant, endpoint, self.now.get(), || self.new_secret())
    }

    fn subscriptions_remove(&self, id: &str) -> bool {
        self.working.borrow_mut().webhooks.remove(&self.writing_tenant(), id)
    }

    fn subscriptions_get(&self, id: &str) -> Option<EndpointState> {
        self.working.borrow().webhooks.get(&self.tenant(), id)
    }

    fn subscriptions_all(&self) -> Vec<EndpointState> {
        self.working.borrow().webhooks.all(&self.tenant())
    }

    fn subscriptions_secret(&self, id: &str) -> Option<String> {
        self.working.borrow().webhooks.secret(&self.tenant(), id)
    }

    fn subscriptions_rotate_secret(&self, id: &str) -> Option<String> {
        let secret = self.new_secret();
        self.working.borrow_mut().webhooks.rotate(&self.writing_tenant(), id, secret, self.now.get())
    }

    fn subscriptions_deliveries(
        &self,
        endpoint: &str,
        state: Option<&str>,
        after: Option<&str>,
        limit: u32,
    ) -> Option<DeliveryPage> {
        self.committed.borrow().webhooks.deliveries(&self.tenant(), endpoint, state, after, limit)
    }

    fn subscriptions_attempts(&self, endpoint: &str, event: &str) -> Option<Vec<Attempt>> {
        self.committed.borrow().webhooks.attempts(&self.tenant(), endpoint, event)
    }

    fn subscriptions_redeliver(&self, endpoint: &str, event: &str) -> bool {
        let (tenant, mut working) = (self.writing_tenant(), self.working.borrow_mut());
        let mut events = working.events.iter().chain(&working.test_events);
        let event = events.find(|candidate| candidate.tenant == tenant && candidate.id == event).cloned();
        working.webhooks.redeliver(&tenant, endpoint, event.as_ref(), self.now.get())
    }

    fn subscriptions_recover(&self, endpoint: &str, since: u64) -> bool {
        self.working.borrow_mut().webhooks.recover(&self.writing_tenant(), endpoint, since, self.now.get())
    }

    fn subscriptions_send_test(&self, endpoint: &str, event_type: &str, payload: &str) -> Option<String> {
        self.subscriptions_get(endpoint)?;
        let event = self.event(event_type, endpoint, payload);
        let (id, mut working) = (event.id.clone(), self.working.borrow_mut());
        working.webhooks.deliver_to(&event, endpoint, self.now.get());
        working.test_events.push(event);
        Some(id)
    }

    fn tasks_schedule(&self, name: &str, key: &str, at: u64, payload: &str) {
        self.check_task(name, key);
        parsed(payload);
        self.working.borrow_mut().pending.schedule(&self.writing_tenant(), (name, key), at, payload);
    }

    fn tasks_cancel(&self, name: &str, key: &str) -> bool {
        self.check_task(name, key);
        self.working.borrow_mut().pending.cancel_task(&self.writing_tenant(), name, key)
    }

    fn effects_start(&self, effect: &Effect) -> bool {
        self.check_effect(effect);
        self.working.borrow_mut().pending.start_effect(&self.writing_tenant(), effect)
    }

    fn effects_cancel(&self, then: &str, key: &str) -> bool {
        self.check_task(then, key);
        self.working.borrow_mut().pending.cancel_effect(&self.writing_tenant(), then, key)
    }

    fn questions_ask(&self, key: &str, call: &OutgoingCall) -> Option<Result<Response, String>> {
        self.questions.borrow_mut().ask(key, call)
    }

    fn destinations_put(&self, destination: &Destination) -> Result<(), DestinationRefusal> {
        self.working.borrow_mut().destinations.put(&self.writing_tenant(), destination)
    }

    fn destinations_remove(&self, name: &str) -> bool {
        self.working.borrow_mut().destinations.remove(&self.writing_tenant(), name)
    }

    fn destinations_get(&self, name: &str) -> Option<Destination> {
        self.working.borrow().destinations.get(&self.tenant(), name)
    }

    fn credentials_issue_key(&self, grant: &Grant) -> Issued {
        self.working.borrow_mut().credentials.issue(&self.writing_tenant(), "api-key", grant, self.now.get())
    }

    fn credentials_issue_token(&self, grant: &Grant) -> Issued {
        self.working.borrow_mut().credentials.issue(&self.writing_tenant(), "token", grant, self.now.get())
    }

    fn credentials_find(&self, attribute: &Pair) -> Vec<Credential> {
        self.working.borrow().credentials.find(&self.tenant(), attribute, self.now.get())
    }

    fn credentials_revoke(&self, id: &str) -> bool {
        self.working.borrow_mut().credentials.revoke(&self.writing_tenant(), id, self.now.get())
    }

    fn credentials_revoke_all(&self, attribute: &Pair) -> u32 {
        self.working.borrow_mut().credentials.revoke_all(&self.writing_tenant(), attribute, self.now.get())
    }

    fn credentials_hash_password(&self, password: &str) -> String {
        let hash = self.new_secret();
        self.working.borrow_mut().credentials.hash(password, hash)
    }

    fn credentials_verify_password(&self, password: &str, hash: Option<&str>) -> bool {
        self.working.borrow().credentials.verify(password, hash)
    }

    fn keyring_account_of(&self, blockchain: &str, index: u32) -> Account {
        self.with_blockchains(blockchain, |chains, tenant| chains.account_of(tenant, blockchain, index))
    }

    fn keyring_read_address(&self, blockchain: &str, text: &str) -> Option<String> {
        self.with_blockchains(blockchain, |chains, _| chains.read_address(blockchain, text))
    }

    fn keyring_sign_message(&self, blockchain: &str, index: u32, message: &[u8]) -> Result<String, String> {
        self.with_blockchains(blockchain, |chains, tenant| chains.sign_message(tenant, blockchain, index, message))
    }

    fn keyring_sign_typed_data(&self, blockchain: &str, index: u32, document: &str) -> Result<String, String> {
        self.with_blockchains(blockchain, |chains, tenant| chains.sign_typed_data(tenant, blockchain, index, document))
    }

    fn keyring_sign_transfer(
        &self,
        blockchain: &str,
        index: u32,
        transfer: &ChainTransfer,
        terms: &Terms,
    ) -> Result<Signed, String> {
        self.with_blockchains(blockchain, |chains, tenant| {
            chains.sign_transfer(tenant, (blockchain, index), transfer, terms)
        })
    }

    fn keyring_sign_transaction(&self, blockchain: &str, index: u32, unsigned: &str) -> Result<Signed, String> {
        self.with_blockchains(blockchain, |chains, tenant| {
            chains.sign_transaction(tenant, (blockchain, index), unsigned)
        })
    }

    fn keyring_show_private_key(&self, blockchain: &str, index: u32) -> Option<String> {
        self.with_blockchains(blockchain, |chains, tenant| chains.show_private_key(tenant, blockchain, index))
    }

    fn chains_find_network(&self, blockchain: &str) -> Option<Network> {
        let tenant = self.writing_tenant();
        self.blockchains.borrow().as_ref()?.find_network(&tenant, blockchain)
    }

    fn chains_current_terms(&self, blockchain: &str) -> Option<Result<Terms, String>> {
        Some(self.with_blockchains(blockchain, |chains, tenant| chains.current_terms(tenant, blockchain)))
    }

    fn chains_balance(&self, blockchain: &str, address: &str, token: Option<&str>) -> Option<Result<String, String>> {
        Some(self.with_blockchains(blockchain, |chains, tenant| chains.balance(tenant, blockchain, address, token)))
    }

    fn chains_sequence(&self, blockchain: &str, address: &str) -> Option<Result<u64, String>> {
        Some(self.with_blockchains(blockchain, |chains, tenant| chains.sequence(tenant, blockchain, address)))
    }

    fn chains_find_transaction(&self, blockchain: &str, hash: &str) -> Option<Result<Option<Transaction>, String>> {
        Some(self.with_blockchains(blockchain, |chains, tenant| chains.find_transaction(tenant, blockchain, hash)))
    }

    fn chains_send(&self, sending: &Sending) -> bool {
        self.with_blockchains(&sending.blockchain, |_, _| ());
        self.effects_start(&send_effect(sending))
    }

    fn chains_request_coins(&self, request: &CoinRequest) -> bool {
        let has_faucet = self.chains_find_network(&request.blockchain).is_some_and(|network| network.has_faucet);
        assert!(has_faucet, "{} has no faucet", request.blockchain);
        self.effects_start(&faucet_effect(request))
    }

    fn chains_follow(&self, following: &Following) {
        self.with_blockchains(&following.blockchain, |_, _| ());
        self.check_task(&following.then, &following.key);
        parsed(&following.context);
        self.working.borrow_mut().chains.follow(&self.writing_tenant(), following);
    }

    fn chains_unfollow(&self, blockchain: &str, hash: &str) -> bool {
        self.working.borrow_mut().chains.unfollow(&self.writing_tenant(), blockchain, hash)
    }

    fn chains_watch(&self, watching: &Watching) {
        self.with_blockchains(&watching.blockchain, |_, _| ());
        self.check_task(&watching.then, "key");
        parsed(&watching.context);
        self.working.borrow_mut().chains.watch(&self.writing_tenant(), watching);
    }

    fn chains_unwatch(&self, blockchain: &str, address: &str) -> bool {
        self.working.borrow_mut().chains.unwatch(&self.writing_tenant(), blockchain, address)
    }

    fn ids_uuid(&self) -> String {
        let (high, low) = (self.fill_random(), self.fill_random());
        let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0x0fff);
        format!("{a:08x}-{b:04x}-7{c:03x}-{:04x}-{:012x}", 0x8000 | low >> 50, low & 0xffff_ffff_ffff)
    }

    fn ids_public_id(&self, prefix: &str) -> String {
        const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        let mut suffix = String::new();
        for _ in 0..10 {
            let letter = ALPHABET.iter().cycle().nth((self.fill_random() % 36) as usize);
            suffix.extend(letter.map(|letter| char::from(*letter)));
        }
        format!("{prefix}_{suffix}")
    }

    fn ids_random(&self, length: u32) -> Vec<u8> {
        (0..length).map(|_| self.fill_random().to_le_bytes()).map(|[byte, ..]| byte).collect()
    }

    fn ids_next(&self, name: &str) -> u64 {
        let mut numbers = self.numbers.borrow_mut();
        let number = numbers.entry((self.tenant(), name.to_owned())).or_default();
        *number += 1;
        *number
    }

    fn journal_append(&self, entry: &str) {
        self.working.borrow_mut().journal.push(parsed(entry));
    }

    fn config_get(&self, key: &str) -> Option<String> {
        self.settings.borrow().get(key).cloned()
    }

    fn log_write(&self, level: Level, message: &str, _fields: &[Pair]) {
        self.log.borrow_mut().push((level, message.to_owned()));
    }
}
