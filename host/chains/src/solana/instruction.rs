//! The instructions that transfers consist of, and the programs that execute them.

use tenon_keyring::solana::Address;

/// Addresses of the programs as bytes. A test compares them with their string forms.
pub(super) const SYSTEM_PROGRAM: Address = Address::from_bytes([0; 32]);
pub(super) const TOKEN_PROGRAM: Address = Address::from_bytes(TOKEN_BYTES);
pub(super) const ASSOCIATED_TOKEN_PROGRAM: Address = Address::from_bytes(ASSOCIATED_TOKEN_BYTES);
pub(super) const MEMO_PROGRAM: Address = Address::from_bytes(MEMO_BYTES);
pub(super) const COMPUTE_PROGRAM: Address = Address::from_bytes(COMPUTE_BYTES);

const TOKEN_BYTES: [u8; 32] = [
    6, 221, 246, 225, 215, 101, 161, 147, 217, 203, 225, 70, 206, 235, 121, 172, 28, 180, 133, 237, 95, 91, 55, 145,
    58, 140, 245, 133, 126, 255, 0, 169,
];
const ASSOCIATED_TOKEN_BYTES: [u8; 32] = [
    140, 151, 37, 143, 78, 36, 137, 241, 187, 61, 16, 41, 20, 142, 13, 131, 11, 90, 19, 153, 218, 255, 16, 132, 4, 142,
    123, 216, 219, 233, 248, 89,
];
const MEMO_BYTES: [u8; 32] = [
    5, 74, 83, 90, 153, 41, 33, 6, 77, 36, 232, 113, 96, 218, 56, 124, 124, 53, 181, 221, 188, 146, 187, 129, 228, 31,
    168, 64, 65, 5, 68, 141,
];
const COMPUTE_BYTES: [u8; 32] = [
    3, 6, 70, 111, 229, 33, 23, 50, 255, 236, 173, 186, 114, 195, 155, 231, 188, 140, 229, 187, 197, 247, 18, 107, 44,
    67, 155, 58, 64, 0, 0, 0,
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Transfers lamports.
    Transfer {
        sender: Address,
        recipient: Address,
        amount: u64,
    },
    /// Creates a token account if it is missing.
    CreateTokenAccount {
        party: Address,
        account: Address,
        owner: Address,
        mint: Address,
    },
    /// Transfers tokens between the token accounts `source` and `account`. `sender` owns `source`.
    TransferToken {
        source: Address,
        mint: Address,
        account: Address,
        sender: Address,
        amount: u64,
        decimals: u8,
    },
    Memo(Vec<u8>),
    UnitLimit(u32),
    /// In millionths of a lamport.
    UnitPrice(u64),
    /// Unknown instruction.
    Other,
}

/// An account that an instruction uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AccountUse {
    pub address: Address,
    pub signs: bool,
    pub writes: bool,
}

const fn reads(address: Address) -> AccountUse {
    AccountUse { address, signs: false, writes: false }
}

const fn writes(address: Address) -> AccountUse {
    AccountUse { address, signs: false, writes: true }
}

const fn pays(address: Address) -> AccountUse {
    AccountUse { address, signs: true, writes: true }
}

impl Instruction {
    /// Returns program, accounts and data, or `None` for [`Instruction::Other`].
    pub(super) fn encode(&self) -> Option<(Address, Vec<AccountUse>, Vec<u8>)> {
        Some(match self {
            Instruction::Transfer { sender, recipient, amount } => {
                let data = [&2_u32.to_le_bytes()[..], &amount.to_le_bytes()].concat();
                (SYSTEM_PROGRAM, vec![pays(*sender), writes(*recipient)], data)
            }
            Instruction::CreateTokenAccount { party, account, owner, mint } => {
                let programs = [reads(SYSTEM_PROGRAM), reads(TOKEN_PROGRAM)];
                let uses = [&[pays(*party), writes(*account), reads(*owner), reads(*mint)][..], &programs].concat();
                (ASSOCIATED_TOKEN_PROGRAM, uses, vec![1])
            }
            Instruction::TransferToken { source, mint, account, sender, amount, decimals } => {
                let owner = AccountUse { address: *sender, signs: true, writes: false };
                let data = [&[12], &amount.to_le_bytes()[..], &[*decimals]].concat();
                (TOKEN_PROGRAM, vec![writes(*source), reads(*mint), writes(*account), owner], data)
            }
            Instruction::Memo(text) => (MEMO_PROGRAM, Vec::new(), text.clone()),
            Instruction::UnitLimit(units) => (COMPUTE_PROGRAM, Vec::new(), [&[2], &units.to_le_bytes()[..]].concat()),
            Instruction::UnitPrice(price) => (COMPUTE_PROGRAM, Vec::new(), [&[3], &price.to_le_bytes()[..]].concat()),
            Instruction::Other => return None,
        })
    }

    /// Decodes the output of [`Instruction::encode`]. Additional accounts are ignored.
    pub(super) fn read(program: Address, accounts: &[Address], data: &[u8]) -> Instruction {
        let read = match program {
            SYSTEM_PROGRAM => read_transfer(accounts, data),
            ASSOCIATED_TOKEN_PROGRAM => match (accounts, data) {
                // Data 1 makes the instruction idempotent. The other forms create the same account, and fail if it
                // exists.
                ([party, account, owner, mint, ..], [] | [0 | 1]) => Some(Instruction::CreateTokenAccount {
                    party: *party,
                    account: *account,
                    owner: *owner,
                    mint: *mint,
                }),
                _ => None,
            },
            TOKEN_PROGRAM => read_token_transfer(accounts, data),
            MEMO_PROGRAM => Some(Instruction::Memo(data.to_vec())),
            COMPUTE_PROGRAM => read_limit(data),
            _ => None,
        };
        read.unwrap_or(Instruction::Other)
    }
}

fn read_transfer(accounts: &[Address], data: &[u8]) -> Option<Instruction> {
    let amount = data.strip_prefix(&2_u32.to_le_bytes())?.try_into().ok().map(u64::from_le_bytes)?;
    let [sender, recipient, ..] = accounts else { return None };
    Some(Instruction::Transfer { sender: *sender, recipient: *recipient, amount })
}

fn read_token_transfer(accounts: &[Address], data: &[u8]) -> Option<Instruction> {
    let (amount, decimals) = data.strip_prefix(&[12])?.split_first_chunk::<8>()?;
    let (amount, [decimals]) = (u64::from_le_bytes(*amount), decimals) else { return None };
    let [source, mint, account, sender, ..] = accounts else { return None };
    let (source, mint, account, sender) = (*source, *mint, *account, *sender);
    Some(Instruction::TransferToken { source, mint, account, sender, amount, decimals: *decimals })
}

fn read_limit(data: &[u8]) -> Option<Instruction> {
    match data.split_first()? {
        (2, units) => Some(Instruction::UnitLimit(u32::from_le_bytes(units.try_into().ok()?))),
        (3, price) => Some(Instruction::UnitPrice(u64::from_le_bytes(price.try_into().ok()?))),
        _ => None,
    }
}
