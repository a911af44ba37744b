//! Implements [`Chain`] for a simulated network.
//!
//! Each query first fills the due blocks. Queries read committed data through the reader connections.

use std::{collections::HashMap, sync::atomic::Ordering::SeqCst, time::Duration};

use ethnum::U256;
use sqlx::Connection;
use tenon_keyring::Family;

use super::{
    SimulatedChain,
    blocks::is_expired,
    controls::{DEPTH_MAX, Outage},
    ledger::{Ledger, LedgerCache, WriteTransaction},
    networks::{gas_price, whole_units},
    pool::read_plan,
    store::{StoreError, amount, count, int},
    submissions::Operation,
    validation::{COIN_GAS, SUN_PER_UNIT, TOKEN_ENERGY_FEE, TOKEN_GAS_LIMIT, decode},
};
use crate::{
    Block, BlockPosition, Chain, ChainError, ChainFuture, Facts, FaucetRequest, Head, Movement, State, Submission,
    Terms, Transaction, Transfer, TransferPage, TransferQuery,
    chain::{ADDRESSES_MAX, HASHES_MAX, TRANSFERS_MAX},
    solana::{SIGNATURE_FEE, TOKEN_ACCOUNT_RENT},
    tron,
};

/// Maximum amount of one faucet request in whole units of the coin.
const FAUCET_COINS_MAX: u32 = 1_000;
/// Maximum amount of one faucet request in whole units of a token.
const FAUCET_TOKENS_MAX: u32 = 1_000_000;
const FAUCET_KEY_BYTES_MAX: usize = 512;
/// Maximum fee of a TRX transfer in sun: its bytes and the activation of the recipient.
const TRON_COIN_FEE: u64 = 1_400_000;

/// hash, sender, state, block, fee, plan, id
type TransactionRow = (String, String, i64, Option<i64>, Option<Vec<u8>>, String, i64);
/// block, place, hash, position, sender, recipient, token, amount
type MovementRow = (i64, i64, String, i64, String, String, String, Vec<u8>);

impl Chain for SimulatedChain {
    fn facts(&self) -> &Facts {
        &self.net.facts
    }

