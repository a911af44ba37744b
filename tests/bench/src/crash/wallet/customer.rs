//! One who asks a wallet for one thing after the other, and repeats what got no answer.
//!
//! What is asked for at a position follows from seed, name and position; a request that was sent is kept until it is answered.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use super::{
    chance::Chance,
    orders::{Ask, OURS, Order, Wish},
    scene::Place,
};
use crate::{
    crash::{POLL, SETTLED_WITHIN},
    program::Program,
    wallet::{Caller, text},
    wire::Answer,
};

/// Between two requests.
const PAUSE_MS: (u64, u64) = (10, 120);

pub struct Customer {
    name: String,
    seed: u64,
    place: Arc<Place>,
    position: u64,
    /// Sent, and nobody knows what became of it.
    pending: Option<Ask>,
    last: Option<String>,
    pub tally: Tally,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// References to the ids of the transactions that were acknowledged.
    pub made: Vec<(String, String)>,
    pub acknowledged: u64,
    pub refused: u64,
    /// Sent again after a restart.
    pub repeated: u64,
}

/// What an answer means for the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    Through,
    /// Somebody whom it needs does not answer.
    Later,
}

impl Customer {
    pub fn new(name: String, seed: u64, place: Arc<Place>) -> Customer {
        Customer { name, seed, place, position: 0, pending: None, last: None, tally: Tally::default() }
    }

    /// Until told to stop, or until the server is gone. An answer that should not be is an error.
    pub async fn go_on(&mut self, program: Caller, running: Arc<AtomicBool>) -> anyhow::Result<()> {
        let ended = self.ask_on(program, running).await;
        match ended {
            Err(error) if error.downcast_ref::<io::Error>().is_some() => Ok(()),
            ended => ended.with_context(|| format!("{} at {}", self.name, self.position)),
        }
    }

    async fn ask_on(&mut self, mut caller: Caller, running: Arc<AtomicBool>) -> anyhow::Result<()> {
        while running.load(Ordering::Relaxed) {
            let mut chance = Chance::of((self.seed, &self.name, self.position));
            tokio::time::sleep(Duration::from_millis(chance.between(PAUSE_MS))).await;
            if self.pending.is_none() {
                let wish = Wish::draw(&mut chance);
                let reference = format!("{OURS}{}-{}", self.name, self.position);
                let order = Order { place: &self.place, reference, chance, last: self.last.as_deref() };
                self.pending = order.ask(wish, &mut caller).await?;
            }
            match &self.pending {
                None => self.position += 1,
                Some(_) => self.send(&mut caller).await.map(drop)?,
            }
        }
        Ok(())
    }

    /// Repeats what got no answer until it is answered.
    pub async fn finish(&mut self, program: &Program) -> anyhow::Result<()> {
        let mut caller = self.place.wallet.caller(program);
        let until = Instant::now() + SETTLED_WITHIN;
        self.tally.repeated += u64::from(self.pending.is_some());
        while self.pending.is_some() {
            let heard = self.send(&mut caller).await.with_context(|| format!("{} at {}", self.name, self.position))?;
            if heard == Heard::Later {
                ensure!(Instant::now() < until, "{}: {:?} is not answered", self.name, self.pending);
                tokio::time::sleep(POLL).await;
            }
        }
        Ok(())
    }

    pub fn caller(&self, program: &Program) -> Caller {
        self.place.wallet.caller(program)
    }

    async fn send(&mut self, caller: &mut Caller) -> anyhow::Result<Heard> {
        let Some(ask) = self.pending.clone() else { return Ok(Heard::Through) };
        let answer = caller.send("POST", &ask.path, &ask.body).await?;
        let heard = self.hear(&ask, &answer)?;
        if heard == Heard::Through {
            self.pending = None;
            self.position += 1;
        }
        Ok(heard)
    }

    fn hear(&mut self, ask: &Ask, answer: &Answer) -> anyhow::Result<Heard> {
        match answer.status {
            200..300 => {
                self.note(ask, answer.json().get("data").unwrap_or(&Value::Null))?;
                self.tally.acknowledged += 1;
            }
            // Too little money or gas.
            422 => self.tally.refused += 1,
            409 if ask.may_conflict => self.tally.refused += 1,
            429 | 503 => return Ok(Heard::Later),
            status => bail!("{ask:?}: {status} {}", String::from_utf8_lossy(&answer.body)),
        }
        Ok(Heard::Through)
    }

    /// Which transactions it has made: a batch as many as it has references, in their order.
    fn note(&mut self, ask: &Ask, data: &Value) -> anyhow::Result<()> {
        if ask.references.is_empty() {
            return Ok(());
        }
        let rows = data.as_array().map_or(std::slice::from_ref(data), Vec::as_slice);
        ensure!(rows.len() == ask.references.len(), "{ask:?} was answered with {} transactions", rows.len());
        for (row, reference) in rows.iter().zip(&ask.references) {
            ensure!(text(row, "reference")? == *reference, "{ask:?} was answered with {data}");
            let id = text(row, "id")?;
            self.last = Some(id.clone());
            self.tally.made.push((reference.clone(), id));
        }
        Ok(())
    }
}
