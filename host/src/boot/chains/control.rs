//! Control of simulated networks: faucet, mining, reorganisations, faults. Each action has a line in the operators'
//! journal.

use std::sync::Arc;

use tenon_chains::{
    Chain, ChainError, Submission,
    simulated::{self, Faults, Network, Orphans, SimulatedChain},
};

use super::{
    super::operations::{HostOperations, failed},
    amounts::{base_units, whole_units},
    chain_error, status,
};
use crate::{
    admin::{
        AdminError,
        wire::{Control, ControlReport, NetworkControl, NetworkSide, Silence},
    },
    changes::operator_action::OperatorAction,
    limits::SIMULATED_SLOW_MS_MAX,
};

/// Result of a control request.
#[derive(Default)]
struct ControlOutcome {
    /// Description for the journal.
    description: String,
    hash: Option<String>,
    height: Option<u64>,
    transactions: Option<u64>,
}

impl HostOperations {
    /// Runs the control request, then records it, so that the journal contains only completed actions.
    pub(in crate::boot) async fn control_simulated(
        &self,
        request: NetworkControl,
        operator: String,
    ) -> Result<ControlReport, AdminError> {
        let NetworkControl { blockchain, network, control } = request;
        self.find_network(&blockchain, network)?;
        let simulated = self.find_simulated(&blockchain, network).ok_or_else(|| AdminError::Conflict {
            message: format!("{blockchain} ({}) is not simulated.", network.name()),
            reasons: Vec::new(),
            hint: "List the networks with `tenon chain list`.".to_owned(),
        })?;
        let done = run(simulated, control).await.map_err(|error| match error {
            ControlError::Chain(error) => chain_error(error, (&blockchain, network), ""),
            ControlError::Admin(error) => error,
        })?;
        let target = format!("{blockchain} ({}): {}", network.name(), done.description);
        let action = OperatorAction::done(self.clock.now(), &operator, ("*", "control-chain"), target);
        let recorded = self.stores.record_action(&action).await;
        recorded.map_err(|error| failed(format!("The action was done, but not recorded in the journal: {error}")))?;
        let ControlOutcome { hash, height, transactions, .. } = done;
        let faults = status::faults(&simulated.faults());
        Ok(ControlReport { blockchain, network, hash, height, transactions, faults })
    }

    pub(super) fn find_simulated(&self, blockchain: &str, network: NetworkSide) -> Option<&Arc<SimulatedChain>> {
        let network = match network {
            NetworkSide::Test => Network::Test,
            NetworkSide::Main => Network::Main,
        };
        self.simulated.as_ref()?.find(blockchain, network)
    }
}

enum ControlError {
    Chain(ChainError),
    Admin(AdminError),
}

impl From<ChainError> for ControlError {
    fn from(error: ChainError) -> ControlError {
        ControlError::Chain(error)
    }
}

fn invalid(message: String, hint: String) -> ControlError {
    ControlError::Admin(AdminError::Invalid { message, hint })
}