    fn head(&self) -> ChainFuture<'_, Head> {
        Box::pin(async {
            let height = self.fill_to_head().await?;
            Ok(Head { height, hash: self.hash(height) })
        })
    }

    fn find_block(&self, height: u64) -> ChainFuture<'_, Option<Block>> {
        Box::pin(async move {
            let head = self.fill_to_head().await?;
            let parent = self.hash(height.saturating_sub(1));
            Ok((height <= head).then(|| Block { height, hash: self.hash(height), parent }))
        })
    }

    fn terms(&self) -> ChainFuture<'_, Terms> {
        Box::pin(async {
            let head = self.fill_to_head().await?;
            Ok(self.terms_at(head))
        })
    }

    fn balance<'a>(&'a self, address: &'a str, token: Option<&'a str>) -> ChainFuture<'a, U256> {
        Box::pin(async move {
            let address = self.read_address(address)?;
            let token = token.map(|text| self.read_token(text)).transpose()?;
            self.fill_to_head().await?;
            let mut connection = self.shared.readers.acquire().await.map_err(StoreError::from)?;
            let mut ledger =
                Ledger { connection: &mut connection, net: self.net.id, cache: &mut LedgerCache::default() };
            Ok(ledger.balance(&address, token.as_deref()).await?)
        })
    }

    fn sequence<'a>(&'a self, address: &'a str) -> ChainFuture<'a, u64> {
        Box::pin(async move {
            let address = self.read_address(address)?;
            self.fill_to_head().await?;
            let mut connection = self.shared.readers.acquire().await.map_err(StoreError::from)?;
            let mut ledger =
                Ledger { connection: &mut connection, net: self.net.id, cache: &mut LedgerCache::default() };
            Ok(ledger.sender(&address).await?.sequence)
        })
    }

    fn submit<'a>(&'a self, raw: &'a str) -> ChainFuture<'a, Submission> {
        Box::pin(async move {
            let outage = self.delay().await;
            if outage == Outage::RequestsLost {
                return Err(ChainError::Timeout);
            }
            let now_ms = (self.shared.clock)();
            let answer = match decode(self.facts(), raw, now_ms, self.net.head(now_ms)) {
                Err(error) => Ok(error.into()),
                Ok(incoming) => self.shared.execute(&self.net, Operation::Submit(incoming)).await,
            };
            if outage == Outage::ResponsesLost { Err(ChainError::Timeout) } else { answer }
        })
    }

    fn find_transaction<'a>(&'a self, hash: &'a str) -> ChainFuture<'a, Option<Transaction>> {
        Box::pin(async move {
            let found = self.find_transactions(std::slice::from_ref(&hash.to_owned())).await?;
            Ok(found.into_iter().next().flatten())
        })
    }

    fn find_transactions<'a>(&'a self, hashes: &'a [String]) -> ChainFuture<'a, Vec<Option<Transaction>>> {
        Box::pin(async move {
            if hashes.len() > HASHES_MAX {
                return Err(ChainError::TooMany { max: HASHES_MAX as u64 });
            }
            self.fill_to_head().await?;
            let found = self.read_transactions(hashes).await?;
            Ok(hashes.iter().map(|hash| found.get(hash).cloned()).collect())
        })
    }

    fn transfers<'a>(&'a self, query: &'a TransferQuery) -> ChainFuture<'a, TransferPage> {
        Box::pin(async move {
            if query.recipients.as_ref().is_some_and(|recipients| recipients.len() > ADDRESSES_MAX) {
                return Err(ChainError::TooMany { max: ADDRESSES_MAX as u64 });
            }
            self.fill_to_head().await?;
            Ok(self.read_transfers(query).await?)
        })
    }

    fn request_coins<'a>(&'a self, request: &'a FaucetRequest) -> ChainFuture<'a, Submission> {
        Box::pin(async move {
            if !self.facts().has_faucet {
                return Err(ChainError::NoFaucet);
            }
            let mut funding = self.funding(&request.address, request.token.as_deref(), request.amount)?;
            let token = funding.token.as_ref().and_then(|address| self.facts().find_token(address));
            let most = match token {
                Some(token) => whole_units(FAUCET_TOKENS_MAX, token.decimals),
                None => whole_units(FAUCET_COINS_MAX, self.facts().decimals),
            };
            if request.amount == 0 || request.amount > most || request.key.len() > FAUCET_KEY_BYTES_MAX {
                return Ok(Submission::Rejected { reason: format!("the faucet gives from 1 to {most} base units") });
            }
            funding.key = Some(request.key.clone());
            let outage = self.delay().await;
            if outage == Outage::RequestsLost {
                return Err(ChainError::Timeout);
            }
            let answer = self.shared.execute(&self.net, Operation::Fund(funding)).await;
            if outage == Outage::ResponsesLost { Err(ChainError::Timeout) } else { answer }
        })
    }

    fn changed(&self) -> futures_util::future::BoxFuture<'_, ()> {
        // Created here, so that it receives every notification from now on.
        let changed = self.net.changes.notified();
        Box::pin(async move {
            tokio::select! {
                () = changed => {}
                () = self.next_included_block() => {}
            }
        })
    }
}

impl SimulatedChain {
    /// Waits for the injected delay and returns the injected outage.
    async fn delay(&self) -> Outage {
        let faults = self.faults();
        if faults.slow_ms > 0 {
            tokio::time::sleep(Duration::from_millis(faults.slow_ms)).await;
        }
        faults.outage
    }

    /// Fills the due blocks and returns the head.
    ///
    /// # Errors
    ///
    /// Fails with `Timeout` during an outage.
    async fn fill_to_head(&self) -> Result<u64, ChainError> {
        match self.delay().await {
            Outage::Off => Ok(self.advance().await?),
            Outage::RequestsLost | Outage::ResponsesLost => Err(ChainError::Timeout),
        }
    }

