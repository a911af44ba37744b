//! The world between two hosts: a queue of what will happen when. What a host has committed survives anything, what is
//! under way may be lost, or come twice, or late. Each host has a clock of its own.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tenon_plugin::Content;
use tenon_plugin::host::{Effect, Response};
use tenon_plugin::tasks::Outcome;
use tenon_plugin::test_kit::{START_MS, TestCall, TestHost, response};

use super::super::support;
use crate::rules::simulation::random::Random;

/// How far the clocks are ever apart.
const SKEW_MS: u64 = 3_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Partner,
    Platform,
}

#[derive(Clone, Debug)]
enum Happening {
    Submit {
        at: usize,
    },
    Attempt {
        from: Side,
        then: String,
        key: String,
        tries: usize,
    },
    /// A copy that was held up somewhere; nobody waits for its answer.
    Ghost {
        to: Side,
        path: String,
        body: String,
    },
    Settle {
        at: usize,
        tries: usize,
    },
    /// A timer may be due.
    Tick,
}

pub struct World {
    random: Random,
    now_ms: u64,
    /// By time, then by when it was planned.
    queue: BTreeMap<(u64, u64), Happening>,
    planned: u64,
    ticks: BTreeSet<u64>,
    skews_ms: BTreeMap<Side, u64>,
    under_way: BTreeSet<(Side, String, String)>,
    /// Notifications that the bank's own system got, by uetr.
    pub outcomes: BTreeMap<String, Value>,
    pub partner: TestHost,
    pub platform: TestHost,
}

pub fn uetr(at: usize) -> String {
    format!("97ed4827-7b6f-4491-a06f-{:012x}", at + 1)
}

pub fn minor(at: usize) -> i128 {
    at as i128 * 100 + 5
}

impl World {
    /// Until nothing is under way any more. In every second world the bank's own system decides.
    pub fn run(seed: u64, payments: usize) -> World {
        let settings = if seed.is_multiple_of(2) { json!({}) } else { json!({"decide": "ask", "fallback": "rules"}) };
        let partner = support::partner(settings).answers(|call| ask_bank(&call.content));
        support::put_account(&partner, &json!({"account_number": "62002", "status": "closed"}));
        partner.put_record("accounts", "666", &json!({"broken": true}));
        let mut world = World {
            random: Random::of_seed(seed),
            now_ms: START_MS,
            queue: BTreeMap::new(),
            planned: 0,
            ticks: BTreeSet::new(),
            skews_ms: BTreeMap::from([(Side::Partner, 0), (Side::Platform, 0)]),
            under_way: BTreeSet::new(),
            outcomes: BTreeMap::new(),
            partner,
            platform: support::platform(json!({})),
        };
        for at in 0..payments {
            let in_ms = world.random.below(120_000);
            world.plan(in_ms, Happening::Submit { at });
        }
        while let Some(((at_ms, _), happening)) = world.queue.pop_first() {
            world.now_ms = world.now_ms.max(at_ms);
            world.set_clocks();
            world.happen(happening);
            world.look_around();
        }
        world
    }

    /// A transaction as a host shows it.
    pub fn shown(&self, host: &TestHost, at: usize) -> Option<Value> {
        let answer = host.call(TestCall::get(&format!("/v1/clearing/transactions/{}", uetr(at))));
        (answer.status == 200).then(|| answer.json())
    }

    fn host(&self, side: Side) -> &TestHost {
        match side {
            Side::Partner => &self.partner,
            Side::Platform => &self.platform,
        }
    }

    fn plan(&mut self, in_ms: u64, happening: Happening) {
        self.planned += 1;
        self.queue.insert((self.now_ms + in_ms, self.planned), happening);
    }

