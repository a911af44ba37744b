//! Answers questions and runs errands: from the host's words to an adapter, and back.

use ethnum::U256;
use tenon_chains::{Chain, ChainError, Movement, State, Submission, Transaction, Wish};

use super::wire::{Errand, MovementText, Question, TermsText, TransactionText, Wanted, answer};
use crate::changes::outgoing::{OutgoingAnswer, OutgoingCall};

/// `key`: what tells two wishes for coins apart; the same one is granted once. `Err` of an errand: it may have been run.
pub async fn serve(chain: &dyn Chain, call: &OutgoingCall, key: &str) -> Result<OutgoingAnswer, ChainError> {
    match Wanted::read(call) {
        Some(Wanted::Ask(question)) => ask(chain, &question).await,
        Some(Wanted::Do(errand)) => run(chain, errand, key).await,
        None => Ok(refused("this is no question and no errand")),
    }
}

async fn ask(chain: &dyn Chain, question: &Question) -> Result<OutgoingAnswer, ChainError> {
    Ok(match question {
        Question::Terms => {
            let terms = chain.terms().await?;
            let [price, coin_fee, token_fee] = [terms.price, terms.coin_fee, terms.token_fee].map(digits);
            answer(200, &TermsText { anchor: terms.anchor, price, coin_fee, token_fee })
        }
        Question::Balance { address, token } => answer(200, &digits(chain.balance(address, token.as_deref()).await?)),
        Question::Sequence { address } => answer(200, &chain.sequence(address).await?),
        Question::Transaction { hash } => {
            answer(200, &chain.find_transaction(hash).await?.as_ref().map(transaction_text))
        }
    })
}

async fn run(chain: &dyn Chain, errand: Errand, key: &str) -> Result<OutgoingAnswer, ChainError> {
    let submission = match errand {
        Errand::Send { raw } => chain.submit(&raw).await?,
        Errand::Coins { address, token, amount } => {
            let Ok(amount) = U256::from_str_radix(&amount, 10) else { return Ok(refused("the amount has no digits")) };
            let wish = Wish { key: key.to_owned(), address, token, amount };
            match chain.request_coins(&wish).await {
                Err(error @ (ChainError::NotAnAddress | ChainError::NotAToken | ChainError::NoFaucet)) => {
                    Submission::Refused { reason: error.to_string() }
                }
                submitted => submitted?,
            }
        }
    };
    Ok(match submission {
        Submission::Taken { hash } => answer(200, &serde_json::json!({ "hash": hash })),
        Submission::Refused { reason } | Submission::Void { reason } => refused(&reason),
    })
}

fn refused(reason: &str) -> OutgoingAnswer {
    answer(422, &serde_json::json!({ "reason": reason }))
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
