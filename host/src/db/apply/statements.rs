//! Writes each kind of row of a batch.

use std::sync::{Arc, LazyLock};

use super::fold::{Folded, RecordState, TableWrites};
use super::rows::{ChunkedSql, Query, bind_field, int};
use super::script::Script;
use super::{AcceptedChanges, Batch};
use crate::changes::change_set::{Field, IdempotencyRecord, NewRecord, Transfer, Version};
use crate::changes::scope::Scope;
use crate::clock::Timestamp;
use crate::db::DbError;

static BATCHES: LazyLock<ChunkedSql> =
    LazyLock::new(|| ChunkedSql::insert("batches (id, last_version, at)", "(?,?,?)", ""));

pub(super) fn write_batch_id<'b>(script: &mut Script<'b>, batch: &'b Batch) {
    script.add(&BATCHES, vec![batch], |query, batch| {
        query.bind(batch.id.clone()).bind(int(batch.last_version)).bind(int(batch.at))
    });
}

/// Writes the records of a table.
///
/// Rows that are deleted or free a slot of a unique index are deleted first, because another record may take the slot.
pub(super) async fn write_records<'b>(script: &mut Script<'b>, writes: &'b TableWrites<'_>) -> Result<(), DbError> {
    let deleted: Vec<(&Arc<str>, &Arc<str>)> = writes
        .records
        .iter()
        .filter(|(_, state)| state.after.is_none() || state.frees_slot)
        .map(|(key, _)| *key)
        .collect();
    script.add(&writes.table.delete, deleted, |query, (tenant, id)| query.bind((*tenant).clone()).bind((*id).clone()));
    let mut upserts = Vec::with_capacity(writes.records.len());
    for ((tenant, id), state) in &writes.records {
        let Some(record) = state.after else { continue };
        upserts.push(Upsert { tenant, id, state, record, fields: fields_of(writes, state, record)? });
    }
    script.add(&writes.table.upsert, upserts, Upsert::bind);
    if let Some(table) = writes.newly_written() {
        table.save(script.connection().await?).await?;
    }
    Ok(())
}

struct Upsert<'a> {
    tenant: &'a Arc<str>,
    id: &'a Arc<str>,
    state: &'a RecordState<'a>,
    record: &'a NewRecord,
    fields: Vec<Field>,
}

fn fields_of(writes: &TableWrites<'_>, state: &RecordState<'_>, record: &NewRecord) -> Result<Vec<Field>, DbError> {
    writes.table.values(state.collection, record).map_err(|error| DbError::Corrupt(error.to_string()))
}

impl Upsert<'_> {
    fn bind(query: Query, row: &Self) -> Query {
        let query = query
            .bind(row.tenant.clone())
            .bind(row.id.clone())
            .bind(int(row.state.version))
            .bind(row.record.data_version)
            .bind(row.record.body.clone())
            .bind(int(row.record.created_at))
            .bind(int(row.record.updated_at));
        row.fields.iter().fold(query, bind_field)
    }
}

static GUARDS: LazyLock<ChunkedSql> = LazyLock::new(|| {
    ChunkedSql::insert(
        "guards (plugin, tenant, name, version)",
        "(?,?,?,?)",
        "ON CONFLICT DO UPDATE SET version = excluded.version",
    )
});

pub(super) fn write_guards<'b>(script: &mut Script<'b>, folded: &'b Folded<'_>) {
    let rows: Vec<_> = folded.guards.iter().collect();
    script.add(&GUARDS, rows, |query, ((plugin, tenant, name), version)| {
        query.bind((*plugin).clone()).bind((*tenant).clone()).bind((*name).clone()).bind(int(**version))
    });
}

static ACCOUNTS: LazyLock<ChunkedSql> = LazyLock::new(|| {
    ChunkedSql::insert(
        "accounts (plugin, tenant, account, external, version)",
        "(?,?,?,1,?)",
        "ON CONFLICT DO UPDATE SET external = 1, version = excluded.version",
    )
});

static BALANCES: LazyLock<ChunkedSql> = LazyLock::new(|| {
    ChunkedSql::insert(
        "balances (plugin, tenant, account, asset, amount, version)",
        "(?,?,?,?,?,?)",
        "ON CONFLICT DO UPDATE SET amount = excluded.amount, version = excluded.version",
    )
});

static TRANSFERS: LazyLock<ChunkedSql> = LazyLock::new(|| {
    ChunkedSql::insert(
        "transfers (plugin, tenant, id, version, debit, credit, asset, amount, memo, at)",
        "(?,?,?,?,?,?,?,?,?,?)",
        "",
    )
});

pub(super) fn write_ledger<'b>(script: &mut Script<'b>, folded: &'b Folded<'_>, batch: &'b Batch) {
    let rows: Vec<_> = folded.accounts.iter().collect();
    script.add(&ACCOUNTS, rows, |query, ((plugin, tenant, account), version)| {
        query.bind((*plugin).clone()).bind((*tenant).clone()).bind((*account).clone()).bind(int(**version))
    });
    let rows: Vec<_> = folded.balances.iter().collect();
    script.add(&BALANCES, rows, |query, (((plugin, tenant, account), asset), (balance, version))| {
        query
            .bind((*plugin).clone())
            .bind((*tenant).clone())
            .bind((*account).clone())
            .bind((*asset).clone())
            .bind(balance.amount.to_string())
            .bind(int(*version))
    });
    let rows = rows_of(batch, |changes| &changes.changes.transfers);
    script.add(&TRANSFERS, rows, bind_transfer);
}

fn bind_transfer(query: Query, (change, transfer): &(Change<'_>, &Transfer)) -> Query {
    query
        .bind(change.scope.plugin().clone())
        .bind(change.scope.tenant().clone())
        .bind(transfer.id.clone())
        .bind(int(change.version))
        .bind(transfer.debit.clone())
        .bind(transfer.credit.clone())
        .bind(transfer.asset.clone())
        .bind(transfer.amount.to_string())
        .bind(transfer.memo.clone())
        .bind(int(change.now))
}

static IDEMPOTENCY_RECORDS: LazyLock<ChunkedSql> = LazyLock::new(|| {
    ChunkedSql::insert("answers (plugin, tenant, name, version, fingerprint, sealed, at)", "(?,?,?,?,?,?,?)", "")
});

pub(super) fn write_idempotency_records<'b>(script: &mut Script<'b>, batch: &'b Batch) {
    let rows = rows_of(batch, |changes| changes.changes.idempotency_record.as_slice());
    script.add(&IDEMPOTENCY_RECORDS, rows, |query, (change, record): &(Change<'_>, &IdempotencyRecord)| {
        query
            .bind(change.scope.plugin().clone())
            .bind(change.scope.tenant().clone())
            .bind(record.name.clone())
            .bind(int(change.version))
            .bind(record.fingerprint.to_vec())
            .bind(record.sealed.to_vec())
            .bind(int(change.now))
    });
}

/// Values that a row takes from its change set.
#[derive(Clone, Copy)]
struct Change<'a> {
    scope: &'a Scope,
    now: Timestamp,
    version: Version,
}

fn rows_of<'a, T>(batch: &'a Batch, part: impl Fn(&'a AcceptedChanges) -> &'a [T]) -> Vec<(Change<'a>, &'a T)> {
    let rows_of = |accepted: &'a AcceptedChanges| {
        let change = Change { scope: &accepted.changes.scope, now: accepted.changes.now, version: accepted.version };
        part(accepted).iter().map(move |row| (change, row))
    };
    batch.changes.iter().flat_map(rows_of).collect()
}
