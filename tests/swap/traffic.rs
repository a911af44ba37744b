//! Kept connections that ask without a pause, and notice everything that a caller would complain about: no answer, an
//! answer that is not 2xx, a connection that the host closed, an answer of a version older than one already seen.

#![allow(clippy::disallowed_methods, reason = "traffic has tasks of its own")]

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

use super::chameleons::{minor, until};
use crate::support::TestHost;

pub struct Traffic {
    state: Arc<State>,
    connections: Vec<JoinHandle<Seen>>,
}

struct State {
    address: SocketAddr,
    key: String,
    stopped: AtomicBool,
    answered: AtomicU64,
    /// The highest version that anybody was answered by.
    newest: AtomicU64,
}

#[derive(Debug, Default)]
pub struct Seen {
    pub answered: u64,
    pub complaints: Vec<String>,
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
            answered: AtomicU64::new(0),
            newest: AtomicU64::new(0),
        });
        let drive = |number| tokio::spawn(drive(state.clone(), prefix.to_owned(), number));
        let traffic = Traffic { connections: (0..connections).map(drive).collect(), state };
        traffic.flow().await;
        traffic
    }

    /// Until some more requests were answered on every connection, on average.
    pub async fn flow(&self) {
        let enough = self.state.answered.load(SeqCst) + 4 * self.connections.len() as u64;
        until("traffic flows", async || (self.state.answered.load(SeqCst) >= enough).then_some(())).await;
    }

    pub async fn stop(self) -> Seen {
        self.state.stopped.store(true, SeqCst);
        let mut all = Seen::default();
        for connection in self.connections {
            let seen = connection.await.unwrap();
            all.answered += seen.answered;
            all.complaints.extend(seen.complaints);
            all.versions.extend(seen.versions);
        }
        all
    }
}

impl Seen {
    #[track_caller]
    pub fn expect(self, versions: impl IntoIterator<Item = u64>) {
        assert!(self.complaints.is_empty(), "{} answers, and {:#?}", self.answered, self.complaints);
        assert_eq!(self.versions, versions.into_iter().collect());
    }
}

/// Asks for the version and changes a thing of its own, in turn.
async fn drive(state: Arc<State>, prefix: String, number: usize) -> Seen {
    let ask = request("GET", &format!("{prefix}/v1/version"), &state.key, &[], b"");
    let change = request("POST", &format!("{prefix}/v1/things/{number}/count"), &state.key, &[], b"{}");
    let mut seen = Seen::default();
    while !state.stopped.load(SeqCst) {
        if let Err(complaint) = keep_asking(&state, &[&ask, &change], &mut seen).await {
            seen.complaints.push(complaint);
            return seen;
        }
    }
    seen
}

async fn keep_asking(state: &State, [ask, change]: &[&[u8]; 2], seen: &mut Seen) -> Result<(), String> {
    let mut connection = Connection::open(state.address).await.map_err(|error| error.to_string())?;
    while !state.stopped.load(SeqCst) {
        for request in [ask, change] {
            let newest = state.newest.load(SeqCst);
            let answer = connection.exchange(request).await.map_err(|error| error.to_string())?;
            let text = String::from_utf8_lossy(&answer.body);
            if answer.status != 200 || connection.is_closing() {
                return Err(format!("{} {text}", answer.head));
            }
            if let Some(version) = answer.json()["version"].as_str().map(minor) {
                if version < newest {
                    return Err(format!("1.{version}.0 answered after 1.{newest}.0"));
                }
                state.newest.fetch_max(version, SeqCst);
                seen.versions.insert(version);
            }
            state.answered.fetch_add(1, SeqCst);
            seen.answered += 1;
        }
    }
    Ok(())
}
