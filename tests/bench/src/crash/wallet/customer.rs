//! Client of a wallet that sends one request after another, and repeats a request without a response.
//!
//! The operation at a position depends only on seed, name and position. Its request may also contain ids of earlier
//! responses. A request is stored until it is answered.

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
    random::Random,
    requests::{Operation, REFERENCE_PREFIX, RequestBuilder, WalletRequest},
    scenario::WalletSetup,
};
use crate::{
    crash::{POLL, SETTLE_TIMEOUT},
    program::Program,
    wallet::{Caller, text},
    wire::Response,
};

/// Range of the pause between two requests.
const PAUSE_MS: (u64, u64) = (10, 120);

pub struct Customer {
    name: String,
    seed: u64,
    setup: Arc<WalletSetup>,
    position: u64,
    /// The request that is not answered yet. If it was sent, its result is unknown.
    pending: Option<WalletRequest>,
    last: Option<String>,
    pub stats: CustomerStats,
}

/// Results of the requests.
#[derive(Clone, Debug, Default)]
pub struct CustomerStats {
    /// References and ids of acknowledged transactions.
    pub transactions: Vec<(String, String)>,
    pub acknowledged: u64,
    pub refused: u64,
    /// Requests that were repeated after a restart.
    pub repeated: u64,
}

/// Effect of a response on the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Done,
    /// The request has to be repeated, because a limit was exceeded or a service that it needs is unavailable.
    Retry,
}

impl Customer {
    pub fn new(name: String, seed: u64, setup: Arc<WalletSetup>) -> Customer {
        Customer { name, seed, setup, position: 0, pending: None, last: None, stats: CustomerStats::default() }
    }

    /// Sends requests until `running` is false or the server is gone. An unexpected response is an error.
    pub async fn run(&mut self, caller: Caller, running: Arc<AtomicBool>) -> anyhow::Result<()> {
        let result = self.send_requests(caller, running).await;
        match result {
            Err(error) if error.downcast_ref::<io::Error>().is_some() => Ok(()),
            result => result.with_context(|| format!("{} at {}", self.name, self.position)),
        }
    }

    async fn send_requests(&mut self, mut caller: Caller, running: Arc<AtomicBool>) -> anyhow::Result<()> {
        while running.load(Ordering::Relaxed) {
            let mut random = Random::from_parts((self.seed, &self.name, self.position));
            tokio::time::sleep(Duration::from_millis(random.between(PAUSE_MS))).await;
            if self.pending.is_none() {
                let operation = Operation::draw(&mut random);
                let reference = format!("{REFERENCE_PREFIX}{}-{}", self.name, self.position);
                let last = self.last.as_deref();
                let builder = RequestBuilder { setup: &self.setup, reference, random, last };
                self.pending = builder.build(operation, &mut caller).await?;
            }
            match &self.pending {
                None => self.position += 1,
                Some(_) => self.send(&mut caller).await.map(drop)?,
            }
        }
        Ok(())
    }

    /// Repeats the request without a response until it is answered.
    pub async fn finish(&mut self, program: &Program) -> anyhow::Result<()> {
        let mut caller = self.setup.wallet.caller(program);
        let until = Instant::now() + SETTLE_TIMEOUT;
        self.stats.repeated += u64::from(self.pending.is_some());
        while self.pending.is_some() {
            let progress =
                self.send(&mut caller).await.with_context(|| format!("{} at {}", self.name, self.position))?;
            if progress == Progress::Retry {
                ensure!(Instant::now() < until, "{}: {:?} is not answered", self.name, self.pending);
                tokio::time::sleep(POLL).await;
            }
        }
        Ok(())
    }

    pub fn caller(&self, program: &Program) -> Caller {
        self.setup.wallet.caller(program)
    }

    async fn send(&mut self, caller: &mut Caller) -> anyhow::Result<Progress> {
        let Some(request) = self.pending.clone() else { return Ok(Progress::Done) };
        let response = caller.send("POST", &request.path, &request.body).await?;
        let progress = self.handle_response(&request, &response)?;
        if progress == Progress::Done {
            self.pending = None;
            self.position += 1;
        }
        Ok(progress)
    }

    fn handle_response(&mut self, request: &WalletRequest, response: &Response) -> anyhow::Result<Progress> {
        match response.status {
            200..300 => {
                self.record_transactions(request, response.json().get("data").unwrap_or(&Value::Null))?;
                self.stats.acknowledged += 1;
            }
            // Too little money or gas.
            422 => self.stats.refused += 1,
            409 if request.may_conflict => self.stats.refused += 1,
            429 | 503 => return Ok(Progress::Retry),
            status => bail!("{request:?}: {status} {}", String::from_utf8_lossy(&response.body)),
        }
        Ok(Progress::Done)
    }

    /// Records the transactions of a request: as many as it has references, in the same order.
    fn record_transactions(&mut self, request: &WalletRequest, data: &Value) -> anyhow::Result<()> {
        if request.references.is_empty() {
            return Ok(());
        }
        let rows = data.as_array().map_or(std::slice::from_ref(data), Vec::as_slice);
        ensure!(rows.len() == request.references.len(), "{request:?} was answered with {} transactions", rows.len());
        for (row, reference) in rows.iter().zip(&request.references) {
            ensure!(text(row, "reference")? == *reference, "{request:?} was answered with {data}");
            let id = text(row, "id")?;
            self.last = Some(id.clone());
            self.stats.transactions.push((reference.clone(), id));
        }
        Ok(())
    }
}
