//! Control of simulated networks: faucet, mining, reorganisations, faults.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
};
use tenon_chains::{
    Chain, ChainError, Submission,
    simulated::{Faults, Orphans, Outage, SimulatedChain},
};

use super::{
    amounts::{base_units, whole_units},
    chain_error, find_network, find_simulated, status,
};
use crate::{
    admin::{
        AdminError, Services,
        inputs::{Operator, read_json},
        wire::{Control, ControlReport, NetworkControl, NetworkSide, Silence},
    },
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

/// Runs the control request, then records it, so that the journal lists only completed actions as done.
pub async fn control(
    State(host): State<Arc<Services>>,
    operator: Operator,
    request: Request,
) -> Result<Json<ControlReport>, AdminError> {
    let hint = "Send blockchain, network (test, main) and control: an object whose kind is give (address, amount, \
                token), mine (blocks), reorganise (depth, drop), fail (count), stick (count), release, slow (ms), \
                silent (silence: off, lost, taken) or off.";
    let NetworkControl { blockchain, network, control } = read_json(request, hint).await?;
    find_network(&host, &blockchain, network)?;
    let simulated = find_simulated(&host, &blockchain, network).ok_or_else(|| {
        let message = format!("{blockchain} ({}) is not simulated.", network.name());
        AdminError::conflict(message, Vec::new(), "List the networks with `tenon chain list`.")
    })?;
    let ControlOutcome { description, hash, height, transactions } =
        run(simulated, (&blockchain, network), control).await?;
    let target = format!("{blockchain} ({}): {description}", network.name());
    host.record_done(&operator.done(host.clock.now(), "*", target)).await?;
    let faults = status::faults(&simulated.faults());
    Ok(Json(ControlReport { blockchain, network, hash, height, transactions, faults }))
}

async fn run(
    simulated: &SimulatedChain,
    network: (&str, NetworkSide),
    control: Control,
) -> Result<ControlOutcome, AdminError> {
    let failed = |error: ChainError| action_error(error, network, "");
    Ok(match control {
        Control::Give { address, amount, token } => {
            give(simulated, network, &address, (&amount, token.as_deref())).await?
        }
        Control::Mine { blocks } => {
            let height = simulated.mine(blocks).await.map_err(failed)?;
            let description = format!("{blocks} blocks at once, up to {height}");
            ControlOutcome { description, height: Some(height), ..ControlOutcome::default() }
        }
        Control::Reorganise { depth, drop: true } => {
            let count = simulated.reorganise(depth, Orphans::Drop).await.map_err(failed)?;
            let description = format!("the last {depth} blocks were replaced, {count} transactions were dropped");
            ControlOutcome { description, transactions: Some(count), ..ControlOutcome::default() }
        }
        Control::Reorganise { depth, drop: false } => {
            let count = simulated.reorganise(depth, Orphans::Return).await.map_err(failed)?;
            let description = format!("the last {depth} blocks were replaced, {count} transactions wait again");
            ControlOutcome { description, transactions: Some(count), ..ControlOutcome::default() }
        }
        Control::Release => release(simulated).await.map_err(failed)?,
        Control::Off => {
            simulated.set_faults(Faults::default());
            release(simulated).await.map_err(failed)?
        }
        Control::Fail { count } => {
            set_fault(simulated, format!("the next {count} transactions fail"), |faults| faults.fail_next = count)
        }
        Control::Stick { count } => {
            set_fault(simulated, format!("the next {count} transactions are stuck"), |faults| faults.stick_next = count)
        }
        Control::Slow { ms } if ms > SIMULATED_SLOW_MS_MAX => {
            let hint = format!("ms must be from 0 to {SIMULATED_SLOW_MS_MAX}.");
            return Err(AdminError::invalid("The delay is too long.", hint));
        }
        Control::Slow { ms } => {
            set_fault(simulated, format!("every response takes {ms} ms"), |faults| faults.slow_ms = ms)
        }
        Control::Silent { silence } => {
            let (description, outage) = match silence {
                Silence::Off => ("the network responds", Outage::Off),
                Silence::Lost => ("the network is silent, submitted transactions are lost", Outage::RequestsLost),
                Silence::Taken => ("the network is silent, submitted transactions are accepted", Outage::ResponsesLost),
            };
            set_fault(simulated, description.to_owned(), |faults| faults.outage = outage)
        }
    })
}

/// Creates funds. `token` is a symbol. `None` selects the coin.
async fn give(
    simulated: &SimulatedChain,
    network: (&str, NetworkSide),
    address: &str,
    (amount, token): (&str, Option<&str>),
) -> Result<ControlOutcome, AdminError> {
    let facts = simulated.facts();
    let asset = match token {
        None => status::coin(facts),
        Some(symbol) => {
            let found = status::tokens(facts).find(|asset| asset.symbol.eq_ignore_ascii_case(symbol));
            found.ok_or_else(|| {
                let known: Vec<&str> = facts.tokens.iter().map(|token| token.symbol.as_str()).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let hint = format!("Known tokens: {known}. Without --token, the coin {} is used.", facts.symbol);
                AdminError::invalid(format!("{} has no token \"{symbol:.40}\".", facts.blockchain), hint)
            })?
        }
    };
    let units = base_units(amount, asset.decimals).map_err(|reason| {
        AdminError::invalid(format!("{reason}."), format!("Write whole units of {}, such as 2.5.", asset.symbol))
    })?;
    let submission = simulated.fund(address, asset.address.as_deref(), units).await;
    match submission.map_err(|error| action_error(error, network, address))? {
        Submission::Accepted { hash } => {
            let description = format!("{} {} to {address}", whole_units(units, asset.decimals), asset.symbol);
            Ok(ControlOutcome { description, hash: Some(hash), ..ControlOutcome::default() })
        }
        Submission::Rejected { reason } | Submission::Invalid { reason } => Err(AdminError::invalid(
            format!("The faucet transaction was rejected: {reason}."),
            "Send another amount or address.",
        )),
    }
}

async fn release(simulated: &SimulatedChain) -> Result<ControlOutcome, ChainError> {
    let count = simulated.release().await?;
    let description = format!("{count} transactions were released");
    Ok(ControlOutcome { description, transactions: Some(count), ..ControlOutcome::default() })
}

fn set_fault(simulated: &SimulatedChain, description: String, change: impl FnOnce(&mut Faults)) -> ControlOutcome {
    let mut faults = simulated.faults();
    change(&mut faults);
    simulated.set_faults(faults);
    ControlOutcome { description, ..ControlOutcome::default() }
}

/// Converts an error of an action. An action that timed out may have been done, so it failed and was not refused.
fn action_error(error: ChainError, (blockchain, network): (&str, NetworkSide), input: &str) -> AdminError {
    match error {
        ChainError::Timeout => {
            let name = format!("{blockchain} ({})", network.name());
            AdminError::failed(format!("{name} does not answer. The requested action may have been done."))
        }
        error => chain_error(error, (blockchain, network), input),
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;
    use http::StatusCode;

    use super::*;

    #[test]
    fn action_that_timed_out_failed_and_was_not_refused() {
        let error = action_error(ChainError::Timeout, ("base", NetworkSide::Test), "");
        assert_eq!(error.body().error, "failed");
        assert!(error.to_string().contains("may have been done"), "{error}");
        assert_eq!(error.into_response().status(), StatusCode::INTERNAL_SERVER_ERROR);
    }
}
