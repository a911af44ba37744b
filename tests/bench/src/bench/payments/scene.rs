//! Whom the lanes pay through: two hosts that clear with each other, or the partner alone, to whom the lanes are the platform.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use tokio::task::JoinHandle;

use super::drive::{Driven, Fact, Pace, Script, Switchboard, Tally, drive};
use crate::{
    bench::BenchPlan,
    clearing::{
        Host, Pair,
        books::{Books, Ends},
        message::Payment,
        start_bank,
    },
    guests,
    program::sibling_binary,
    receiver::{Receiver, Reply},
    wire::events::EventStream,
};

/// From one verdict to the next deploy: load has time to run on each generation.
const PAUSE: Duration = Duration::from_millis(250);
/// After the last payment: what is still to be noted by then never is.
const STILL_WITHIN: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(200);
const RESPONDED: &str = "/v1/clearing/stream?events=inbound.credit_transfer.authorisation_responded";
const COMPLETED: &str = "/v1/clearing/stream?events=inbound.credit_transfer.completed";

pub struct Scene {
    hosts: Hosts,
    switchboard: Switchboard,
    /// What takes turns in every host; empty: nothing is swapped.
    turns: Vec<Vec<u8>>,
}

enum Hosts {
    Both(Pair),
    /// The receiver is dropped last: it answers while the bank ends.
    Bank(Host, Receiver),
}

impl Scene {
    pub async fn two_hosts(plan: &BenchPlan) -> anyhow::Result<Scene> {
        let (binary, folder) = place(plan, "payments")?;
        let pair = Pair::start(&binary, &folder).await?;
        Ok(Scene { hosts: Hosts::Both(pair), switchboard: Switchboard::default(), turns: Vec::new() })
    }

    pub async fn partner(plan: &BenchPlan) -> anyhow::Result<Scene> {
        let (binary, folder) = place(plan, "partner")?;
        let switchboard = Switchboard::default();
        let told = switchboard.clone();
        let receiver = Receiver::start(1, move |post| {
            let body = String::from_utf8_lossy(post.body);
            told.tell(&body, decision_in(&body));
            Reply::Status(202)
        })?;
        let url = receiver.urls().next().context("a receiver without an address")?;
        let platform = format!("destinations.platform = {{ base-url = {url:?}, kind = \"none\" }}");
        let bank = start_bank(&binary, &folder, &platform).await?;
        Ok(Scene { hosts: Hosts::Bank(bank, receiver), switchboard, turns: Vec::new() })
    }

    pub fn name(&self) -> &'static str {
        match self.hosts {
            Hosts::Both(_) => "two hosts",
            Hosts::Bank(..) => "partner",
        }
    }

    /// One round, and how often the plugin was swapped in it.
    pub async fn run(&self, pace: Pace, duration: Duration) -> anyhow::Result<(Tally, usize)> {
        let (driven, listeners) = match &self.hosts {
            Hosts::Both(pair) => {
                let driven = self.driven(&pair.hub, SETTLED).await?;
                let responded = self.listen(&pair.hub, RESPONDED, decision_in).await?;
                let completed = self.listen(&pair.bank, COMPLETED, |_| Fact::Completed).await?;
                (driven, vec![responded, completed])
            }
            Hosts::Bank(bank, _) => (self.driven(bank, DIRECT).await?, Vec::new()),
        };
        let mut driving = std::pin::pin!(drive(driven, pace, duration));
        let (mut swaps, mut turns) = (0, self.turns.iter().cycle());
        let tally = loop {
            let Some(component) = turns.next() else { break driving.await? };
            tokio::select! {
                tally = &mut driving => break tally?,
                swapped = self.swap_after_pause(component) => swaps += swapped?,
            }
        };
        listeners.iter().for_each(JoinHandle::abort);
        Ok((tally, swaps))
    }

    async fn driven(&self, host: &Host, script: Script) -> anyhow::Result<Driven> {
        let (address, token) = (host.address(), host.token().await?);
        Ok(Driven { address, token, script, switchboard: self.switchboard.clone() })
    }

    async fn listen(&self, host: &Host, path: &str, meaning: fn(&str) -> Fact) -> anyhow::Result<JoinHandle<()>> {
        let mut events = EventStream::open(host.address(), &host.token().await?, path).await?;
        let switchboard = self.switchboard.clone();
        Ok(tokio::spawn(async move {
            while let Ok(event) = events.next().await {
                switchboard.tell(&event, meaning(&event));
            }
        }))
    }

    fn each(&self) -> Vec<&Host> {
        match &self.hosts {
            Hosts::Both(pair) => vec![&pair.hub, &pair.bank],
            Hosts::Bank(bank, _) => vec![bank],
        }
    }

    /// From now on components that behave alike and differ in their bytes take turns. Compiled once before, so that the load
    /// meets swaps and not the compiler.
    pub async fn begin_swapping(&mut self) -> anyhow::Result<()> {
        let component = guests::component("clearing")?;
        self.turns = ["one", "two"].map(|note| guests::stamped(&component, note)).to_vec();
        for component in &self.turns {
            self.swap(component).await?;
        }
        Ok(())
    }

    async fn swap_after_pause(&self, component: &[u8]) -> anyhow::Result<usize> {
        tokio::time::sleep(PAUSE).await;
        self.swap(component).await
    }

    async fn swap(&self, component: &[u8]) -> anyhow::Result<usize> {
        for host in self.each() {
            let answer = host.program.deploy("clearing", component).await?;
            let text = String::from_utf8_lossy(&answer.body);
            ensure!((200..300).contains(&answer.status), "a deploy was refused: {} {text}", answer.status);
        }
        Ok(self.each().len())
    }

    pub fn computed_ms(&self) -> anyhow::Result<u64> {
        self.each().iter().map(|host| host.program.computed_ms()).sum()
    }

    /// Waits until nothing is under way, and holds the books of both sides against each other.
    pub async fn close(self) -> anyhow::Result<Ends> {
        let pair = match self.hosts {
            Hosts::Both(pair) => pair,
            Hosts::Bank(bank, _receiver) => {
                let ends = Ends::default();
                bank.program.command(&["ledger", "check"])?;
                bank.program.stop().await?;
                return Ok(ends);
            }
        };
        let until = Instant::now() + STILL_WITHIN;
        let books = loop {
            let books = Books::read(&pair).await?;
            if books.are_still() {
                break books;
            }
            ensure!(Instant::now() < until, "still under way after {STILL_WITHIN:?}: {}", books.in_words());
            tokio::time::sleep(LOOK).await;
        };
        let ends = books.check_ends()?;
        pair.stop().await?;
        Ok(ends)
    }
}

/// The hub does the rest.
const SETTLED: Script = Script { begin: Payment::to_submit, go_on: Payment::to_settle, end_is_told: true };
/// The bank's acknowledgement of the completion is the end.
const DIRECT: Script = Script { begin: Payment::to_authorise, go_on: Payment::to_complete, end_is_told: false };

fn decision_in(text: &str) -> Fact {
    if text.contains("\"APPROVED\"") { Fact::Approved } else { Fact::Rejected }
}

/// The program, and an empty folder.
fn place(plan: &BenchPlan, name: &str) -> anyhow::Result<(PathBuf, PathBuf)> {
    let binary = sibling_binary("tenon").context("no tenon beside this program: build it")?;
    let folder = plan.folder.join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok((binary, folder))
}
