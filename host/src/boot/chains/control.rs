//! What operators do to simulated networks: give, mine, reorganise, disturb; each with its line in the journal.

use std::sync::Arc;

use tenon_chains::{
    Chain, ChainError, Submission,
    simulated::{self, Faults, Network, Orphans, SimulatedChain},
};

use super::{
    super::operations::{Connected, failed},
    amounts::{base_units, whole_units},
    refusal, status,
};
use crate::{
    admin::{
        Refusal,
        wire::{Control, ControlReport, NetworkControl, NetworkSide, Silence},
    },
    changes::operator_action::OperatorAction,
    limits::SIMULATED_SLOW_MS_MAX,
};

/// What was done.
#[derive(Default)]
struct Done {
    /// For the journal.
    what: String,
    hash: Option<String>,
    height: Option<u64>,
    transactions: Option<u64>,
}

impl Connected {
    /// Does it, then notes it: what stands in the journal was done.
    pub(in crate::boot) async fn control_simulated(
        &self,
        wish: NetworkControl,
        who: String,
    ) -> Result<ControlReport, Refusal> {
        let NetworkControl { blockchain, network, control } = wish;
        self.find_network(&blockchain, network)?;
        let simulated = self.find_simulated(&blockchain, network).ok_or_else(|| Refusal::Refused {
            message: format!("{blockchain} ({}) is not simulated.", network.name()),
            reasons: Vec::new(),
            hint: "`tenon chain list` shows which networks are.".to_owned(),
        })?;
        let done = run(simulated, control).await.map_err(|failure| match failure {
            Failure::Chain(error) => refusal(error, (&blockchain, network), ""),
            Failure::Said(refusal) => refusal,
        })?;
        let what = format!("{blockchain} ({}): {}", network.name(), done.what);
        let action = OperatorAction::done(self.clock.now(), &who, ("*", "control-chain"), what);
        let noted = self.stores.note_action(&action).await;
        noted.map_err(|error| failed(format!("It was done, but could not be noted in the journal: {error}")))?;
        let Done { hash, height, transactions, .. } = done;
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

enum Failure {
    Chain(ChainError),
    Said(Refusal),
}

impl From<ChainError> for Failure {
    fn from(error: ChainError) -> Failure {
        Failure::Chain(error)
    }
}

fn invalid(message: String, hint: String) -> Failure {
    Failure::Said(Refusal::Invalid { message, hint })
}

async fn run(simulated: &SimulatedChain, control: Control) -> Result<Done, Failure> {
    Ok(match control {
        Control::Give { address, amount, token } => give(simulated, &address, (&amount, token.as_deref())).await?,
        Control::Mine { blocks } => {
            let height = simulated.mine(blocks).await?;
            Done { what: format!("{blocks} blocks at once, up to {height}"), height: Some(height), ..Done::default() }
        }
        Control::Reorganise { depth, drop: true } => reorganise(simulated, depth, Orphans::Drop).await?,
        Control::Reorganise { depth, drop: false } => reorganise(simulated, depth, Orphans::Return).await?,
        Control::Release => release(simulated).await?,
        Control::Off => {
            simulated.set_faults(Faults::default());
            release(simulated).await?
        }
        Control::Fail { count } => {
            disturb(simulated, format!("the next {count} transactions fail"), |faults| faults.fail_next = count)
        }
        Control::Stick { count } => {
            disturb(simulated, format!("the next {count} transactions are stuck"), |faults| faults.stick_next = count)
        }
        Control::Slow { ms } if ms > SIMULATED_SLOW_MS_MAX => {
            let hint = format!("From 0 to {SIMULATED_SLOW_MS_MAX} milliseconds.");
            return Err(invalid("An answer cannot take so long.".to_owned(), hint));
        }
        Control::Slow { ms } => disturb(simulated, format!("every answer takes {ms} ms"), |faults| faults.slow_ms = ms),
        Control::Silent { silence } => {
            let (what, silence) = match silence {
                Silence::Off => ("it answers", simulated::Silence::Off),
                Silence::Lost => ("it is silent, and what is submitted is lost", simulated::Silence::Lost),
                Silence::Taken => ("it is silent, and takes what is submitted", simulated::Silence::Taken),
            };
            disturb(simulated, what.to_owned(), |faults| faults.silence = silence)
        }
    })
}

async fn give(
    simulated: &SimulatedChain,
    address: &str,
    (amount, token): (&str, Option<&str>),
) -> Result<Done, Failure> {
    let facts = simulated.facts();
    let assets = status::assets(facts);
    let asset = match token {
        None => assets.first(),
        Some(symbol) => assets.iter().skip(1).find(|asset| asset.symbol.eq_ignore_ascii_case(symbol)),
    };
    let asset = asset.ok_or_else(|| {
        let known: Vec<&str> = assets.iter().skip(1).map(|asset| asset.symbol.as_str()).collect();
        let message = format!("{} has no token \"{:.40}\".", facts.blockchain, token.unwrap_or_default());
        let there_are = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        invalid(message, format!("There are: {there_are}. Without --token it is the coin, {}.", facts.symbol))
    })?;
    let units = base_units(amount, asset.decimals).map_err(|wrong| {
        invalid(format!("{wrong}."), format!("Write whole units of {}, such as 2.5.", asset.symbol))
    })?;
    match simulated.give(address, asset.address.as_deref(), units).await {
        Ok(Submission::Taken { hash }) => {
            let what = format!("{} {} to {address}", whole_units(units, asset.decimals), asset.symbol);
            Ok(Done { what, hash: Some(hash), ..Done::default() })
        }
        Ok(Submission::Refused { reason } | Submission::Void { reason }) => {
            Err(invalid(format!("It was not given: {reason}."), "Name another amount or address.".to_owned()))
        }
        Err(ChainError::NotAnAddress) => {
            let hint = "It may be another blockchain's, or mistyped.".to_owned();
            Err(invalid(format!("\"{address:.100}\" is no address of {}.", facts.blockchain), hint))
        }
        Err(error) => Err(Failure::Chain(error)),
    }
}

async fn reorganise(simulated: &SimulatedChain, depth: u64, orphans: Orphans) -> Result<Done, Failure> {
    let count = simulated.reorganise(depth, orphans).await?;
    let fate = match orphans {
        Orphans::Drop => "were dropped",
        Orphans::Return => "wait again",
    };
    let what = format!("the last {depth} blocks are others, {count} transactions {fate}");
    Ok(Done { what, transactions: Some(count), ..Done::default() })
}

async fn release(simulated: &SimulatedChain) -> Result<Done, Failure> {
    let count = simulated.release().await?;
    Ok(Done { what: format!("{count} transactions were released"), transactions: Some(count), ..Done::default() })
}

fn disturb(simulated: &SimulatedChain, what: String, change: impl FnOnce(&mut Faults)) -> Done {
    let mut faults = simulated.faults();
    change(&mut faults);
    simulated.set_faults(faults);
    Done { what, ..Done::default() }
}
