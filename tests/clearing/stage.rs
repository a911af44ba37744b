//! Hosts with their sides, and whom they talk to.
//!
//! - `both`: the platform "hub" and the partner "bank" on one host, each calling the other over HTTP with tokens of it.
//! - `bank`: the partner alone; the test plays the platform and the bank's own system (`peer`).
//! - `hub`: the platform alone; the test plays the partner (`peer`).
//! - `both_now`: both on the clock of this machine, for tests that have something between them (`reach_through`).
//!
//! The clock is the test's. `finish` looks at what happened on each side and checks what the test claims to cover; a stage
//! that was not finished fails its test.

use serde_json::{Value, json};
use tenon::clock::Clock;
use tenon_bench::clearing::GRANTS;

use super::{
    START_MS,
    actor::Actor,
    coverage::{Seen, Side},
    messages::{ACCOUNT, PROXY},
};
use crate::support::{
    FinishGuard, ReceivedRequest, ReceiverResponse, Response, TestClient, TestHost, TestReceiver, component, eventually,
};

pub struct Stage {
    pub host: TestHost,
    /// Staff of the platform, of the partner.
    pub hub: Actor,
    pub bank: Actor,
    /// The platform when it calls the partner; the partner when it calls the platform.
    pub to_bank: Actor,
    pub to_hub: Actor,
    /// Whoever is not on this host.
    pub peer: TestReceiver,
    sides: &'static [Side],
    seen: Seen,
    covers: Vec<&'static str>,
    unfinished: FinishGuard,
}

impl Stage {
    pub async fn both() -> Stage {
        Stage::both_with("").await
    }

    /// `settings`: more lines of the partner's table, and tables behind it.
    pub async fn both_with(settings: &str) -> Stage {
        Stage::start(&[Side::Bank, Side::Hub], settings, json!({}), Clock::manual(START_MS)).await
    }

    /// `partner`: more members of the partner "bank-a".
    pub async fn both_for(partner: Value) -> Stage {
        Stage::start(&[Side::Bank, Side::Hub], "", partner, Clock::manual(START_MS)).await
    }

    pub async fn both_now(settings: &str) -> Stage {
        Stage::start(&[Side::Bank, Side::Hub], settings, json!({}), Clock::system()).await
    }

    /// `settings`: more lines of the partner's table, or others of it; and tables behind it.
    pub async fn bank(settings: &str) -> Stage {
        Stage::start(&[Side::Bank], settings, json!({}), Clock::manual(START_MS)).await
    }

    /// `partner`: more members of the partner "bank-a".
    pub async fn hub(partner: Value) -> Stage {
        Stage::start(&[Side::Hub], "", partner, Clock::manual(START_MS)).await
    }

