//! `chains`: queries to blockchains, transactions, and watched addresses. Converts values and checks limits. A query is
//! sent like any other question, a transaction like any other effect.

use std::sync::Arc;

use ethnum::U256;
use futures_util::FutureExt;
use serde::de::DeserializeOwned;
use tenon_bindings::tenon::plugin::chains::{self as wit, Host};
use tenon_chains::{Chain, Facts};
use wasmtime::bail;

use super::{QuestionResult, trap};
use crate::{
    capability::CallState,
    chains::{
        serve,
        wire::{self, ChainCommand, ChainQuery, MovementText, TermsText, TransactionText},
    },
    changes::{
        chain::{ChainNote, Following, Watch},
        effect::{Effect, Progress},
        outgoing::OutgoingCall,
        timer::FaultHistory,
    },
    commit::draft::raw,
    limits::{CONFIRMATIONS_MAX, EFFECT_DELAYS_MAX, SIGNED_BYTES_MAX},
};

impl Host for CallState {
    async fn find_network(&mut self, blockchain: String) -> wasmtime::Result<Option<wit::Network>> {
        self.count(blockchain.len())?;
        let Some(chain) = self.find_chain(&blockchain)? else { return Ok(None) };
        let network = network(chain.facts());
        self.meter_result(network.tokens.len() * 64 + 128)?;
        Ok(Some(network))
    }

    async fn current_terms(&mut self, blockchain: String) -> wasmtime::Result<Option<Result<wit::Terms, String>>> {
        self.count(blockchain.len())?;
        let terms = |text: TermsText| wit::Terms {
            anchor: text.anchor,
            price: text.price,
            coin_fee: text.coin_fee,
            token_fee: text.token_fee,
        };
        Ok(self.query_chain(&blockchain, &ChainQuery::Terms)?.map(|result| result.map(terms)))
    }

    async fn balance(
        &mut self,
        blockchain: String,
        address: String,
        token: Option<String>,
    ) -> wasmtime::Result<Option<Result<String, String>>> {
        self.count(blockchain.len() + address.len() + token.as_ref().map_or(0, String::len))?;
        self.query_chain(&blockchain, &ChainQuery::Balance { address, token })
    }

    async fn sequence(&mut self, blockchain: String, address: String) -> wasmtime::Result<Option<Result<u64, String>>> {
        self.count(blockchain.len() + address.len())?;
        self.query_chain(&blockchain, &ChainQuery::Sequence { address })
    }

    async fn find_transaction(
        &mut self,
        blockchain: String,
        hash: String,
    ) -> wasmtime::Result<Option<Result<Option<wit::Transaction>, String>>> {
        self.count(blockchain.len() + hash.len())?;
        let result: Option<Result<Option<TransactionText>, String>> =
            self.query_chain(&blockchain, &ChainQuery::Transaction { hash })?;
        Ok(result.map(|result| result.map(|found| found.map(transaction))))
    }

    async fn send(&mut self, sending: wit::Sending) -> wasmtime::Result<bool> {
        let wit::Sending { blockchain, raw, then, key, context, delays } = sending;
        self.count(raw.len() + key.len() + context.len() + 4 * delays.len())?;
        if raw.len() > 2 * SIGNED_BYTES_MAX {
            bail!("a transaction has at most {SIGNED_BYTES_MAX} bytes");
        }
        self.chain(&blockchain)?;
        self.start_command(ChainCommand::Send { raw }.call(&blockchain), (then, key), context, delays).await
    }

    async fn request_coins(&mut self, request: wit::Wish) -> wasmtime::Result<bool> {
        let wit::Wish { blockchain, address, token, amount, then, key, context } = request;
        self.count(address.len() + amount.len() + key.len() + context.len())?;
        if !self.chain(&blockchain)?.facts().has_faucet {
            bail!("the network of {blockchain} has no faucet");
        }
        if U256::from_str_radix(&amount, 10).is_err() {
            bail!("the amount {amount:.80?} must be decimal digits");
        }
        let command = ChainCommand::Coins { address, token, amount };
        self.start_command(command.call(&blockchain), (then, key), context, FAUCET_DELAYS_MS.to_vec()).await
    }

    async fn follow(&mut self, following: wit::Following) -> wasmtime::Result<()> {
        let wit::Following { blockchain, hash, confirmations, then, key, context, raw } = following;
        let wait_started = self.meter(hash.len() + key.len() + context.len() + raw.as_ref().map_or(0, String::len))?;
        self.chain(&blockchain)?;
        self.check_task(&then)?;
        let confirmations = checked_confirmations(confirmations)?;
        let note = Following { blockchain, hash, confirmations, then, key, context, raw };
        self.draft().put_chain_note(&ChainNote::Following(note)).await.map_err(trap)?;
        self.end_wait(wait_started).await;
        Ok(())
    }

    async fn unfollow(&mut self, blockchain: String, hash: String) -> wasmtime::Result<bool> {
        let wait_started = self.meter(blockchain.len() + hash.len())?;
        let removed = self.draft().remove_chain_note(&Following::id(&blockchain, &hash)).await.map_err(trap);
        self.end_wait(wait_started).await;
        removed
    }

