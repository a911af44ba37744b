//! Marks of the effects, read from the database: each mark is an event, and each event is read once.
//!
//! Checked invariants: each acknowledged effect has its mark, no mark is written twice, no task ran before its time,
//! and each delivered outcome matches the calls that the bank received.

use std::{collections::HashMap, path::Path};

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use sqlx::{Connection as _, Row};

use super::{
    bank::{ACCEPTED, Bank, REFUSED},
    in_ms, may_give_up,
};
use crate::crash::{Actor, open_database};

/// Number of delivered outcomes by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    pub answered: u64,
    pub not_sent: u64,
    pub unknown: u64,
}

#[derive(Default)]
pub struct Marks {
    /// Sequence number of the last event that was read.
    seq: i64,
    by_id: HashMap<String, Mark>,
    /// Number of marks of requests, of tasks and of outcomes.
    requests: u64,
    tasks: u64,
    outcomes: u64,
}

struct Mark {
    at: u64,
    what: Value,
}

impl Marks {
    /// Reads the new events. An event for an existing mark is an error.
    pub async fn read(&mut self, database: &Path) -> anyhow::Result<()> {
        let mut connection = open_database(database).await?;
        let new = sqlx::query("SELECT seq, subject, body FROM events WHERE type = 'marked' AND seq > ? ORDER BY seq");
        for row in new.bind(self.seq).fetch_all(&mut connection).await? {
            let (id, body): (String, &str) = (row.try_get(1)?, row.try_get(2)?);
            self.add(id, serde_json::from_str(body)?)?;
            self.seq = row.try_get(0)?;
        }
        Ok(connection.close().await?)
    }

    fn add(&mut self, id: String, body: Value) -> anyhow::Result<()> {
        let count = body.get("count").and_then(Value::as_u64);
        ensure!(count == Some(1), "{id} happened more than once: {body}");
        let at = body.get("at").and_then(Value::as_u64).with_context(|| format!("no time in {body}"))?;
        let what = body.get("what").cloned().with_context(|| format!("nothing in {body}"))?;
        match id.rsplit_once('-') {
            Some((_, "rang")) => self.tasks += 1,
            Some((_, "called")) => self.outcomes += 1,
            _ => self.requests += 1,
        }
        let before = self.by_id.insert(id, Mark { at, what });
        ensure!(before.is_none(), "two events of one mark: {body}");
        Ok(())
    }

    /// Returns true if the task and the outcome of every request have their marks.
    pub fn is_complete(&self) -> bool {
        self.tasks == self.requests && self.outcomes == self.requests
    }

    /// Checks all effects so far and returns the number of outcomes. The first violated invariant is the error.
    pub fn check(&self, actors: &[Actor], bank: &Bank) -> anyhow::Result<OutcomeCounts> {
        bank.check()?;
        let mut outcomes = OutcomeCounts::default();
        for Actor { name, position, .. } in actors {
            for position in 1..=*position {
                self.check_effect(&format!("{name}-{position}"), position, bank, &mut outcomes)?;
            }
        }
        let acknowledged: u64 = actors.iter().map(|actor| actor.position).sum();
        ensure!(self.requests == acknowledged, "{} effects for {acknowledged} acknowledged ones", self.requests);
        Ok(outcomes)
    }

    fn check_effect(&self, id: &str, position: u64, bank: &Bank, outcomes: &mut OutcomeCounts) -> anyhow::Result<()> {
        let request = self.by_id.get(id).with_context(|| format!("{id} was acknowledged and has no mark"))?;
        if let Some(task) = self.by_id.get(&format!("{id}-rang")) {
            let due = request.at + in_ms(position);
            ensure!(task.at >= due, "the task of {id} was due at {due} and ran at {}", task.at);
        }
        let call = format!("{id}-called");
        if let Some(mark) = self.by_id.get(&call) {
            outcomes.add(&call, &mark.what, may_give_up(position), bank)?;
        }
        Ok(())
    }

    /// Checks that each mark is one record, written once.
    pub async fn check_records(&self, database: &Path) -> anyhow::Result<()> {
        let mut connection = open_database(database).await?;
        let query = sqlx::query(
            "SELECT count(*), coalesce(sum(json_extract(body, '$.count') = 1), 0) FROM \"clockwork_marks\"",
        );
        let row = query.fetch_one(&mut connection).await?;
        let (records, once): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        let marks = i64::try_from(self.by_id.len())?;
        ensure!((records, once) == (marks, marks), "{marks} marks in {records} records, {once} of them written once");
        Ok(connection.close().await?)
    }

    /// Describes the progress, for error messages.
    pub fn progress(&self) -> String {
        format!("of {} effects {} tasks ran, {} outcomes were delivered", self.requests, self.tasks, self.outcomes)
    }
}

impl OutcomeCounts {
    /// Adds one outcome after comparing it with the calls that the bank received.
    fn add(&mut self, id: &str, outcome: &Value, may_give_up: bool, bank: &Bank) -> anyhow::Result<()> {
        let status = outcome.get("answered").and_then(Value::as_u64);
        if status == Some(ACCEPTED.into()) {
            ensure!(bank.has_accepted(id), "{id} was reported as accepted, and was not");
            self.answered += 1;
            return Ok(());
        }
        ensure!(may_give_up, "{id} had time to be accepted, and its outcome is {outcome}");
        if outcome.get("not-sent").is_some() {
            ensure!(!bank.has_received(id), "{id} was reported as not sent, and arrived");
            self.not_sent += 1;
        } else if outcome.get("unknown").is_some() {
            self.unknown += 1;
        } else if status == Some(REFUSED.into()) {
            ensure!(bank.has_received(id), "{id} was reported as refused, and never arrived");
            self.answered += 1;
        } else {
            bail!("{id} has the unexpected outcome {outcome}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
