//! What came of the errands, read from the database: each mark is an event, and each event is read once.
//!
//! Invariants that are checked: what was acknowledged is marked; nothing is marked twice; no task ran before its time; what
//! was told of a call is what the bank saw.

use std::{collections::HashMap, path::Path};

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use sqlx::{Connection as _, Row};

use super::{
    bank::{ACCEPTED, Bank, REFUSED},
    in_ms, may_give_up,
};
use crate::crash::{Actor, open_database};

/// How many calls were told to have come to what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub answered: u64,
    pub not_sent: u64,
    pub unknown: u64,
}

#[derive(Default)]
pub struct Ledger {
    /// The number of the last event that was read.
    seq: i64,
    marks: HashMap<String, Mark>,
    /// Of the marks, those of requests, of tasks and of outcomes.
    asked: u64,
    rang: u64,
    called: u64,
}

struct Mark {
    at: u64,
    what: Value,
}

impl Ledger {
    /// What is new; an error where something happened twice.
    pub async fn read(&mut self, database: &Path) -> anyhow::Result<()> {
        let mut connection = open_database(database).await?;
        let new = sqlx::query("SELECT seq, subject, body FROM events WHERE type = 'marked' AND seq > ? ORDER BY seq");
        for row in new.bind(self.seq).fetch_all(&mut connection).await? {
            let (id, body): (String, &str) = (row.try_get(1)?, row.try_get(2)?);
            self.note(id, serde_json::from_str(body)?)?;
            self.seq = row.try_get(0)?;
        }
        Ok(connection.close().await?)
    }

    fn note(&mut self, id: String, body: Value) -> anyhow::Result<()> {
        let count = body.get("count").and_then(Value::as_u64);
        ensure!(count == Some(1), "{id} happened more than once: {body}");
        let at = body.get("at").and_then(Value::as_u64).with_context(|| format!("no time in {body}"))?;
        let what = body.get("what").cloned().with_context(|| format!("nothing in {body}"))?;
        match id.rsplit_once('-') {
            Some((_, "rang")) => self.rang += 1,
            Some((_, "called")) => self.called += 1,
            _ => self.asked += 1,
        }
        let before = self.marks.insert(id, Mark { at, what });
        ensure!(before.is_none(), "two events of one mark: {body}");
        Ok(())
    }

    /// Whether all that was asked for has happened.
    pub fn is_complete(&self) -> bool {
        self.rang == self.asked && self.called == self.asked
    }

    /// Of what has happened so far; an error where something can never hold.
    pub fn check(&self, actors: &[Actor], bank: &Bank) -> anyhow::Result<Told> {
        bank.check()?;
        let mut told = Told::default();
        for Actor { name, position, .. } in actors {
            for position in 1..=*position {
                self.check_errand(&format!("{name}-{position}"), position, bank, &mut told)?;
            }
        }
        let acknowledged: u64 = actors.iter().map(|actor| actor.position).sum();
        ensure!(self.asked == acknowledged, "{} errands for {acknowledged} that were acknowledged", self.asked);
        Ok(told)
    }

    fn check_errand(&self, id: &str, position: u64, bank: &Bank, told: &mut Told) -> anyhow::Result<()> {
        let asked = self.marks.get(id).with_context(|| format!("{id} was acknowledged and has no mark"))?;
        if let Some(rang) = self.marks.get(&format!("{id}-rang")) {
            let due = asked.at + in_ms(position);
            ensure!(rang.at >= due, "the task of {id} was due at {due} and ran at {}", rang.at);
        }
        let call = format!("{id}-called");
        if let Some(mark) = self.marks.get(&call) {
            told.add(&call, &mark.what, may_give_up(position), bank)?;
        }
        Ok(())
    }

    /// Each mark is one record, written once.
    pub async fn check_records(&self, database: &Path) -> anyhow::Result<()> {
        let mut connection = open_database(database).await?;
        let asked = sqlx::query(
            "SELECT count(*), coalesce(sum(json_extract(body, '$.count') = 1), 0) FROM \"clockwork_marks\"",
        );
        let row = asked.fetch_one(&mut connection).await?;
        let (records, once): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        let marks = i64::try_from(self.marks.len())?;
        ensure!((records, once) == (marks, marks), "{marks} marks in {records} records, {once} of them written once");
        Ok(connection.close().await?)
    }

    /// For the error: how far it has come.
    pub fn in_words(&self) -> String {
        format!("of {} errands {} tasks ran, {} outcomes were told", self.asked, self.rang, self.called)
    }
}

impl Told {
    /// One outcome, held against what the bank saw.
    fn add(&mut self, id: &str, outcome: &Value, may_give_up: bool, bank: &Bank) -> anyhow::Result<()> {
        let status = outcome.get("answered").and_then(Value::as_u64);
        if status == Some(ACCEPTED.into()) {
            ensure!(bank.has_accepted(id), "{id} is told to be accepted, and was not");
            self.answered += 1;
            return Ok(());
        }
        ensure!(may_give_up, "{id} had time to be accepted, and came to {outcome}");
        if outcome.get("not-sent").is_some() {
            ensure!(!bank.has_seen(id), "{id} is told to be not sent, and arrived");
            self.not_sent += 1;
        } else if outcome.get("unknown").is_some() {
            self.unknown += 1;
        } else if status == Some(REFUSED.into()) {
            ensure!(bank.has_seen(id), "{id} is told to be refused, and never arrived");
            self.answered += 1;
        } else {
            bail!("{id} came to {outcome}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
