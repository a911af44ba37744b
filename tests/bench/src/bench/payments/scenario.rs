//! Scenarios of the workers: two hosts that clear payments with each other, or the partner alone, for which the
//! workers act as the platform.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use tokio::task::JoinHandle;

use super::drive::{EventRouter, LoadTarget, Pace, PaymentEvent, PaymentFlow, RunStats, drive};
use crate::{
    bench::BenchPlan,
    clearing::{
        Host, Pair,
        message::Payment,
        reconciliation::{Reconciliation, ResultCounts},
        start_bank,
    },
    guests,
    program::sibling_binary,
    receiver::{Receiver, ReceiverResponse},
    wire::events::EventStream,
};

/// Pause between two deploys, so that each generation is under load.
const PAUSE: Duration = Duration::from_millis(250);
/// Timeout after the last payment. A payment that is still in progress by then is an error.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(200);
const RESPONDED: &str = "/v1/clearing/stream?events=inbound.credit_transfer.authorisation_responded";
const COMPLETED: &str = "/v1/clearing/stream?events=inbound.credit_transfer.completed";

pub struct PaymentScenario {
    hosts: Hosts,
    router: EventRouter,
    /// Components that are deployed in rotation on every host. Empty if nothing is swapped.
    components: Vec<Vec<u8>>,
}

enum Hosts {
    Both(Pair),
    /// The receiver is dropped last, because it must respond while the bank stops.
    Bank(Host, Receiver),
}

impl PaymentScenario {
    pub async fn two_hosts(plan: &BenchPlan) -> anyhow::Result<PaymentScenario> {
        let (binary, folder) = prepare_folder(plan, "payments")?;
        let pair = Pair::start(&binary, &folder).await?;
        Ok(PaymentScenario { hosts: Hosts::Both(pair), router: EventRouter::default(), components: Vec::new() })
    }

    pub async fn partner(plan: &BenchPlan) -> anyhow::Result<PaymentScenario> {
        let (binary, folder) = prepare_folder(plan, "partner")?;
        let router = EventRouter::default();
        let decisions = router.clone();
        let receiver = Receiver::start(1, move |request| {
            let body = String::from_utf8_lossy(request.body);
            decisions.route(&body, decision_in(&body));
            ReceiverResponse::Status(202)
        })?;
        let url = receiver.urls().next().context("a receiver without an address")?;
        let platform = format!("destinations.platform = {{ base-url = {url:?}, kind = \"none\" }}");
        let bank = start_bank(&binary, &folder, &platform).await?;
        Ok(PaymentScenario { hosts: Hosts::Bank(bank, receiver), router, components: Vec::new() })
    }

