//! The trait: what is asked of a simulated network.
//!
//! Before anything is answered, the blocks that are due are filled. Answers are read beside the writer, from what was
//! committed.

use std::{collections::HashMap, sync::atomic::Ordering::SeqCst, time::Duration};

use ethnum::U256;
use sqlx::Connection;
use tenon_keyring::Family;

use super::{
    SimulatedChain,
    blocks::is_over,
    books::{Books, Pages, Writing},
    controls::{DEPTH_MAX, Silence},
    intake::{COIN_GAS, SUN_A_UNIT, TOKEN_ENERGY_FEE, TOKEN_GAS_LIMIT, read},
    networks::{gas_price, whole_units},
    pool::read_plan,
    store::{StoreError, amount, count, int},
    submissions::Work,
};
use crate::{
    Answer, Block, Chain, ChainError, Facts, Head, Movement, Place, State, Submission, Terms, Transaction, Transfer,
    TransferPage, TransferQuestion, Wish,
    chain::{ADDRESSES_MAX, HASHES_MAX, TRANSFERS_MAX},
    solana::{SIGNATURE_FEE, TOKEN_ACCOUNT_RENT},
    tron,
};

/// Whole units that the faucet gives at once: of the coin, of a token.
const GIFT: (u32, u32) = (1_000, 1_000_000);
const WISH_KEY_CHARS_MAX: usize = 512;
/// Sun: a transfer's bytes and the first one to an address; the bytes of a token's transfer.
const TRON_FEES: (u64, u64) = (1_400_000, 500_000);

/// hash, sender, state, block, fee, plan, id
type TransactionRow = (String, String, i64, Option<i64>, Option<Vec<u8>>, String, i64);
/// block, place, hash, position, sender, recipient, token, amount
type MovementRow = (i64, i64, String, i64, String, String, String, Vec<u8>);

impl Chain for SimulatedChain {
    fn facts(&self) -> &Facts {
        &self.net.facts
    }

    fn head(&self) -> Answer<'_, Head> {
        Box::pin(async {
            let height = self.ask().await?;
            Ok(Head { height, hash: self.hash(height) })
        })
    }

    fn find_block(&self, height: u64) -> Answer<'_, Option<Block>> {
        Box::pin(async move {
            let head = self.ask().await?;
            let parent = self.hash(height.saturating_sub(1));
            Ok((height <= head).then(|| Block { height, hash: self.hash(height), parent }))
        })
    }

    fn terms(&self) -> Answer<'_, Terms> {
        Box::pin(async {
            let head = self.ask().await?;
            Ok(self.terms_at(head))
        })
    }

    fn balance<'a>(&'a self, address: &'a str, token: Option<&'a str>) -> Answer<'a, U256> {
        Box::pin(async move {
            let address = self.read_address(address)?;
            let token = token.map(|text| self.read_token(text)).transpose()?;
            self.ask().await?;
            let mut connection = self.shared.readers.acquire().await.map_err(StoreError::from)?;
            let mut books = Books { connection: &mut connection, net: self.net.id, pages: &mut Pages::default() };
            Ok(books.balance(&address, token.as_deref()).await?)
        })
    }

    fn sequence<'a>(&'a self, address: &'a str) -> Answer<'a, u64> {
        Box::pin(async move {
            let address = self.read_address(address)?;
            self.ask().await?;
            let mut connection = self.shared.readers.acquire().await.map_err(StoreError::from)?;
            let mut books = Books { connection: &mut connection, net: self.net.id, pages: &mut Pages::default() };
            Ok(books.sender(&address).await?.sequence)
        })
    }

    fn submit<'a>(&'a self, raw: &'a str) -> Answer<'a, Submission> {
        Box::pin(async move {
            let silence = self.delay().await;
            if silence == Silence::Lost {
                return Err(ChainError::Timeout);
            }
            let now_ms = (self.shared.clock)();
            let answer = match read(self.facts(), raw, now_ms, self.net.head(now_ms)) {
                Err(refusal) => Ok(refusal.into()),
                Ok(incoming) => self.shared.hand_in(&self.net, Work::Take(incoming)).await,
            };
            if silence == Silence::Taken { Err(ChainError::Timeout) } else { answer }
        })
    }

    fn find_transaction<'a>(&'a self, hash: &'a str) -> Answer<'a, Option<Transaction>> {
        Box::pin(async move {
            let found = self.find_transactions(std::slice::from_ref(&hash.to_owned())).await?;
            Ok(found.into_iter().next().flatten())
        })
    }

    fn find_transactions<'a>(&'a self, hashes: &'a [String]) -> Answer<'a, Vec<Option<Transaction>>> {
        Box::pin(async move {
            if hashes.len() > HASHES_MAX {
                return Err(ChainError::TooMany { max: HASHES_MAX as u64 });
            }
            self.ask().await?;
            let found = self.read_transactions(hashes).await?;
            Ok(hashes.iter().map(|hash| found.get(hash).cloned()).collect())
        })
    }

    fn transfers<'a>(&'a self, question: &'a TransferQuestion) -> Answer<'a, TransferPage> {
        Box::pin(async move {
            if question.recipients.as_ref().is_some_and(|recipients| recipients.len() > ADDRESSES_MAX) {
                return Err(ChainError::TooMany { max: ADDRESSES_MAX as u64 });
            }
            self.ask().await?;
            Ok(self.read_transfers(question).await?)
        })
    }

    fn request_coins<'a>(&'a self, wish: &'a Wish) -> Answer<'a, Submission> {
        Box::pin(async move {
            if !self.facts().has_faucet {
                return Err(ChainError::NoFaucet);
            }
            let mut gift = self.gift(&wish.address, wish.token.as_deref(), wish.amount)?;
            let token = gift.token.as_ref().and_then(|address| self.facts().find_token(address));
            let most = match token {
                Some(token) => whole_units(GIFT.1, token.decimals),
                None => whole_units(GIFT.0, self.facts().decimals),
            };
            if wish.amount == 0 || wish.amount > most || wish.key.len() > WISH_KEY_CHARS_MAX {
                return Ok(Submission::Refused { reason: format!("the faucet gives from 1 to {most} base units") });
            }
            gift.key = Some(wish.key.clone());
            let silence = self.delay().await;
            if silence == Silence::Lost {
                return Err(ChainError::Timeout);
            }
            let answer = self.shared.hand_in(&self.net, Work::Give(gift)).await;
            if silence == Silence::Taken { Err(ChainError::Timeout) } else { answer }
        })
    }

    fn changed(&self) -> futures_util::future::BoxFuture<'_, ()> {
        // Made now: it hears of everything from here on.
        let changed = self.net.changes.notified();
        Box::pin(async move {
            tokio::select! {
                () = changed => {}
                () = self.block_with_something() => {}
            }
        })
    }
}

