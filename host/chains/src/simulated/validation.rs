//! Decodes submitted bytes into a plan and validates them.
//!
//! This module checks everything that does not depend on balances. `pool` checks the rest.

use ethnum::U256;
use tenon_keyring::{Family, solana::Address};

use super::{
    networks::gas_price,
    plan::{Effect, Plan},
    timeline::Timeline,
};
use crate::{
    Facts, SignError, Submission, evm, solana,
    tron::{self, Contract},
};

/// Maximum depth below the head of a block that a transaction refers to. Solana's real networks use 150.
pub(super) const ANCHOR_BLOCKS: u64 = 65_536;

const CALL_GAS: u64 = 21_000;
pub(super) const COIN_GAS: u64 = CALL_GAS;
/// Gas that a token transfer uses.
const TOKEN_GAS: u64 = 46_000;
/// Gas limit that the terms offer for a token transfer.
pub(super) const TOKEN_GAS_LIMIT: u64 = 65_000;
/// Gas for each byte of data: for a zero byte and for any other.
const DATA_GAS: (u64, u64) = (4, 16);

pub(super) const SUN_PER_UNIT: u64 = 210;
/// Fee for the energy of a token transfer, in sun.
pub(super) const TOKEN_ENERGY_FEE: u64 = 65_000 * SUN_PER_UNIT;
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// A transaction to admit: submitted, well-formed and signed, or a funding transaction of the faucet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Incoming {
    pub hash: String,
    pub sender: String,
    /// `None` if the network does not count sequences.
    pub sequence: Option<u64>,
    /// Maximum price and tip offered for gas. 0 for families other than EVM.
    pub price: (u128, u128),
    pub plan: Plan,
    pub refers_to: Reference,
}

/// The block that a transaction refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    Nothing,
    Hash([u8; 32]),
    /// Last two bytes of the height and eight bytes of the hash.
    Part([u8; 2], [u8; 8]),
}

impl Reference {
    /// Returns whether the chain with this head contains the block.
    pub fn holds(&self, timeline: &Timeline, head: u64) -> bool {
        match self {
            Reference::Nothing => true,
            Reference::Hash(hash) => timeline.find_hash(hash, head, ANCHOR_BLOCKS).is_some(),
            Reference::Part(low, part) => {
                let back = (head as u16).wrapping_sub(u16::from_be_bytes(*low));
                let height = head.checked_sub(back.into());
                height.is_some_and(|height| timeline.hash(height).get(8..16) == Some(part.as_slice()))
            }
        }
    }
}

/// Why a submission is not accepted. The string is the reason for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SubmissionError {
    /// Not valid at present.
    Rejected(String),
    /// Permanently invalid, unless the chain is reorganised.
    Invalid(String),
}

/// Bytes that are not a transaction of this network are permanently invalid.
impl From<&str> for SubmissionError {
    fn from(reason: &str) -> SubmissionError {
        SubmissionError::Invalid(reason.to_owned())
    }
}

impl From<SignError> for SubmissionError {
    fn from(error: SignError) -> SubmissionError {
        SubmissionError::Invalid(error.to_string())
    }
}

impl From<SubmissionError> for Submission {
    fn from(error: SubmissionError) -> Submission {
        match error {
            SubmissionError::Rejected(reason) => Submission::Rejected { reason },
            SubmissionError::Invalid(reason) => Submission::Invalid { reason },
        }
    }
}

pub(super) fn decode(facts: &Facts, raw: &str, now_ms: u64, head: u64) -> Result<Incoming, SubmissionError> {
    match facts.family {
        Family::Evm => read_evm(facts, &evm::read(facts, raw)?),
        Family::Tron => read_tron(facts, &tron::read(raw)?, now_ms),
        Family::Solana => read_solana(facts, &solana::read(raw)?, head),
    }
}

fn read_evm(facts: &Facts, call: &evm::Call) -> Result<Incoming, SubmissionError> {
    let transaction = &call.transaction;
    let (price, tip) = (transaction.max_fee_per_gas, transaction.max_priority_fee_per_gas);
    let to = transaction.to.ok_or("contracts cannot be created on simulated networks")?.to_string();
    let gas_price = gas_price(facts);
    let minimum = transaction
        .data
        .iter()
        .fold(CALL_GAS, |gas, byte| gas.saturating_add(if *byte == 0 { DATA_GAS.0 } else { DATA_GAS.1 }));
    if transaction.gas_limit < minimum {
        return Err(SubmissionError::Invalid(format!("the gas limit is below {minimum}")));
    }
    if price < gas_price.base || tip > price {
        return Err(SubmissionError::Invalid(format!("the price of gas is below {} or below its tip", gas_price.base)));
    }
    let movement = call.movement(facts);
    let is_token = facts.find_token(&to).is_some();
    let needed = if is_token { minimum.max(TOKEN_GAS) } else { minimum };
    let is_transfer = evm::read_token_transfer(&transaction.data).is_some() && transaction.value == 0;
    let effects = movement.into_iter().map(|movement| Effect::Move {
        token: movement.token,
        recipient: movement.recipient,
        amount: movement.amount,
    });
    let paid = price.min(gas_price.base.saturating_add(tip));
    Ok(Incoming {
        hash: call.hash.clone(),
        sender: call.sender.to_string(),
        sequence: Some(transaction.nonce),
        price: (price, tip),
        plan: Plan {
            fee: U256::from(needed.min(transaction.gas_limit)).saturating_mul(paid.into()),
            cost: evm::fee_at_most(transaction).saturating_add(transaction.value.into()),
            fails: transaction.gas_limit < needed || (is_token && !is_transfer),
            effects: effects.collect(),
            last_height: None,
            last_time_ms: None,
        },
        refers_to: Reference::Nothing,
    })
}