    /// Fills the due blocks and returns the head.
    pub(super) async fn advance(&self) -> Result<u64, StoreError> {
        let head = self.net.head((self.shared.clock)());
        if self.net.due.load(SeqCst) > head {
            return Ok(head);
        }
        let mut writer = self.shared.writer.lock().await;
        // The clock may have advanced while this waited for the writer.
        let head = self.net.head((self.shared.clock)());
        let mut write = WriteTransaction::begin(&mut writer).await?;
        let mut ledger = write.ledger(self.net.id);
        let has_included = self.net.fill(&mut ledger, head).await?;
        let due = ledger.next_ready().await?;
        write.commit().await?;
        self.net.due.store(due.unwrap_or(u64::MAX), SeqCst);
        if has_included {
            self.net.changes.notify_waiters();
        }
        Ok(head)
    }

    /// Resolves when the next due block exists and is filled. Stays pending if no transaction is scheduled.
    async fn next_included_block(&self) {
        loop {
            let due = self.net.due.load(SeqCst);
            if due == u64::MAX {
                return std::future::pending().await;
            }
            let now_ms = (self.shared.clock)();
            if self.net.head(now_ms) >= due && self.advance().await.is_ok() {
                return;
            }
            // At most one block time, since the injected clock may run differently.
            let block_time_ms = u64::from(self.facts().block_time_ms.max(1));
            let wait_ms = self.net.timeline.lock().time_ms(due).saturating_sub(now_ms).clamp(1, block_time_ms);
            tokio::time::sleep(Duration::from_millis(wait_ms)).await;
        }
    }

    fn hash(&self, height: u64) -> String {
        let hash = self.net.timeline.lock().hash(height);
        match self.facts().family {
            Family::Evm => format!("0x{}", hex::encode(hash)),
            Family::Tron => hex::encode(hash),
            Family::Solana => bs58::encode(hash).into_string(),
        }
    }

    fn terms_at(&self, head: u64) -> Terms {
        let timeline = self.net.timeline.lock().clone();
        let deep = head.saturating_sub(DEPTH_MAX);
        match self.facts().family {
            Family::Evm => {
                let gas = gas_price(self.facts());
                let price = U256::from(gas.base).saturating_mul(U256::from(2_u8)).saturating_add(gas.tip.into());
                let fee = |limit: u64| price.saturating_mul(limit.into());
                Terms { anchor: gas.tip.to_string(), price, coin_fee: fee(COIN_GAS), token_fee: fee(TOKEN_GAS_LIMIT) }
            }
            Family::Tron => Terms {
                anchor: tron::write_anchor(&timeline.hash(deep), timeline.time_ms(head)),
                price: SUN_PER_UNIT.into(),
                coin_fee: TRON_COIN_FEE.into(),
                token_fee: TOKEN_ENERGY_FEE.saturating_add(tron::BYTES_FEE_MAX).into(),
            },
            Family::Solana => Terms {
                anchor: self.hash(deep),
                price: SIGNATURE_FEE.into(),
                coin_fee: SIGNATURE_FEE.into(),
                token_fee: SIGNATURE_FEE.saturating_add(TOKEN_ACCOUNT_RENT).into(),
            },
        }
    }

    pub(super) fn read_address(&self, text: &str) -> Result<String, ChainError> {
        self.facts().family.read_address(text).map_err(|_| ChainError::NotAnAddress)
    }

    pub(super) fn read_token(&self, text: &str) -> Result<String, ChainError> {
        let address = self.facts().family.read_address(text).map_err(|_| ChainError::NotAToken)?;
        self.facts().find_token(&address).map(|_| address).ok_or(ChainError::NotAToken)
    }