    /// Now and then a clock jumps ahead.
    fn set_clocks(&mut self) {
        for side in [Side::Partner, Side::Platform] {
            if self.random.percent(1) {
                let skew_ms = self.random.below(SKEW_MS);
                self.skews_ms.entry(side).and_modify(|known| *known = skew_ms.max(*known));
            }
            let clock_ms = self.now_ms + self.skews_ms[&side];
            let host = self.host(side);
            host.advance_ms(clock_ms.saturating_sub(host.now()));
        }
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Submit { at } => self.submit(at),
            Happening::Attempt { from, then, key, tries } => self.attempt(from, then, key, tries),
            Happening::Ghost { to, path, body } => drop(self.deliver(to, &path, &body)),
            Happening::Settle { at, tries } => self.settle(at, tries),
            Happening::Tick => {}
        }
    }

    /// Runs what is due, most of the time, and plans what will be.
    fn look_around(&mut self) {
        for side in [Side::Partner, Side::Platform] {
            if self.random.percent(90) {
                // A decision that breaks is tried again.
                while self.host(side).run_one().is_some() {}
            }
            for task in self.host(side).tasks() {
                let due_ms = task.at.saturating_sub(self.skews_ms[&side]).max(self.now_ms + 1);
                if self.ticks.insert(due_ms) {
                    let in_ms = due_ms - self.now_ms + self.random.below(50);
                    self.plan(in_ms, Happening::Tick);
                }
            }
            for started in self.host(side).effects() {
                let Effect { then, key, start_at, .. } = started.effect;
                if self.under_way.insert((side, then.clone(), key.clone())) {
                    let wait_ms = start_at.map_or(0, |at_ms| at_ms.saturating_sub(self.host(side).now()));
                    let in_ms = wait_ms + self.random.below(1_500);
                    self.plan(in_ms, Happening::Attempt { from: side, then, key, tries: 0 });
                }
            }
        }
    }

    fn submit(&mut self, at: usize) {
        let kinds = [
            (support::AUTHORISE, "ZA_RTC"),
            (support::AUTHORISE, "ZA_RPP"),
            (support::AUTHORISE_SYNC, "ZA_RTC"),
            (support::TRANSFER, "ZA_EFT"),
            (support::DEBIT, "ZA_EFT"),
        ];
        let (path, scheme) = kinds[at % kinds.len()];
        let account = ["62001", "62001", "62001", "62001", "62002", "62001", "666"][at % 7];
        let text = format!(
            r#"{{"uetr": "{}", "end_to_end_identification": "E2E-{at}", "payment_scheme": "{scheme}", "message_identification": "M-{at}",
                "creation_date_time": "2026-05-07T08:30:00Z", "bank_settlement_amount_currency": "ZAR",
                "bank_settlement_amount_value": {at}.05, "debtor_account_number": "{account}", "{}": "{}",
                "operation": "{}", "partner": "bank-a"}}"#,
            uetr(at),
            if scheme == "ZA_RPP" { "creditor_account_proxy" } else { "creditor_account_number" },
            if scheme != "ZA_RPP" { account } else { ["ada@bank", "ADA@bank", "bob@bank"][at % 3] },
            path.rsplit('/').next().unwrap(),
        );
        let first = self.platform.call(TestCall::post("/v1/clearing/payments").text(&text));
        let again = self.platform.call(TestCall::post("/v1/clearing/payments").text(&text));
        assert_eq!((first.status, &first.body), (202, &again.body));
        if scheme != "ZA_EFT" {
            let in_ms = self.random.below(30_000);
            self.plan(in_ms, Happening::Settle { at, tries: 0 });
        }
    }

    /// Most are settled, if they are approved in time; some are not.
    fn settle(&mut self, at: usize, tries: usize) {
        if at.is_multiple_of(11) || tries > 4 {
            return;
        }
        let status = if at.is_multiple_of(9) { "REJECTED" } else { "APPROVED" };
        let body = json!({"settlement_date": "2026-05-07", "transaction_status": status});
        let path = format!("/v1/clearing/payments/{}/settlement", uetr(at));
        if self.platform.call(TestCall::post(&path).json(&body)).status != 202 {
            let in_ms = self.random.below(30_000);
            self.plan(in_ms, Happening::Settle { at, tries: tries + 1 });
        }
    }

    fn attempt(&mut self, from: Side, then: String, key: String, tries: usize) {
        let started = self.host(from).effects();
        let effect = started.into_iter().map(|it| it.effect).find(|effect| effect.then == then && effect.key == key);
        let effect = effect.unwrap_or_else(|| panic!("{then} {key} is not on its way"));
        let in_time = effect.give_up_at.is_none_or(|at_ms| self.host(from).now() < at_ms);
        let outcome = if in_time { self.post(from, &effect) } else { None };
        let again = match &outcome {
            Some(answer) => matches!(answer.status, 408 | 425 | 429 | 500..),
            None => true,
        };
        if let Some(pause_ms) = effect.delays.get(tries).filter(|_| again && in_time) {
            let in_ms = u64::from(*pause_ms) + self.random.below(1_000);
            return self.plan(in_ms, Happening::Attempt { from, then, key, tries: tries + 1 });
        }
        let outcome = match outcome {
            Some(answer) => Outcome::Answered(answer),
            None if tries == 0 && !in_time => Outcome::NotSent("given up".to_owned()),
            None => Outcome::Unknown("timeout".to_owned()),
        };
        self.host(from).settle(&then, &key, outcome);
        self.under_way.remove(&(from, then, key));
    }

    /// Lost on the way there, broken there, answered, or the answer is lost on the way back.
    fn post(&mut self, from: Side, effect: &Effect) -> Option<Response> {
        if effect.call.destination == "bank" {
            return self.conclude(effect);
        }
        let to = if from == Side::Partner { Side::Platform } else { Side::Partner };
        let expected = if from == Side::Partner { "platform" } else { "bank-a" };
        assert_eq!(effect.call.destination, expected);
        let Content::Json(body) = &effect.call.content else { panic!("a message is JSON") };
        if self.random.percent(15) {
            let in_ms = self.random.below(90_000);
            let (path, body) = (effect.call.path.clone(), body.clone());
            self.plan(in_ms, Happening::Ghost { to, path, body });
        }
        match self.random.below(100) {
            0..15 => None,
            15..20 => Some(response(503, &json!({}))),
            20..30 => {
                self.deliver(to, &effect.call.path, body);
                None
            }
            _ => Some(self.deliver(to, &effect.call.path, body)),
        }
    }

    /// The bank's own system takes a notification, or its answer is lost. It is notified of one outcome.
    fn conclude(&mut self, effect: &Effect) -> Option<Response> {
        assert_eq!(effect.call.path, "/outcomes");
        let Content::Json(body) = &effect.call.content else { panic!("a notification is JSON") };
        let body: Value = serde_json::from_str(body).unwrap();
        let uetr = body["uetr"].as_str().unwrap().to_owned();
        assert!(effect.key.ends_with(&format!(":{}:{uetr}", body["outcome"].as_str().unwrap())), "{}", effect.key);
        let known = self.outcomes.entry(uetr).or_insert_with(|| body.clone());
        assert_eq!(*known, body, "two outcomes of one payment");
        match self.random.below(100) {
            0..15 => None,
            15..25 => Some(response(503, &json!({}))),
            _ => Some(response(200, &json!({}))),
        }
    }

    fn deliver(&self, to: Side, path: &str, body: &str) -> Response {
        match self.host(to).try_call(TestCall::post(&format!("/v1{path}")).text(body)) {
            Ok(answer) => response(answer.status, &answer.json()),
            Err(_) => response(500, &json!({})),
        }
    }
}

/// The bank's own system: most are approved, some are not, some make it stumble. The same whenever it is asked.
fn ask_bank(content: &Content) -> Result<Response, String> {
    let Content::Json(body) = content else { panic!("a question is JSON") };
    let body: Value = serde_json::from_str(body).unwrap();
    let uetr = body["uetr"].as_str().unwrap_or("97ed4827-7b6f-4491-a06f-000000000001");
    match u64::from_str_radix(&uetr[24..], 16).unwrap() % 13 {
        3 => Ok(response(200, &json!({"transaction_status": "REJECTED", "status_reason": "NOCM"}))),
        5 => Err("timeout".to_owned()),
        7 => Ok(response(500, &json!({}))),
        _ => Ok(response(200, &json!({"transaction_status": "APPROVED", "account_number": "62001"}))),
    }
}
