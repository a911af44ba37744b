//! Keep-alive connections that send requests continuously and record every error that a client can detect: a missing
//! response, a status other than 200, a connection closed by the host, and a response of an older version than one
//! that was observed before the request.

#![allow(clippy::disallowed_methods, reason = "traffic runs in its own tasks")]

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
};

use tenon_bench::wire::{Connection, request};
use tokio::task::JoinHandle;

use super::chameleons::{minor, wait_until};
use crate::support::TestHost;

pub struct Traffic {
    state: Arc<State>,
    connections: Vec<JoinHandle<TrafficReport>>,
}

struct State {
    address: SocketAddr,
    key: String,
    stopped: AtomicBool,
    responses: AtomicU64,
    /// The highest version that has responded.
    newest: AtomicU64,
}

/// Responses, errors and versions observed by all connections.
#[derive(Debug, Default)]
pub struct TrafficReport {
    pub responses: u64,
    pub errors: Vec<String>,
    pub versions: BTreeSet<u64>,
}

impl Traffic {
    pub async fn start(host: &TestHost, plugin: &str, connections: usize) -> Traffic {
        let address = host.base().trim_start_matches("http://").parse().unwrap();
        let prefix = if plugin == "chameleon" { String::new() } else { format!("/{plugin}") };
        Traffic::at(address, &host.key(plugin, "traffic").await, &prefix, connections).await
    }

    pub async fn at(address: SocketAddr, key: &str, prefix: &str, connections: usize) -> Traffic {
        let state = Arc::new(State {
            address,
            key: key.to_owned(),
            stopped: AtomicBool::new(false),
            responses: AtomicU64::new(0),
            newest: AtomicU64::new(0),
        });
        let start = |number| tokio::spawn(send_requests(state.clone(), prefix.to_owned(), number));
        let traffic = Traffic { connections: (0..connections).map(start).collect(), state };
        traffic.wait_for_responses().await;
        traffic
    }

    /// Waits for some more responses: four for each connection on average.
    pub async fn wait_for_responses(&self) {
        let enough = self.state.responses.load(SeqCst) + 4 * self.connections.len() as u64;
        wait_until("traffic flows", async || (self.state.responses.load(SeqCst) >= enough).then_some(())).await;
    }

    pub async fn stop(self) -> TrafficReport {
        self.state.stopped.store(true, SeqCst);
        let mut all = TrafficReport::default();
        for connection in self.connections {
            let report = connection.await.unwrap();
            all.responses += report.responses;
            all.errors.extend(report.errors);
            all.versions.extend(report.versions);
        }
        all
    }
}

impl TrafficReport {
    #[track_caller]
    pub fn expect(self, versions: impl IntoIterator<Item = u64>) {
        assert!(self.errors.is_empty(), "{} responses, and {:#?}", self.responses, self.errors);
        assert_eq!(self.versions, versions.into_iter().collect());
    }
}

/// Alternately reads the version and changes a thing of this connection, until traffic stops or an error occurs.
async fn send_requests(state: Arc<State>, prefix: String, number: usize) -> TrafficReport {
    let read = request("GET", &format!("{prefix}/v1/version"), &state.key, &[], b"");
    let write = request("POST", &format!("{prefix}/v1/things/{number}/count"), &state.key, &[], b"{}");
    let mut report = TrafficReport::default();
    while !state.stopped.load(SeqCst) {
        if let Err(error) = use_connection(&state, &[&read, &write], &mut report).await {
            report.errors.push(error);
            return report;
        }
    }
    report
}

async fn use_connection(state: &State, [read, write]: &[&[u8]; 2], report: &mut TrafficReport) -> Result<(), String> {
    let mut connection = Connection::open(state.address).await.map_err(|error| error.to_string())?;
    while !state.stopped.load(SeqCst) {
        for request in [read, write] {
            let newest = state.newest.load(SeqCst);
            let response = connection.exchange(request).await.map_err(|error| error.to_string())?;
            let text = String::from_utf8_lossy(&response.body);
            if response.status != 200 || connection.is_closing() {
                return Err(format!("{} {text}", response.head));
            }
            if let Some(version) = response.json()["version"].as_str().map(minor) {
                if version < newest {
                    return Err(format!("1.{version}.0 responded after 1.{newest}.0"));
                }
                state.newest.fetch_max(version, SeqCst);
                report.versions.insert(version);
            }
            state.responses.fetch_add(1, SeqCst);
            report.responses += 1;
        }
    }
    Ok(())
}
