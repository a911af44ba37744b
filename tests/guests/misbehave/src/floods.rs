//! Excessive use of allowed operations: host calls, bytes, log lines, events, records.

use std::hint::black_box;

use crate::{
    Route, commit,
    tenon::plugin::{events, ids, log, records},
};

pub const ROUTES: &[Route] = &[
    ("flood-calls", |_| {
        loop {
            black_box(records::get("things", "none"));
        }
    }),
    ("flood-log", |_| {
        let line = "x".repeat(1 << 20);
        loop {
            log::write(log::Level::Error, &line, &[]);
        }
    }),
    ("many-lines", |_| {
        for _ in 0..5_000 {
            log::write(log::Level::Error, "a short line", &[]);
        }
        commit("{}")
    }),
    ("flood-output", |_| {
        let line = "x".repeat(1 << 16);
        loop {
            println!("{line}");
        }
    }),
    ("flood-events", |_| {
        loop {
            events::emit("thing.changed", "flood", "{}");
        }
    }),
    ("flood-records", |_| {
        let mut count = 0u64;
        loop {
            count += 1;
            let _ = records::insert("things", &format!("flood-{count}"), r#"{"colour":"red"}"#);
        }
    }),
    ("flood-random", |_| {
        loop {
            black_box(ids::random(u32::MAX));
        }
    }),
    ("flood-ids", |_| {
        let many = vec!["none".to_owned(); 200_000];
        loop {
            black_box(records::get_many("things", &many));
        }
    }),
];
