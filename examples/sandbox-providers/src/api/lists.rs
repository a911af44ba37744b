//! /v1/sanctions/lists: the operator's lists, each replaced as a whole. A version comes in chunks; until the last of them is here the
//! version before counts, from its commit on the new one.

use sha2::{Digest, Sha256};
use tenon_plugin::{Answer, Call, Outcome, Stop, json as text, time};

use super::form::Form;
use crate::records::{self, Entry, List, Loading, Version};
use crate::rules::limits::{
    ADDRESS_CHARS_MAX, CHUNK_ENTRIES_MAX, CHUNKS_MAX, ENTRY_NAME_CHARS_MAX, LISTS_MAX, TEXT_CHARS_MAX,
};
use crate::rules::{sanctions, signature};
use crate::words::{self, No};

/// One chunk of a version.
struct Chunk {
    version: String,
    published_at: u64,
    number: u32,
    chunks: u32,
    entries: Vec<Given>,
    hash: String,
}

struct Given {
    address: String,
    asset: Option<String>,
    name: Option<String>,
    source_id: Option<String>,
}

fn name<'a>(call: &Call<'a>) -> Result<&'a str, Stop> {
    Some(call.parameter("name")).filter(|name| sanctions::is_list_name(name)).ok_or_else(words::not_found)
}

pub fn list(call: &Call) -> Outcome {
    let lists = records::list_lists(call)?;
    let shown = lists.iter().map(show_list).collect::<Result<Vec<_>, _>>()?;
    Ok(Answer::ok(["{\"lists\":", &text::array(shown.iter().map(String::as_str)), "}"].concat()))
}

pub fn show(call: &Call) -> Outcome {
    let list = records::find_list(call, name(call)?)?.ok_or_else(words::not_found)?;
    Ok(Answer::ok(show_list(&list)?))
}

pub fn delete(call: &Call) -> Outcome {
    let list = records::find_list(call, name(call)?)?.ok_or_else(words::not_found)?;
    let loads = list.current.iter().map(|version| &version.load);
    for load in loads.chain(list.loading.iter().map(|loading| &loading.load)) {
        records::drop_load(call, &list.name, load)?;
    }
    records::delete_list(call, &list.name)?;
    Ok(Answer::empty())
}

/// A chunk again changes nothing; another version than the one that is being loaded begins anew.
pub fn put(call: &Call) -> Outcome {
    let (name, chunk) = (name(call)?, read(&Form::new(call)?)?);
    let found = records::find_list(call, name)?;
    if found.is_none() && records::list_lists(call)?.len() >= LISTS_MAX as usize {
        return Err(words::wrong("name", &["must be one of at most ", &LISTS_MAX.to_string(), " lists"].concat()));
    }
    let mut list = found.unwrap_or_else(|| List::new(name.to_owned()));
    if list.current.as_ref().is_some_and(|current| current.version == chunk.version) {
        return Ok(Answer::ok(show_list(&list)?));
    }
    let mut loading = match list.loading.take() {
        Some(loading) if loading.version == chunk.version => loading,
        other => {
            if let Some(other) = other {
                records::drop_load(call, name, &other.load)?;
            }
            begin(call, &chunk)
        }
    };
    if loading.chunks != chunk.chunks || loading.published_at != chunk.published_at {
        return Err(No::Conflict.into());
    }
    match loading.received.get(&chunk.number) {
        Some((hash, _)) if *hash != chunk.hash => return Err(No::Conflict.into()),
        Some(_) => {}
        None => receive(call, name, &mut loading, chunk)?,
    }
    settle(call, &mut list, loading)?;
    records::put_list(call, &list)?;
    Ok(Answer::ok(show_list(&list)?))
}

fn begin(call: &Call, chunk: &Chunk) -> Loading {
    Loading {
        load: call.next("sanctions-load").to_string(),
        version: chunk.version.clone(),
        published_at: chunk.published_at,
        chunks: chunk.chunks,
        received: std::collections::BTreeMap::new(),
    }
}

