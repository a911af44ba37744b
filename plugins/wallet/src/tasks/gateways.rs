//! Learns the gateway's contracts from its provider: when a wallet is made, and again each day.

use tenon_plugin::tasks::{FiredTask, TaskOutcome, Verdict};
use tenon_plugin::{Call, Stop, Task, task};

use crate::providers::gateway;
use crate::records::gateways;
use crate::rules::address;
use crate::rules::blockchain::Blockchain;

pub const TASKS: &[Task] = &[task("gateway-contracts", learn)];

const DAY_MS: u64 = 86_400_000;
/// Until a provider that does not answer is asked again.
const PAUSE_MS: u64 = 600_000;

/// One for the tenant, however many wallets it has.
pub fn begin(call: &Call, blockchain: Blockchain) {
    if blockchain.has_gateway() {
        call.tasks().schedule("gateway-contracts", "all", call.now(), "{}");
    }
}

fn learn(call: &Call, _task: &FiredTask) -> TaskOutcome {
    let networks = match gateway::networks(call) {
        Ok(networks) => networks,
        Err(Stop::Refusal(_)) => return Ok(Verdict::Later(call.now().saturating_add(PAUSE_MS))),
        Err(stop) => return Err(stop),
    };
    for network in networks {
        let Some(blockchain) = Blockchain::of_slug(&network.blockchain) else { continue };
        if let Ok(contract) = address::read(blockchain, &network.contract_address) {
            gateways::set(call, blockchain, contract)?;
        }
    }
    call.tasks().schedule("gateway-contracts", "all", call.now().saturating_add(DAY_MS), "{}");
    Ok(Verdict::Done)
}
