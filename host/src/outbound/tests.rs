use std::{
    collections::HashMap,
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use parking_lot::Mutex;

use super::*;

mod addresses;
mod faults;
mod guard;
mod idle;
mod mixed;
mod receiver;
mod secure;
mod urls;

/// Results of lookups by name, one after the other. The last one stays.
#[derive(Default)]
struct Names {
    answers: Mutex<HashMap<&'static str, Vec<Vec<IpAddr>>>>,
    /// Party of each lookup.
    lookups: Mutex<Vec<Party>>,
}

impl Names {
    fn new(answers: &[(&'static str, &[&[&str]])]) -> Arc<Names> {
        let parse = |ips: &&[&str]| ips.iter().map(|ip| ip.parse().unwrap()).collect();
        let answers = answers.iter().map(|(name, rounds)| (*name, rounds.iter().rev().map(parse).collect()));
        Arc::new(Names { answers: Mutex::new(answers.collect()), lookups: Mutex::default() })
    }

    fn lookups(&self) -> usize {
        self.lookups.lock().len()
    }
}

impl Resolve for Names {
    fn lookup<'a>(&'a self, party: &'a Party, name: &'a str) -> Lookup<'a> {
        self.lookups.lock().push(party.clone());
        let mut answers = self.answers.lock();
        let found = answers.get_mut(name).map(|rounds| match rounds.len() {
            0 | 1 => rounds.first().cloned().unwrap_or_default(),
            _ => rounds.pop().unwrap(),
        });
        Box::pin(async move { found.ok_or_else(|| io::Error::other("no such name")) })
    }
}

fn client() -> Client {
    client_with(Names::new(&[]))
}

fn client_with(names: Arc<Names>) -> Client {
    Client::new(Roots::built_in(), names).unwrap()
}

fn allow(networks: &[&str]) -> AddressRule {
    AddressRule { allow: networks.iter().map(|network| network.parse().unwrap()).collect() }
}

/// Returns a rule like that of a test environment.
fn loopback() -> AddressRule {
    allow(&["127.0.0.0/8", "::1/128"])
}

/// Returns a call to any address. Whether it is allowed is checked when it is sent.
fn call(url: &str) -> OutboundCall {
    let target = check_url(url, &allow(&["0.0.0.0/0", "::/0"]), Scheme::HttpOrHttps).unwrap();
    OutboundCall {
        party: Party::Host,
        target,
        method: Method::POST,
        headers: HeaderMap::new(),
        body: Bytes::from_static(b"{\"type\":\"ping\"}"),
        within: Duration::from_secs(20),
        response_bytes_max: 1_000,
    }
}

fn call_at(address: SocketAddr) -> OutboundCall {
    call(&format!("http://{address}/hook?a=b"))
}