fn receive(call: &Call, list: &str, loading: &mut Loading, chunk: Chunk) -> Result<(), Stop> {
    let entry = |given: Given| Entry {
        list: list.to_owned(),
        load: loading.load.clone(),
        key: sanctions::key(&given.address),
        address: given.address,
        asset: given.asset,
        name: given.name,
        source_id: given.source_id,
    };
    let entries: Vec<Entry> = chunk.entries.into_iter().map(entry).collect();
    records::put_entries(call, chunk.number, &entries)?;
    loading.received.insert(chunk.number, (chunk.hash, entries.len() as u64));
    Ok(())
}

/// The version counts from here on, where all of it has come.
fn settle(call: &Call, list: &mut List, loading: Loading) -> Result<(), Stop> {
    if (loading.received.len() as u64) < u64::from(loading.chunks) {
        list.loading = Some(loading);
        return Ok(());
    }
    let version = Version {
        load: loading.load,
        version: loading.version,
        published_at: loading.published_at,
        imported_at: call.now(),
        entries: loading.received.values().map(|(_, entries)| entries).sum(),
    };
    if let Some(before) = list.current.replace(version) {
        records::drop_load(call, &list.name, &before.load)?;
    }
    Ok(())
}

fn read(form: &Form) -> Result<Chunk, Stop> {
    let version = form.text("version", TEXT_CHARS_MAX)?;
    if !sanctions::is_version(&version) {
        return Err(form.wrong("version", "may have letters, digits and -_. only"));
    }
    let published_at = time::parse(&form.short("published_at")?);
    let published_at = published_at.ok_or_else(|| form.wrong("published_at", "must be a time"))?;
    let (number, chunks) = (form.count("chunk")?, form.count("chunks")?);
    if !(1..=CHUNKS_MAX).contains(&chunks) || number >= chunks {
        let most = CHUNKS_MAX.to_string();
        return Err(form.wrong("chunk", &["must be below chunks, and chunks at most ", &most].concat()));
    }
    let given = form.list("entries")?;
    if !(1..=CHUNK_ENTRIES_MAX).contains(&given.len()) {
        let most = CHUNK_ENTRIES_MAX.to_string();
        return Err(form.wrong("entries", &["must have between 1 and ", &most, " members"].concat()));
    }
    let mut hash = Sha256::new();
    let mut entries = Vec::with_capacity(given.len());
    for entry in &given {
        hash.update(entry.get().as_bytes());
        hash.update([0]);
        entries.push(read_entry(&Form::member(entry.get(), "entries")?)?);
    }
    Ok(Chunk { version, published_at, number, chunks, entries, hash: signature::hex(&hash.finalize()) })
}

fn read_entry(form: &Form) -> Result<Given, Stop> {
    let address = form.text("address", ADDRESS_CHARS_MAX)?;
    if !sanctions::is_address(&address) {
        return Err(form.wrong("address", "must be an address without blanks"));
    }
    Ok(Given {
        address,
        asset: form.optional("asset", TEXT_CHARS_MAX)?,
        name: form.optional("name", ENTRY_NAME_CHARS_MAX)?,
        source_id: form.optional("source_id", TEXT_CHARS_MAX)?,
    })
}

fn show_list(list: &List) -> Result<String, Stop> {
    let current = list.current.as_ref().map(|current| {
        serde_json::json!({
            "version": current.version,
            "published_at": time::to_text(current.published_at),
            "imported_at": time::to_text(current.imported_at),
            "entries": current.entries,
        })
    });
    let loading = list.loading.as_ref().map(|loading| {
        serde_json::json!({
            "version": loading.version,
            "published_at": time::to_text(loading.published_at),
            "chunks": loading.chunks,
            "received": loading.received.keys().collect::<Vec<_>>(),
        })
    });
    text::to_text(&serde_json::json!({ "list": list.name, "current": current, "loading": loading }))
}