    async fn watch(&mut self, watching: wit::Watching) -> wasmtime::Result<()> {
        let wit::Watching { blockchain, address, confirmations, then, context } = watching;
        let wait_started = self.meter(address.len() + context.len())?;
        let family = self.chain(&blockchain)?.facts().family;
        self.check_task(&then)?;
        if family.read_address(&address).ok().as_ref() != Some(&address) {
            bail!("{address:.100?} is not an address of {blockchain} as `keyring.read-address` returns it");
        }
        let confirmations = checked_confirmations(confirmations)?;
        let note = Watch { blockchain, address, confirmations, then, context };
        self.draft().put_chain_note(&ChainNote::Watch(note)).await.map_err(trap)?;
        self.end_wait(wait_started).await;
        Ok(())
    }

    async fn unwatch(&mut self, blockchain: String, address: String) -> wasmtime::Result<bool> {
        let wait_started = self.meter(blockchain.len() + address.len())?;
        let removed = self.draft().remove_chain_note(&Watch::id(&blockchain, &address)).await.map_err(trap);
        self.end_wait(wait_started).await;
        removed
    }
}

/// Delays between attempts if the faucet does not respond.
const FAUCET_DELAYS_MS: [u32; 5] = [1_000, 5_000, 30_000, 120_000, 600_000];

impl CallState {
    /// Finds the network of a blockchain for the calling tenant.
    fn find_chain(&mut self, blockchain: &str) -> wasmtime::Result<Option<Arc<dyn Chain>>> {
        let Some(scope) = &self.draft().call().scope else {
            bail!("an open route has no tenant and therefore no blockchains");
        };
        let tenant = scope.tenant().clone();
        Ok(self.chains().find(&tenant, blockchain).cloned())
    }

    pub(super) fn chain(&mut self, blockchain: &str) -> wasmtime::Result<Arc<dyn Chain>> {
        match self.find_chain(blockchain)? {
            Some(chain) => Ok(chain),
            None => bail!("this host has no blockchain {blockchain:.40?}"),
        }
    }

    /// Returns the result of a query, or `None` if it is pending.
    fn query_chain<T: DeserializeOwned>(
        &mut self,
        blockchain: &str,
        query: &ChainQuery,
    ) -> wasmtime::Result<Option<Result<T, String>>> {
        let chain = self.chain(blockchain)?;
        let call = query.call(blockchain);
        // A plugin that uses this key for a question of its own traps, because its call is a different one.
        let key = format!("chains\n{blockchain}\n{}", String::from_utf8_lossy(call.content.bytes()));
        // If the adapter has the terms in memory, no further run is needed.
        if matches!(query, ChainQuery::Terms)
            && !self.questions().contains(&key)
            && let Some(Ok(response)) = serve(&*chain, &call, "").now_or_never()
        {
            self.questions().ask(&key, call.clone())?;
            self.questions().set_result(&key, Ok(response));
        }
        self.questions().ask(&key, call)?;
        let Some(result) = self.questions().result_of(&key).cloned() else { return Ok(None) };
        Ok(Some(self.read_result(result)?))
    }

    fn read_result<T: DeserializeOwned>(&mut self, result: QuestionResult) -> wasmtime::Result<Result<T, String>> {
        let response = match result {
            Ok(response) => response,
            Err(class) => return Ok(Err(class)),
        };
        self.meter_result(response.content.bytes().len())?;
        Ok(wire::read(&response).ok_or_else(|| "unavailable".to_owned()))
    }

    async fn start_command(
        &mut self,
        call: OutgoingCall,
        (then, key): (String, String),
        context: String,
        delays: Vec<u32>,
    ) -> wasmtime::Result<bool> {
        let wait_started = self.meter(0)?;
        self.check_task(&then)?;
        if delays.len() > EFFECT_DELAYS_MAX {
            bail!("a transaction has at most {EFFECT_DELAYS_MAX} delays, not {}", delays.len());
        }
        let effect = Effect {
            due: Some(self.now()),
            call,
            then,
            key,
            context: raw("the context of a transaction", context).map_err(trap)?,
            delays,
            give_up_at: None,
            progress: Progress::default(),
            outcome: None,
            fault_history: FaultHistory::default(),
        };
        let started = self.draft().start_effect(&effect).await.map_err(trap);
        self.end_wait(wait_started).await;
        started
    }
}

fn checked_confirmations(confirmations: u32) -> wasmtime::Result<u32> {
    if !(1..=CONFIRMATIONS_MAX).contains(&confirmations) {
        bail!("`confirmations` must be 1 to {CONFIRMATIONS_MAX}, not {confirmations}");
    }
    Ok(confirmations)
}

fn network(facts: &Facts) -> wit::Network {
    let token = |token: &tenon_chains::Token| wit::Token {
        address: token.address.clone(),
        symbol: token.symbol.clone(),
        decimals: token.decimals,
    };
    wit::Network {
        name: facts.network.clone(),
        chain_id: facts.chain_id,
        symbol: facts.symbol.clone(),
        decimals: facts.decimals,
        tokens: facts.tokens.iter().map(token).collect(),
        block_time: facts.block_time_ms,
        has_faucet: facts.has_faucet,
    }
}

fn transaction(text: TransactionText) -> wit::Transaction {
    wit::Transaction {
        hash: text.hash,
        sender: text.sender,
        state: match text.state.as_str() {
            "done" => wit::State::Done,
            "failed" => wit::State::Failed,
            _ => wit::State::Waiting,
        },
        block: text.block,
        confirmations: u32::try_from(text.confirmations).unwrap_or(u32::MAX),
        fee: text.fee,
        movements: text.movements.into_iter().map(movement).collect(),
    }
}

fn movement(text: MovementText) -> wit::Movement {
    let MovementText { position, sender, recipient, token, amount } = text;
    wit::Movement { position, sender, recipient, token, amount }
}