fn read_tron(facts: &Facts, call: &tron::Call, now_ms: u64) -> Result<Incoming, SubmissionError> {
    let raw_data = &call.raw_data;
    // Expiry is checked later, since an expired transaction may already be in a block.
    if raw_data.expiration_ms > now_ms.saturating_add(DAY_MS) {
        return Err(SubmissionError::Rejected("the transaction expires in more than a day".to_owned()));
    }
    let (energy, fails, coins) = match &raw_data.contract {
        Contract::Transfer { amount: 0, .. } => return Err("the amount is 0".into()),
        Contract::Transfer { recipient, .. } if *recipient == call.sender => {
            return Err("sender and recipient are the same".into());
        }
        Contract::Transfer { amount, .. } => (0, false, *amount),
        Contract::Trigger { contract, .. } if facts.find_token(&contract.to_string()).is_none() => {
            return Err("there is no such contract".into());
        }
        Contract::Trigger { value, data, .. } => {
            let is_transfer = evm::read_token_transfer(data).is_some() && *value == 0;
            let has_energy = raw_data.fee_limit >= TOKEN_ENERGY_FEE;
            (raw_data.fee_limit.min(TOKEN_ENERGY_FEE), !is_transfer || !has_energy, *value)
        }
    };
    let fee = U256::from(call.bytes_fee).saturating_add(energy.into());
    let effects = call.movement(facts).into_iter().map(|movement| Effect::Move {
        token: movement.token,
        recipient: movement.recipient,
        amount: movement.amount,
    });
    Ok(Incoming {
        hash: call.hash.clone(),
        sender: call.sender.to_string(),
        sequence: None,
        price: (0, 0),
        plan: Plan {
            fee,
            cost: fee.saturating_add(coins.into()),
            fails,
            effects: effects.collect(),
            last_height: None,
            last_time_ms: Some(raw_data.expiration_ms),
        },
        refers_to: Reference::Part(raw_data.block_bytes, raw_data.block_hash),
    })
}

fn read_solana(facts: &Facts, call: &solana::Call, head: u64) -> Result<Incoming, SubmissionError> {
    let mut plan = Plan {
        fee: solana::priority_fee(&call.instructions).saturating_add(solana::SIGNATURE_FEE.into()),
        cost: U256::ZERO,
        fails: false,
        effects: Vec::new(),
        last_height: None,
        last_time_ms: None,
    };
    plan.cost = plan.fee;
    for instruction in &call.instructions {
        add_instruction(&mut plan, facts, call.sender, instruction)?;
    }
    // `NetworkState::submit` checks that the block it refers to exists.
    let height = u64::from_be_bytes(call.message.anchor.first_chunk::<8>().copied().unwrap_or_default());
    plan.last_height = Some(height.min(head).saturating_add(ANCHOR_BLOCKS));
    Ok(Incoming {
        hash: call.hash.clone(),
        sender: call.sender.to_string(),
        sequence: None,
        price: (0, 0),
        plan,
        refers_to: Reference::Hash(call.message.anchor),
    })
}

fn add_instruction(
    plan: &mut Plan,
    facts: &Facts,
    signer: Address,
    instruction: &solana::Instruction,
) -> Result<(), SubmissionError> {
    use solana::Instruction::{CreateTokenAccount, Transfer, TransferToken};
    let has_account = |account: &Address, owner: &Address, mint: &Address| {
        solana::token_account_of(owner, mint).is_ok_and(|derived| derived == *account)
    };
    match instruction {
        Transfer { sender: party, .. } | CreateTokenAccount { party, .. } | TransferToken { sender: party, .. }
            if *party != signer =>
        {
            return Err("another signature is required".into());
        }
        Transfer { recipient, amount, .. } => {
            plan.cost = plan.cost.saturating_add((*amount).into());
            let (recipient, amount) = (recipient.to_string(), U256::from(*amount));
            plan.effects.push(Effect::Move { token: None, recipient, amount });
        }
        CreateTokenAccount { account, owner, mint, .. } => {
            let is_known = facts.find_token(&mint.to_string()).is_some();
            plan.fails |= !is_known || !has_account(account, owner, mint);
            let (account, owner, token) = (account.to_string(), owner.to_string(), mint.to_string());
            plan.effects.push(Effect::Open { account, owner, token, rent: solana::TOKEN_ACCOUNT_RENT });
        }
        TransferToken { source, mint, account, sender, amount, decimals } => {
            let mint_text = mint.to_string();
            let fits = facts.find_token(&mint_text).is_some_and(|token| token.decimals == *decimals);
            plan.fails |= !fits || !has_account(source, sender, mint);
            let (account, amount) = (account.to_string(), U256::from(*amount));
            plan.effects.push(Effect::MoveToAccount { token: mint_text, account, amount });
        }
        _ => {}
    }
    Ok(())
}
