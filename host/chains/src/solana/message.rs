//! Legacy messages of Solana: signers, accounts and instructions.
//!
//! Invariants: a decoded message encodes to the same bytes. Every index of an instruction names an account.

use tenon_keyring::solana::Address;

use super::instruction::{AccountUse, Instruction};
use crate::SignError;

const BROKEN: SignError = SignError::Transaction("not the bytes of a Solana message");
const VERSIONED: SignError = SignError::Transaction("only legacy messages are supported");

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Number of signers, of read-only signers, and of read-only accounts that do not sign.
    header: [u8; 3],
    accounts: Vec<Address>,
    /// Hash of a recent block.
    pub anchor: [u8; 32],
    compiled: Vec<Compiled>,
}

/// An instruction whose accounts are indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Compiled {
    program: u8,
    accounts: Vec<u8>,
    data: Vec<u8>,
}

impl Message {
    /// Compiles a message. Returns an error if an instruction is [`Instruction::Other`], or if there are more accounts
    /// than an index of one byte can name.
    pub(super) fn compile(
        sender: Address,
        anchor: [u8; 32],
        instructions: &[Instruction],
    ) -> Result<Message, SignError> {
        let encoded: Option<Vec<_>> = instructions.iter().map(Instruction::encode).collect();
        let encoded = encoded.ok_or(BROKEN)?;
        let mut uses = vec![AccountUse { address: sender, signs: true, writes: true }];
        for (program, accounts, _) in &encoded {
            let program = AccountUse { address: *program, signs: false, writes: false };
            for used in accounts.iter().chain([&program]) {
                match uses.iter_mut().find(|other| other.address == used.address) {
                    Some(other) => {
                        other.signs |= used.signs;
                        other.writes |= used.writes;
                    }
                    None => uses.push(*used),
                }
            }
        }
        // Signers first, and writable accounts first within each group. The sort is stable, so the sender stays first.
        uses.sort_by_key(|used| (!used.signs, !used.writes));
        let accounts: Vec<Address> = uses.iter().map(|used| used.address).collect();
        let count = |signs, writes| {
            let counted = uses.iter().filter(|used| used.signs == signs && used.writes == writes).count();
            u8::try_from(counted).map_err(|_| BROKEN)
        };
        let readers = count(true, false)?;
        let index = |address: &Address| {
            let at = accounts.iter().position(|other| other == address);
            at.and_then(|at| u8::try_from(at).ok()).ok_or(BROKEN)
        };
        let compiled = encoded.iter().map(|(program, used, data)| {
            let accounts = used.iter().map(|used| index(&used.address)).collect::<Result<_, _>>()?;
            Ok(Compiled { program: index(program)?, accounts, data: data.clone() })
        });
        let compiled = compiled.collect::<Result<_, SignError>>()?;
        Ok(Message {
            header: [count(true, true)? + readers, readers, count(false, false)?],
            accounts,
            anchor,
            compiled,
        })
    }

    /// Returns the account that signs and pays, or `None` if several must sign.
    pub fn sender(&self) -> Option<Address> {
        self.accounts.first().copied().filter(|_| self.header == [1, 0, self.header[2]])
    }

    pub fn instructions(&self) -> Vec<Instruction> {
        let account = |index: &u8| self.accounts.get(usize::from(*index)).copied();
        let read = self.compiled.iter().map(|compiled| {
            let accounts: Option<Vec<Address>> = compiled.accounts.iter().map(account).collect();
            let whole = account(&compiled.program).zip(accounts);
            whole.map_or(Instruction::Other, |(program, used)| Instruction::read(program, &used, &compiled.data))
        });
        read.collect()
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = self.header.to_vec();
        write_length(&mut out, self.accounts.len());
        self.accounts.iter().for_each(|account| out.extend_from_slice(account.as_bytes()));
        out.extend_from_slice(&self.anchor);
        write_length(&mut out, self.compiled.len());
        for compiled in &self.compiled {
            out.push(compiled.program);
            write_length(&mut out, compiled.accounts.len());
            out.extend_from_slice(&compiled.accounts);
            write_length(&mut out, compiled.data.len());
            out.extend_from_slice(&compiled.data);
        }
        out
    }

    pub fn from_bytes(mut bytes: &[u8]) -> Result<Message, SignError> {
        let header = take::<3>(&mut bytes)?;
        let [signers, signers_read, others_read] = header.map(usize::from);
        if header[0] & 0x80 != 0 {
            return Err(VERSIONED);
        }
        let count = read_length(&mut bytes)?;
        if count > bytes.len() / 32 || signers == 0 || signers_read >= signers || signers + others_read > count {
            return Err(BROKEN);
        }
        let accounts = (0..count).map(|_| take::<32>(&mut bytes).map(Address::from_bytes));
        let accounts = accounts.collect::<Result<Vec<_>, _>>()?;
        let mut sorted = accounts.clone();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair.first() == pair.last()) {
            return Err(SignError::Transaction("an account is listed twice"));
        }
        let anchor = take::<32>(&mut bytes)?;
        let compiled = read_instructions(&mut bytes, accounts.len())?;
        if bytes.is_empty() { Ok(Message { header, accounts, anchor, compiled }) } else { Err(BROKEN) }
    }
}

fn read_instructions(bytes: &mut &[u8], accounts: usize) -> Result<Vec<Compiled>, SignError> {
    let count = read_length(bytes)?;
    let mut compiled = Vec::new();
    for _ in 0..count {
        let [program] = take::<1>(bytes)?;
        let (used, data) = (take_slice(bytes)?, take_slice(bytes)?);
        // The first account pays, so it is not a program.
        let is_within = |index: u8| usize::from(index) < accounts;
        if program == 0 || !is_within(program) || !used.iter().all(|index| is_within(*index)) {
            return Err(BROKEN);
        }
        compiled.push(Compiled { program, accounts: used.to_vec(), data: data.to_vec() });
    }
    Ok(compiled)
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], SignError> {
    let (taken, rest) = bytes.split_first_chunk::<N>().ok_or(BROKEN)?;
    *bytes = rest;
    Ok(*taken)
}

fn take_slice<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], SignError> {
    let length = read_length(bytes)?;
    let (taken, rest) = bytes.split_at_checked(length).ok_or(BROKEN)?;
    *bytes = rest;
    Ok(taken)
}

/// Reads a length of one to three bytes with seven bits each. Over-long encodings are errors.
fn read_length(bytes: &mut &[u8]) -> Result<usize, SignError> {
    let mut length = 0;
    for shift in [0, 7, 14] {
        let [byte] = take::<1>(bytes)?;
        if shift > 0 && byte == 0 {
            return Err(BROKEN);
        }
        length |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return if length <= usize::from(u16::MAX) { Ok(length) } else { Err(BROKEN) };
        }
    }
    Err(BROKEN)
}

fn write_length(out: &mut Vec<u8>, mut length: usize) {
    while length >= 0x80 {
        out.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}