impl SimulatedChain {
    /// Whether and how late a node answers today.
    async fn delay(&self) -> Silence {
        let faults = self.faults();
        if faults.slow_ms > 0 {
            tokio::time::sleep(Duration::from_millis(faults.slow_ms)).await;
        }
        faults.silence
    }

    /// The head, once all up to it is filled.
    async fn ask(&self) -> Result<u64, ChainError> {
        match self.delay().await {
            Silence::Off => Ok(self.advance().await?),
            Silence::Lost | Silence::Taken => Err(ChainError::Timeout),
        }
    }

    /// Fills what is due.
    pub(super) async fn advance(&self) -> Result<u64, StoreError> {
        let head = self.net.head((self.shared.clock)());
        if self.net.due.load(SeqCst) > head {
            return Ok(head);
        }
        let mut writer = self.shared.writer.lock().await;
        // Others may have waited for the writer at the same time, and moved the clock.
        let head = self.net.head((self.shared.clock)());
        let mut writing = Writing::begin(&mut writer).await?;
        let mut books = writing.books(self.net.id);
        let is_something = self.net.fill(&mut books, head).await?;
        let due = books.next_ready().await?;
        writing.commit().await?;
        self.net.due.store(due.unwrap_or(u64::MAX), SeqCst);
        if is_something {
            self.net.changes.notify_waiters();
        }
        Ok(head)
    }

    /// Ends when a block that will hold something is there, and filled. Where nothing waits, somebody has to come first.
    async fn block_with_something(&self) {
        loop {
            let due = self.net.due.load(SeqCst);
            if due == u64::MAX {
                return std::future::pending().await;
            }
            let now_ms = (self.shared.clock)();
            if self.net.head(now_ms) >= due && self.advance().await.is_ok() {
                return;
            }
            // Not longer than a block: the clock is somebody else's.
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
                price: SUN_A_UNIT.into(),
                coin_fee: TRON_FEES.0.into(),
                token_fee: TOKEN_ENERGY_FEE.saturating_add(TRON_FEES.1).into(),
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

    /// By hash.
    async fn read_transactions(&self, hashes: &[String]) -> Result<HashMap<String, Transaction>, StoreError> {
        let json = serde_json::to_string(hashes).map_err(|_| StoreError::Broken("a question"))?;
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
        .bind(serde_json::to_string(&done).map_err(|_| StoreError::Broken("a question"))?)
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
        if state == State::Waiting && is_over(&read_plan(&plan)?, &self.net.timeline.lock(), head) {
            return Ok(None);
        }
        let block = block.map(count);
        let confirmations = block.map_or(0, |height| head.saturating_sub(height).saturating_add(1));
        let fee = fee.map_or(Ok(U256::ZERO), |blob| amount(&blob))?;
        Ok(Some(Transaction { hash, sender, state, block, confirmations, fee, movements: Vec::new() }))
    }

    async fn read_transfers(&self, question: &TransferQuestion) -> Result<TransferPage, StoreError> {
        let limit = question.limit.clamp(1, TRANSFERS_MAX);
        let after = question.after.map_or((-1, -1), |place| (int(place.height), i64::from(place.index)));
        let sql = match &question.recipients {
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
        let mut query = sqlx::query_as(sql)
            .bind(self.net.id)
            .bind(int(question.from))
            .bind(int(question.to))
            .bind(after.0)
            .bind(after.1)
            .bind(i64::from(limit) + 1);
        if let Some(recipients) = &question.recipients {
            query = query.bind(serde_json::to_string(recipients).map_err(|_| StoreError::Broken("a question"))?);
        }
        let rows: Vec<MovementRow> = query.fetch_all(&self.shared.readers).await?;
        let is_cut = rows.len() > limit as usize;
        let rows = rows.into_iter().take(limit as usize);
        let transfers = rows.map(read_transfer).collect::<Result<Vec<_>, _>>()?;
        let next = transfers.last().map(|transfer| transfer.place).filter(|_| is_cut);
        Ok(TransferPage { transfers, next })
    }
}

fn read_transfer(row: MovementRow) -> Result<Transfer, StoreError> {
    let (block, place, hash, position, sender, recipient, token, blob) = row;
    let number = |value: i64| u32::try_from(value).map_err(|_| StoreError::Broken("a movement"));
    let token = Some(token).filter(|token| !token.is_empty());
    let movement = Movement { position: number(position)?, sender, recipient, token, amount: amount(&blob)? };
    Ok(Transfer { place: Place { height: count(block), index: number(place)? }, hash, movement })
}
