//! The raw data of a Tron transaction with one contract: a transfer of TRX, or a contract call.
//!
//! Invariant: decoded raw data encodes to the same bytes.

use tenon_keyring::tron::Address;

use super::protobuf::{Fields, write_bytes, write_number};
use crate::SignError;

const TRANSFER: (u64, &str) = (1, "type.googleapis.com/protocol.TransferContract");
const TRIGGER: (u64, &str) = (31, "type.googleapis.com/protocol.TriggerSmartContract");

/// Prefix of the 20 bytes of an account.
const VERSION: u8 = 0x41;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawData {
    /// Last two bytes of the height of the block that it refers to.
    pub block_bytes: [u8; 2],
    /// Eight bytes of the hash of that block.
    pub block_hash: [u8; 8],
    pub expiration_ms: u64,
    pub timestamp_ms: u64,
    pub memo: Vec<u8>,
    /// Maximum amount of sun burnt for energy.
    pub fee_limit: u64,
    pub sender: Address,
    pub contract: Contract,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contract {
    /// A transfer of TRX; `amount` is in sun.
    Transfer {
        recipient: Address,
        amount: u64,
    },
    Trigger {
        contract: Address,
        value: u64,
        data: Vec<u8>,
    },
}

impl RawData {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write_bytes(&mut out, 1, &self.block_bytes);
        write_bytes(&mut out, 4, &self.block_hash);
        write_number(&mut out, 8, self.expiration_ms);
        write_bytes(&mut out, 10, &self.memo);
        write_bytes(&mut out, 11, &self.contract_bytes());
        write_number(&mut out, 14, self.timestamp_ms);
        write_number(&mut out, 18, self.fee_limit);
        out
    }

    fn contract_bytes(&self) -> Vec<u8> {
        let mut value = Vec::new();
        write_bytes(&mut value, 1, &encode_address(self.sender));
        let (kind, url) = match &self.contract {
            Contract::Transfer { recipient, amount } => {
                write_bytes(&mut value, 2, &encode_address(*recipient));
                write_number(&mut value, 3, *amount);
                TRANSFER
            }
            Contract::Trigger { contract, value: sun, data } => {
                write_bytes(&mut value, 2, &encode_address(*contract));
                write_number(&mut value, 3, *sun);
                write_bytes(&mut value, 4, data);
                TRIGGER
            }
        };
        let mut parameter = Vec::new();
        write_bytes(&mut parameter, 1, url.as_bytes());
        write_bytes(&mut parameter, 2, &value);
        let mut out = Vec::new();
        write_number(&mut out, 1, kind);
        write_bytes(&mut out, 2, &parameter);
        out
    }

    /// Decodes raw data. Rejects bytes that differ from their own re-encoding, since a node may decode them
    /// differently.
    pub fn from_bytes(bytes: &[u8]) -> Result<RawData, SignError> {
        let mut fields = Fields::read(bytes)?;
        let (sender, contract) = read_contract(fields.take_bytes(11)?)?;
        let raw_data = RawData {
            block_bytes: fields.take_bytes(1)?.try_into().map_err(|_| NO_BLOCK)?,
            block_hash: fields.take_bytes(4)?.try_into().map_err(|_| NO_BLOCK)?,
            expiration_ms: fields.take_number(8)?,
            timestamp_ms: fields.take_number(14)?,
            memo: fields.take_bytes(10)?.to_vec(),
            fee_limit: fields.take_number(18)?,
            sender,
            contract,
        };
        fields.finish()?;
        match raw_data.to_bytes() == bytes {
            true => Ok(raw_data),
            false => Err(SignError::Transaction("its fields are not in the canonical order")),
        }
    }
}

const NO_BLOCK: SignError = SignError::Transaction("it does not refer to a block");
const UNKNOWN: SignError = SignError::Transaction("its contract is neither a transfer nor a call");

fn read_contract(bytes: &[u8]) -> Result<(Address, Contract), SignError> {
    let mut fields = Fields::read(bytes)?;
    let (kind, mut parameter) = (fields.take_number(1)?, Fields::read(fields.take_bytes(2)?)?);
    let (url, value) = (parameter.take_bytes(1)?, parameter.take_bytes(2)?);
    parameter.finish()?;
    fields.finish()?;
    let mut fields = Fields::read(value)?;
    let (sender, to) = (read_address(fields.take_bytes(1)?)?, read_address(fields.take_bytes(2)?)?);
    let amount = fields.take_number(3)?;
    let contract = match (kind, url) {
        (kind, url) if (kind, url) == (TRANSFER.0, TRANSFER.1.as_bytes()) => {
            Contract::Transfer { recipient: to, amount }
        }
        (kind, url) if (kind, url) == (TRIGGER.0, TRIGGER.1.as_bytes()) => {
            Contract::Trigger { contract: to, value: amount, data: fields.take_bytes(4)?.to_vec() }
        }
        _ => return Err(UNKNOWN),
    };
    fields.finish()?;
    Ok((sender, contract))
}

fn encode_address(address: Address) -> Vec<u8> {
    [&[VERSION], &address.as_bytes()[..]].concat()
}

fn read_address(bytes: &[u8]) -> Result<Address, SignError> {
    let account = bytes.strip_prefix(&[VERSION]).and_then(|account| <[u8; 20]>::try_from(account).ok());
    account.map(Address::from_bytes).ok_or(SignError::Transaction("it contains an invalid address"))
}