async fn run(simulated: &SimulatedChain, control: Control) -> Result<ControlOutcome, ControlError> {
    Ok(match control {
        Control::Give { address, amount, token } => give(simulated, &address, (&amount, token.as_deref())).await?,
        Control::Mine { blocks } => {
            let height = simulated.mine(blocks).await?;
            ControlOutcome {
                description: format!("{blocks} blocks at once, up to {height}"),
                height: Some(height),
                ..ControlOutcome::default()
            }
        }
        Control::Reorganise { depth, drop: true } => reorganise(simulated, depth, Orphans::Drop).await?,
        Control::Reorganise { depth, drop: false } => reorganise(simulated, depth, Orphans::Return).await?,
        Control::Release => release(simulated).await?,
        Control::Off => {
            simulated.set_faults(Faults::default());
            release(simulated).await?
        }
        Control::Fail { count } => {
            set_fault(simulated, format!("the next {count} transactions fail"), |faults| faults.fail_next = count)
        }
        Control::Stick { count } => {
            set_fault(simulated, format!("the next {count} transactions are stuck"), |faults| faults.stick_next = count)
        }
        Control::Slow { ms } if ms > SIMULATED_SLOW_MS_MAX => {
            let hint = format!("ms must be from 0 to {SIMULATED_SLOW_MS_MAX}.");
            return Err(invalid("The delay is too long.".to_owned(), hint));
        }
        Control::Slow { ms } => {
            set_fault(simulated, format!("every response takes {ms} ms"), |faults| faults.slow_ms = ms)
        }
        Control::Silent { silence } => {
            let (description, outage) = match silence {
                Silence::Off => ("the network responds", simulated::Outage::Off),
                Silence::Lost => {
                    ("the network is silent, submitted transactions are lost", simulated::Outage::RequestsLost)
                }
                Silence::Taken => {
                    ("the network is silent, submitted transactions are accepted", simulated::Outage::ResponsesLost)
                }
            };
            set_fault(simulated, description.to_owned(), |faults| faults.outage = outage)
        }
    })
}

async fn give(
    simulated: &SimulatedChain,
    address: &str,
    (amount, token): (&str, Option<&str>),
) -> Result<ControlOutcome, ControlError> {
    let facts = simulated.facts();
    let assets = status::assets(facts);
    let asset = match token {
        None => assets.first(),
        Some(symbol) => assets.iter().skip(1).find(|asset| asset.symbol.eq_ignore_ascii_case(symbol)),
    };
    let asset = asset.ok_or_else(|| {
        let known: Vec<&str> = assets.iter().skip(1).map(|asset| asset.symbol.as_str()).collect();
        let message = format!("{} has no token \"{:.40}\".", facts.blockchain, token.unwrap_or_default());
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        invalid(message, format!("Known tokens: {known}. Without --token, the coin {} is used.", facts.symbol))
    })?;
    let units = base_units(amount, asset.decimals).map_err(|reason| {
        invalid(format!("{reason}."), format!("Write whole units of {}, such as 2.5.", asset.symbol))
    })?;
    match simulated.fund(address, asset.address.as_deref(), units).await {
        Ok(Submission::Accepted { hash }) => {
            let description = format!("{} {} to {address}", whole_units(units, asset.decimals), asset.symbol);
            Ok(ControlOutcome { description, hash: Some(hash), ..ControlOutcome::default() })
        }
        Ok(Submission::Rejected { reason } | Submission::Invalid { reason }) => Err(invalid(
            format!("The faucet transaction was rejected: {reason}."),
            "Send another amount or address.".to_owned(),
        )),
        Err(ChainError::NotAnAddress) => {
            let hint = "It may belong to another blockchain, or be mistyped.".to_owned();
            Err(invalid(format!("\"{address:.100}\" is not an address of {}.", facts.blockchain), hint))
        }
        Err(error) => Err(ControlError::Chain(error)),
    }
}

async fn reorganise(simulated: &SimulatedChain, depth: u64, orphans: Orphans) -> Result<ControlOutcome, ControlError> {
    let count = simulated.reorganise(depth, orphans).await?;
    let effect = match orphans {
        Orphans::Drop => "were dropped",
        Orphans::Return => "wait again",
    };
    let description = format!("the last {depth} blocks were replaced, {count} transactions {effect}");
    Ok(ControlOutcome { description, transactions: Some(count), ..ControlOutcome::default() })
}

async fn release(simulated: &SimulatedChain) -> Result<ControlOutcome, ControlError> {
    let count = simulated.release().await?;
    Ok(ControlOutcome {
        description: format!("{count} transactions were released"),
        transactions: Some(count),
        ..ControlOutcome::default()
    })
}

fn set_fault(simulated: &SimulatedChain, description: String, change: impl FnOnce(&mut Faults)) -> ControlOutcome {
    let mut faults = simulated.faults();
    change(&mut faults);
    simulated.set_faults(faults);
    ControlOutcome { description, ..ControlOutcome::default() }
}