    pub fn name(&self) -> &'static str {
        match self.hosts {
            Hosts::Both(_) => "two hosts",
            Hosts::Bank(..) => "partner",
        }
    }

    /// Runs one round. Returns its statistics and the number of swaps.
    pub async fn run(&self, pace: Pace, duration: Duration) -> anyhow::Result<(RunStats, usize)> {
        let (target, listeners) = match &self.hosts {
            Hosts::Both(pair) => {
                let target = self.load_target(&pair.hub, HUB_FLOW).await?;
                let responded = self.listen(&pair.hub, RESPONDED, decision_in).await?;
                let completed = self.listen(&pair.bank, COMPLETED, |_| PaymentEvent::Completed).await?;
                (target, vec![responded, completed])
            }
            Hosts::Bank(bank, _) => (self.load_target(bank, BANK_FLOW).await?, Vec::new()),
        };
        let mut driving = std::pin::pin!(drive(target, pace, duration));
        let (mut swaps, mut components) = (0, self.components.iter().cycle());
        let stats = loop {
            let Some(component) = components.next() else { break driving.await? };
            tokio::select! {
                stats = &mut driving => break stats?,
                swapped = self.swap_after_pause(component) => swaps += swapped?,
            }
        };
        listeners.iter().for_each(JoinHandle::abort);
        Ok((stats, swaps))
    }

    async fn load_target(&self, host: &Host, flow: PaymentFlow) -> anyhow::Result<LoadTarget> {
        let (address, token) = (host.address(), host.token().await?);
        Ok(LoadTarget { address, token, flow, router: self.router.clone() })
    }

    async fn listen(
        &self,
        host: &Host,
        path: &str,
        event_in: fn(&str) -> PaymentEvent,
    ) -> anyhow::Result<JoinHandle<()>> {
        let mut events = EventStream::open(host.address(), &host.token().await?, path).await?;
        let router = self.router.clone();
        Ok(tokio::spawn(async move {
            while let Ok(event) = events.next().await {
                router.route(&event, event_in(&event));
            }
        }))
    }

    fn hosts(&self) -> Vec<&Host> {
        match &self.hosts {
            Hosts::Both(pair) => vec![&pair.hub, &pair.bank],
            Hosts::Bank(bank, _) => vec![bank],
        }
    }

    /// Starts swapping: components with the same behaviour and different bytes are deployed in rotation. They are
    /// compiled in advance, so that the compiler does not affect the load.
    pub async fn start_swapping(&mut self) -> anyhow::Result<()> {
        let component = guests::component("clearing")?;
        self.components = ["one", "two"].map(|note| guests::stamped(&component, note)).to_vec();
        for component in &self.components {
            self.swap(component).await?;
        }
        Ok(())
    }

    async fn swap_after_pause(&self, component: &[u8]) -> anyhow::Result<usize> {
        tokio::time::sleep(PAUSE).await;
        self.swap(component).await
    }

    async fn swap(&self, component: &[u8]) -> anyhow::Result<usize> {
        for host in self.hosts() {
            let response = host.program.deploy("clearing", component).await?;
            let text = String::from_utf8_lossy(&response.body);
            ensure!((200..300).contains(&response.status), "a deploy was refused: {} {text}", response.status);
        }
        Ok(self.hosts().len())
    }

    pub fn cpu_time_ms(&self) -> anyhow::Result<u64> {
        self.hosts().iter().map(|host| host.program.cpu_time_ms()).sum()
    }

    /// With two hosts, waits until no payment is in progress, and compares the payments of both sides. With the partner
    /// alone, only checks its ledger.
    pub async fn close(self) -> anyhow::Result<ResultCounts> {
        let pair = match self.hosts {
            Hosts::Both(pair) => pair,
            Hosts::Bank(bank, _receiver) => {
                bank.program.command(&["ledger", "check"])?;
                bank.program.stop().await?;
                return Ok(ResultCounts::default());
            }
        };
        let until = Instant::now() + IDLE_TIMEOUT;
        let reconciliation = loop {
            let reconciliation = Reconciliation::read(&pair).await?;
            if reconciliation.is_idle() {
                break reconciliation;
            }
            let progress = || reconciliation.progress();
            ensure!(Instant::now() < until, "still in progress after {IDLE_TIMEOUT:?}: {}", progress());
            tokio::time::sleep(POLL).await;
        };
        let results = reconciliation.check_results()?;
        pair.stop().await?;
        Ok(results)
    }
}

/// Flow through the hub: the generator submits and settles, the hub exchanges the messages with the bank.
const HUB_FLOW: PaymentFlow = PaymentFlow {
    first_message: Payment::to_submit,
    second_message: Payment::to_settle,
    awaits_completion_event: true,
};
/// Flow directly to the bank: a payment ends with the bank's acknowledgement of the completion.
const BANK_FLOW: PaymentFlow = PaymentFlow {
    first_message: Payment::to_authorise,
    second_message: Payment::to_complete,
    awaits_completion_event: false,
};

fn decision_in(text: &str) -> PaymentEvent {
    if text.contains("\"APPROVED\"") { PaymentEvent::Approved } else { PaymentEvent::Rejected }
}

/// Returns the path of the program and an empty folder.
fn prepare_folder(plan: &BenchPlan, name: &str) -> anyhow::Result<(PathBuf, PathBuf)> {
    let binary = sibling_binary("tenon").context("no tenon beside this program: build it")?;
    let folder = plan.folder.join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok((binary, folder))
}