    /// Rows of `coverage` that this test exercises.
    pub fn covers(mut self, claims: &[&'static str]) -> Stage {
        self.covers.extend(claims);
        self
    }

    async fn start(sides: &'static [Side], settings: &str, partner: Value, clock: Clock) -> Stage {
        let peer = TestReceiver::start(ReceiverResponse::Status(202)).await;
        let host = TestHost::builder().plugin("clearing", component("clearing"), &section(settings));
        let host = host.clock(clock).start().await;
        let seen = Seen::default();
        let [hub, bank, to_bank, to_hub] =
            [("hub", true), ("bank", true), ("bank", false), ("hub", false)].map(|of| (of, &host, &seen));
        let actor = async |((organization, is_staff), host, seen): ((&str, bool), &TestHost, &Seen)| {
            Actor::new(host, organization, if is_staff { &[] } else { MESSAGES }, seen).await
        };
        let stage = Stage {
            hub: actor(hub).await,
            bank: actor(bank).await,
            to_bank: actor(to_bank).await,
            to_hub: actor(to_hub).await,
            host,
            peer,
            sides,
            seen,
            covers: Vec::new(),
            unfinished: FinishGuard::default(),
        };
        stage.open_books(partner).await;
        stage
    }

    /// The host stops and starts again, on other ports: the peer is found as before, the other side is not. `meanwhile`: what
    /// is done while it is down.
    pub async fn reopen(self, meanwhile: impl FnOnce()) -> Stage {
        let Stage { host, hub, bank, to_bank, to_hub, peer, sides, seen, covers, unfinished } = self;
        let host = host.restart_after(meanwhile).await;
        let [hub, bank, to_bank, to_hub] = [hub, bank, to_bank, to_hub].map(|actor| actor.at(&host));
        Stage { host, hub, bank, to_bank, to_hub, peer, sides, seen, covers, unfinished }
    }

    /// From now on each side finds the other at this address, which leads to the host.
    pub async fn reach_through(&self, base: &str) {
        let [bank, hub] = [&self.to_bank, &self.to_hub].map(|client| self.reached_at(base, client));
        let partner = json!({
            "payment_schemes": ["ZA_RTC", "ZA_RPP", "ZA_EFT"], "client_ids": [self.to_hub.client_id], "destination": bank,
        });
        self.hub.put("/v1/clearing/partners/bank-a", partner).await.check(200);
        self.bank.put("/v1/clearing/destinations/platform", hub).await.check(200);
    }

    /// An open account at the partner, and the partner "bank-a" at the platform.
    async fn open_books(&self, partner: Value) {
        if self.sides.contains(&Side::Bank) {
            let account = json!({"account_number": ACCOUNT, "proxies": [PROXY]});
            self.bank.post("/v1/clearing/accounts", account).await.check(201);
            let platform = self.reached_with(&self.to_hub);
            self.bank.put("/v1/clearing/destinations/platform", platform).await.check(200);
            let core = json!({"base_url": format!("{}/core", self.peer.base()), "kind": "none"});
            self.bank.put("/v1/clearing/destinations/bank", core).await.check(200);
        }
        if self.sides.contains(&Side::Hub) {
            let mut body = json!({
                "id": "bank-a", "payment_schemes": ["ZA_RTC", "ZA_RPP", "ZA_EFT"],
                "client_ids": [self.to_hub.client_id], "destination": self.reached_with(&self.to_bank),
            });
            body.as_object_mut().unwrap().extend(partner.as_object().unwrap().clone());
            self.hub.post("/v1/clearing/partners", body).await.check(201);
        }
    }

    /// Where the other side is: on this host, as this client of its, or played by the peer.
    fn reached_with(&self, client: &Actor) -> Value {
        if self.sides.len() == 1 {
            return json!({"base_url": format!("{}/v1", self.peer.base()), "kind": "none"});
        }
        self.reached_at(self.host.base(), client)
    }

    fn reached_at(&self, base: &str, client: &Actor) -> Value {
        json!({
            "base_url": format!("{base}/v1"), "kind": "oauth2",
            "token_url": format!("{}/oauth2/token", self.host.base()),
            "client_id": client.client_id, "client_secret": client.secret,
        })
    }

    /// One more client of an organization ("bank", "bank/live"); without scopes: with all of them.
    pub async fn client(&self, tenant: &str, scopes: &[&str]) -> Actor {
        Actor::new(&self.host, tenant, scopes, &self.seen).await
    }

    /// Whoever has no token, or another one.
    pub async fn knock(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Response {
        let answer = TestClient::new(self.host.base(), None).send(method, path, headers, body.clone()).await;
        self.seen.note_answer(method, path, &body, &answer);
        answer
    }

    /// What was not sent by an actor.
    pub fn note_answer(&self, method: &str, path: &str, answer: &Response) {
        self.seen.note_answer(method, path, &[], answer);
    }

    pub fn note_event(&self, name: &str, way: &str, side: Side) {
        self.seen.note_event(name, way, side);
    }

    /// A side's staff.
    pub fn staff(&self, side: Side) -> &Actor {
        match side {
            Side::Bank => &self.bank,
            Side::Hub => &self.hub,
        }
    }

    /// The payment once a member of it has this value ("state", "response", "delivery" ...).
    pub async fn until(&self, side: Side, uetr: &str, member: &str, value: &str) -> Value {
        let staff = self.staff(side);
        eventually(&format!("{member} {value} at {}", side.name()), async || {
            let shown = staff.get(&format!("/v1/clearing/transactions/{uetr}")).await;
            (shown.status == 200).then(|| shown.json()).filter(|shown| shown[member] == value)
        })
        .await
    }

    /// What the peer got at paths that end so, once there are so many.
    pub async fn told(&self, end_of_path: &str, count: usize) -> Vec<ReceivedRequest> {
        eventually(&format!("{count} at {end_of_path}"), async || {
            let mut arrived = self.peer.received();
            arrived.retain(|arrived| arrived.line.ends_with(end_of_path));
            (arrived.len() >= count).then_some(arrived)
        })
        .await
    }

    pub fn advance_ms(&self, milliseconds: u64) {
        self.host.clock.advance(milliseconds);
    }

    /// Looks at both sides' feeds and histories, checks the books and the claims, and stops the host.
    pub async fn finish(mut self) {
        self.unfinished.set_finished();
        for side in self.sides {
            let staff = self.staff(*side);
            for event in staff.all("/v1/clearing/events", "events").await {
                self.seen.note_event(event["event"].as_str().unwrap(), "feed", *side);
            }
            for shown in staff.all("/v1/clearing/transactions", "transactions").await {
                for line in shown["history"].as_array().unwrap() {
                    if let (Some(from), Some(to)) = (line["from"].as_str(), line["to"].as_str()) {
                        self.seen.note_edge(from, to, *side);
                    }
                }
            }
        }
        let books = self.host.operator().get("/v1/ledger/check").await.expect(200).json();
        assert_eq!(books["balanced"], true, "{books}");
        self.seen.check(&self.covers);
        // Whoever still waits for the peer waits no longer.
        drop(self.peer);
        self.host.stop().await;
    }
}

/// What the two sides ask of each other.
const MESSAGES: &[&str] = &[
    "inbound.identifier.determine",
    "inbound.credit-transfer.authorise",
    "inbound.credit-transfer.authorise-sync",
    "inbound.credit-transfer.complete",
    "inbound.credit-transfer.receive",
    "inbound.direct-debit.receive",
    "inbound.credit-transfer.authorisation-respond",
    "inbound.credit-transfer.respond",
    "inbound.direct-debit.respond",
];

/// Who gets what names nobody: ACCOUNT.
const DEFAULT: &str = "default-account = \"62001234567\"";

/// Of plugins.toml.
fn section(settings: &str) -> String {
    let default = if settings.contains("default-account") { "" } else { DEFAULT };
    format!(
        "grants = {GRANTS:?}\n[plugins.clearing.settings.hub]\nside = \"platform\"\n\
         [plugins.clearing.settings.bank]\nside = \"partner\"\n{default}\n{settings}\n"
    )
}
