//! Executes queries and commands against a chain adapter.

use ethnum::U256;
use tenon_chains::{Chain, ChainError, FaucetRequest, Movement, State, Submission, Transaction};

use super::wire::{ChainCommand, ChainQuery, ChainRequest, MovementText, TermsText, TransactionText, response};
use crate::changes::outgoing::{OutgoingCall, OutgoingResponse};

/// Executes the request in a call to a blockchain.
///
/// `key` is the idempotency key of a faucet request: coins are granted once for each key.
///
/// # Errors
///
/// Fails if the chain does not respond, in which case a command may still have been executed, or if it rejects the
/// arguments of a query.
pub async fn serve(chain: &dyn Chain, call: &OutgoingCall, key: &str) -> Result<OutgoingResponse, ChainError> {
    match ChainRequest::read(call) {
        Some(ChainRequest::Query(query)) => run_query(chain, &query).await,
        Some(ChainRequest::Command(command)) => execute(chain, command, key).await,
        None => Ok(rejected("unsupported chain request")),
    }
}

async fn run_query(chain: &dyn Chain, query: &ChainQuery) -> Result<OutgoingResponse, ChainError> {
    Ok(match query {
        ChainQuery::Terms => {
            let terms = chain.terms().await?;
            let [price, coin_fee, token_fee] = [terms.price, terms.coin_fee, terms.token_fee].map(digits);
            response(200, &TermsText { anchor: terms.anchor, price, coin_fee, token_fee })
        }
        ChainQuery::Balance { address, token } => {
            response(200, &digits(chain.balance(address, token.as_deref()).await?))
        }
        ChainQuery::Sequence { address } => response(200, &chain.sequence(address).await?),
        ChainQuery::Transaction { hash } => {
            response(200, &chain.find_transaction(hash).await?.as_ref().map(transaction_text))
        }
    })
}

async fn execute(chain: &dyn Chain, command: ChainCommand, key: &str) -> Result<OutgoingResponse, ChainError> {
    let submission = match command {
        ChainCommand::Send { raw } => chain.submit(&raw).await?,
        ChainCommand::Coins { address, token, amount } => {
            let Ok(amount) = U256::from_str_radix(&amount, 10) else {
                return Ok(rejected("the amount must be decimal digits"));
            };
            let request = FaucetRequest { key: key.to_owned(), address, token, amount };
            match chain.request_coins(&request).await {
                Err(error @ (ChainError::NotAnAddress | ChainError::NotAToken | ChainError::NoFaucet)) => {
                    Submission::Rejected { reason: error.to_string() }
                }
                result => result?,
            }
        }
    };
    Ok(match submission {
        Submission::Accepted { hash } => response(200, &serde_json::json!({ "hash": hash })),
        Submission::Rejected { reason } | Submission::Invalid { reason } => rejected(&reason),
    })
}

fn rejected(reason: &str) -> OutgoingResponse {
    response(422, &serde_json::json!({ "reason": reason }))
}

pub(super) fn transaction_text(found: &Transaction) -> TransactionText {
    TransactionText {
        hash: found.hash.clone(),
        sender: found.sender.clone(),
        state: state_text(found.state).to_owned(),
        block: found.block,
        confirmations: found.confirmations,
        fee: digits(found.fee),
        movements: found.movements.iter().map(movement_text).collect(),
    }
}

pub(super) fn movement_text(movement: &Movement) -> MovementText {
    MovementText {
        position: movement.position,
        sender: movement.sender.clone(),
        recipient: movement.recipient.clone(),
        token: movement.token.clone(),
        amount: digits(movement.amount),
    }
}

pub(super) fn state_text(state: State) -> &'static str {
    match state {
        State::Waiting => "waiting",
        State::Done => "done",
        State::Failed => "failed",
    }
}

pub(super) fn digits(amount: U256) -> String {
    amount.to_string()
}
