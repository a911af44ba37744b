//! Conversions between the types of the guest side and of the host side: two bindings of one contract, equal except
//! for their names.

use tenon_bindings::{
    exports::tenon::plugin::handler as host,
    tenon::plugin::{log as host_log, records as host_records, types as host_types},
};
use tenon_plugin::{
    host::{Comparison, Condition, Entry, Level, Page, Pair, Query, RecordRefusal, Value},
    wire,
};

pub fn request(request: &host::Request) -> wire::Request {
    wire::Request {
        operation: request.operation.clone(),
        method: request.method.clone(),
        path: request.path.clone(),
        parameters: pairs(&request.parameters),
        query: pairs(&request.query),
        headers: pairs(&request.headers),
        content: match &request.content {
            host_types::Content::Empty => wire::Content::Empty,
            host_types::Content::Json(text) => wire::Content::Json(text.clone()),
            host_types::Content::Other(blob) => {
                wire::Content::Other(wire::Blob { media_type: blob.media_type.clone(), bytes: blob.bytes.clone() })
            }
        },
        principal: wire::Principal {
            tenant: request.principal.tenant.clone(),
            environment: request.principal.environment.clone(),
            kind: request.principal.kind.clone(),
            subject: request.principal.subject.clone(),
            scopes: request.principal.scopes.clone(),
            attributes: pairs(&request.principal.attributes),
        },
        id: request.id.clone(),
        now: request.now,
        context: pairs(&request.context),
    }
}

fn pairs(pairs: &[host_types::Pair]) -> Vec<Pair> {
    pairs.iter().map(|pair| Pair { name: pair.name.clone(), value: pair.value.clone() }).collect()
}

pub fn pair_in(pair: &Pair) -> host_types::Pair {
    host_types::Pair { name: pair.name.clone(), value: pair.value.clone() }
}

pub fn answer(answer: wire::Answer) -> host::Answer {
    match answer {
        wire::Answer::Commit(given) => host::Answer::Commit(response(given)),
        wire::Answer::Refuse(given) => host::Answer::Refuse(response(given)),
        wire::Answer::Wait => host::Answer::Wait,
        wire::Answer::Stream(feed) => {
            host::Answer::Stream(host::Feed { event_types: feed.event_types, subjects: feed.subjects })
        }
    }
}

fn response(response: wire::Response) -> host::Response {
    host::Response {
        status: response.status,
        headers: response.headers.iter().map(pair_in).collect(),
        content: match response.content {
            wire::Content::Empty => host_types::Content::Empty,
            wire::Content::Json(text) => host_types::Content::Json(text),
            wire::Content::Other(blob) => {
                host_types::Content::Other(host_types::Blob { media_type: blob.media_type, bytes: blob.bytes })
            }
        },
    }
}

pub fn entry(entry: host_records::Entry) -> Entry {
    Entry {
        id: entry.id,
        version: entry.version,
        body: entry.body,
        created_at: entry.created_at,
        updated_at: entry.updated_at,
    }
}

pub fn page(page: host_records::Page) -> Page {
    Page { entries: page.entries.into_iter().map(entry).collect(), next: page.next }
}

pub fn record_refusal(refusal: host_records::Refusal) -> RecordRefusal {
    use host_records::Refusal as From;
    match refusal {
        From::NotFound => RecordRefusal::NotFound,
        From::AlreadyExists => RecordRefusal::AlreadyExists,
        From::NotUnique(index) => RecordRefusal::NotUnique(index),
        From::TooLarge => RecordRefusal::TooLarge,
        From::BadCursor => RecordRefusal::BadCursor,
        From::Other(reason) => RecordRefusal::Other(reason),
    }
}

pub fn query(query: &Query) -> host_records::Query {
    let sort =
        query.sort.iter().map(|sort| host_records::Sort { field: sort.field.clone(), descending: sort.descending });
    host_records::Query {
        conditions: query.conditions.iter().map(condition).collect(),
        sort: sort.collect(),
        after: query.after.clone(),
        offset: query.offset,
        limit: query.limit,
    }
}

pub fn condition(condition: &Condition) -> host_records::Condition {
    use host_records::Comparison as To;
    let comparison = match &condition.comparison {
        Comparison::Equal(of) => To::Equal(value(of)),
        Comparison::NotEqual(of) => To::NotEqual(value(of)),
        Comparison::OneOf(of) => To::OneOf(of.iter().map(value).collect()),
        Comparison::Less(than) => To::Less(value(than)),
        Comparison::AtMost(of) => To::AtMost(value(of)),
        Comparison::More(than) => To::More(value(than)),
        Comparison::AtLeast(of) => To::AtLeast(value(of)),
        Comparison::StartsWith(text) => To::StartsWith(text.clone()),
        Comparison::Contains(of) => To::Contains(value(of)),
    };
    host_records::Condition { field: condition.field.clone(), comparison }
}

fn value(value: &Value) -> host_records::Value {
    match value {
        Value::Text(text) => host_records::Value::Text(text.clone()),
        Value::Integer(number) => host_records::Value::Integer(*number),
        Value::Number(number) => host_records::Value::Number(*number),
        Value::Boolean(boolean) => host_records::Value::Boolean(*boolean),
        Value::Null => host_records::Value::Null,
    }
}

pub fn level(level: Level) -> host_log::Level {
    match level {
        Level::Trace => host_log::Level::Trace,
        Level::Debug => host_log::Level::Debug,
        Level::Info => host_log::Level::Info,
        Level::Warn => host_log::Level::Warn,
        Level::Error => host_log::Level::Error,
    }
}
