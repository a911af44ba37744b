//! Access to the environment of the host through WASI. Each route answers with the values that it got.

use std::{
    collections::hash_map::RandomState,
    hash::BuildHasher,
    net::TcpStream,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::{Route, refuse};

static CALLS: AtomicU64 = AtomicU64::new(0);

pub const ROUTES: &[Route] = &[
    // The guest sleeps for 30 s. The deadline of the call must end it.
    ("sleep", |_| {
        let before = Instant::now();
        std::thread::sleep(Duration::from_secs(30));
        refuse(200, format!(r#"{{"slept-ms":{}}}"#, before.elapsed().as_millis()))
    }),
    ("clock", |request| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        refuse(200, format!(r#"{{"wasi":{now},"call":{}}}"#, request.now))
    }),
    ("environment", |_| {
        let count = std::env::vars_os().count() + std::env::args_os().count();
        refuse(200, format!(r#"{{"count":{count}}}"#))
    }),
    ("files", |_| {
        let read = std::fs::read("/etc/passwd").is_ok() || std::fs::read_dir("/").is_ok();
        let written = std::fs::write("/tmp/misbehave", "here").is_ok();
        refuse(200, format!(r#"{{"read":{read},"written":{written}}}"#))
    }),
    ("network", |_| {
        let connected = TcpStream::connect(("127.0.0.1", 9090)).is_ok();
        refuse(200, format!(r#"{{"connected":{connected}}}"#))
    }),
    // Must be equal in every run of one call. A test checks that two calls get different values.
    ("random", |_| refuse(200, format!(r#"{{"value":"{:016x}"}}"#, RandomState::new().hash_one(1)))),
    // Must always answer 1, because no state is kept between calls.
    ("remember", |_| refuse(200, format!(r#"{{"calls":{}}}"#, CALLS.fetch_add(1, Ordering::Relaxed) + 1))),
];