    /// Reads transactions by hash.
    async fn read_transactions(&self, hashes: &[String]) -> Result<HashMap<String, Transaction>, StoreError> {
        let json = serde_json::to_string(hashes).map_err(|_| StoreError::Broken("a query"))?;
        let mut snapshot = self.shared.readers.acquire().await?;
        let mut snapshot = snapshot.begin().await?;
        let rows: Vec<TransactionRow> = sqlx::query_as(
            "SELECT hash, sender, state, block, fee, plan, id FROM transactions
             WHERE net = ? AND hash IN (SELECT value FROM json_each(?))",
        )
        .bind(self.net.id)
        .bind(&json)
        .fetch_all(&mut *snapshot)
        .await?;
        let head = self.net.head((self.shared.clock)());
        let done: Vec<i64> = rows.iter().filter(|row| row.2 == 1).map(|row| row.6).collect();
        let mut found = HashMap::new();
        for row in rows {
            if let Some(transaction) = self.read_transaction(row, head)? {
                found.insert(transaction.hash.clone(), transaction);
            }
        }
        let rows: Vec<MovementRow> = sqlx::query_as(
            "SELECT block, place, hash, position, sender, recipient, token, amount FROM movements
             WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id, position",
        )
        .bind(serde_json::to_string(&done).map_err(|_| StoreError::Broken("a query"))?)
        .fetch_all(&mut *snapshot)
        .await?;
        for row in rows {
            let transfer = read_transfer(row)?;
            if let Some(transaction) = found.get_mut(&transfer.hash) {
                transaction.movements.push(transfer.movement);
            }
        }
        Ok(found)
    }

    fn read_transaction(&self, row: TransactionRow, head: u64) -> Result<Option<Transaction>, StoreError> {
        let (hash, sender, state, block, fee, plan, _) = row;
        let state = match state {
            0 => State::Waiting,
            1 => State::Done,
            _ => State::Failed,
        };
        if state == State::Waiting && is_expired(&read_plan(&plan)?, &self.net.timeline.lock(), head) {
            return Ok(None);
        }
        let block = block.map(count);
        let confirmations = block.map_or(0, |height| head.saturating_sub(height).saturating_add(1));
        let fee = fee.map_or(Ok(U256::ZERO), |blob| amount(&blob))?;
        Ok(Some(Transaction { hash, sender, state, block, confirmations, fee, movements: Vec::new() }))
    }

    async fn read_transfers(&self, query: &TransferQuery) -> Result<TransferPage, StoreError> {
        let limit = query.limit.clamp(1, TRANSFERS_MAX);
        let after = query.after.map_or((-1, -1), |position| (int(position.height), i64::from(position.index)));
        let sql = match &query.recipients {
            None => {
                "SELECT block, place, hash, position, sender, recipient, token, amount FROM movements
                 WHERE net = ?1 AND block BETWEEN ?2 AND ?3 AND (block, place) > (?4, ?5)
                 ORDER BY block, place LIMIT ?6"
            }
            Some(_) => {
                "SELECT block, place, hash, position, sender, recipient, token, amount FROM movements
                 WHERE net = ?1 AND block BETWEEN ?2 AND ?3 AND (block, place) > (?4, ?5)
                 AND recipient IN (SELECT value FROM json_each(?7)) ORDER BY block, place LIMIT ?6"
            }
        };
        let mut statement = sqlx::query_as(sql)
            .bind(self.net.id)
            .bind(int(query.from))
            .bind(int(query.to))
            .bind(after.0)
            .bind(after.1)
            .bind(i64::from(limit) + 1);
        if let Some(recipients) = &query.recipients {
            statement = statement.bind(serde_json::to_string(recipients).map_err(|_| StoreError::Broken("a query"))?);
        }
        let rows: Vec<MovementRow> = statement.fetch_all(&self.shared.readers).await?;
        let is_cut = rows.len() > limit as usize;
        let rows = rows.into_iter().take(limit as usize);
        let transfers = rows.map(read_transfer).collect::<Result<Vec<_>, _>>()?;
        let next = transfers.last().map(|transfer| transfer.position).filter(|_| is_cut);
        Ok(TransferPage { transfers, next })
    }
}

fn read_transfer(row: MovementRow) -> Result<Transfer, StoreError> {
    let (block, index, hash, position, sender, recipient, token, blob) = row;
    let number = |value: i64| u32::try_from(value).map_err(|_| StoreError::Broken("a movement"));
    let token = Some(token).filter(|token| !token.is_empty());
    let movement = Movement { position: number(position)?, sender, recipient, token, amount: amount(&blob)? };
    Ok(Transfer { position: BlockPosition { height: count(block), index: number(index)? }, hash, movement })
}
