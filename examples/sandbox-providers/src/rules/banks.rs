//! Made-up banks: currencies that are paid out, institutions, and who owns an account.

/// A currency that is paid out. Limits are in whole units.
pub struct Currency {
    pub code: &'static str,
    pub name: &'static str,
    pub decimals: u32,
    pub minimum: &'static str,
    pub maximum: &'static str,
    pub institutions: &'static [Institution],
}

pub struct Institution {
    pub identifier: &'static str,
    pub name: &'static str,
    pub is_bank: bool,
}

/// What payouts are paid for.
pub const PAYOUT_ASSETS: [&str; 3] = ["USDT", "USDC", "cNGN"];

const fn bank(identifier: &'static str, name: &'static str) -> Institution {
    Institution { identifier, name, is_bank: true }
}

const fn mobile(identifier: &'static str, name: &'static str) -> Institution {
    Institution { identifier, name, is_bank: false }
}

pub const CURRENCIES: [Currency; 6] = [
    Currency {
        code: "NGN",
        name: "Nigerian naira",
        decimals: 2,
        minimum: "100",
        maximum: "50000000",
        institutions: &[
            bank("SANDNGLA", "Sandbox Bank of Lagos"),
            bank("SANDNGAB", "Sandbox Bank of Abuja"),
            mobile("SANDNGMO", "Sandbox Naira Mobile"),
        ],
    },
    Currency {
        code: "KES",
        name: "Kenyan shilling",
        decimals: 2,
        minimum: "10",
        maximum: "5000000",
        institutions: &[bank("SANDKENA", "Sandbox Bank of Nairobi"), mobile("SANDKEMO", "Sandbox Shilling Mobile")],
    },
    Currency {
        code: "TZS",
        name: "Tanzanian shilling",
        decimals: 2,
        minimum: "500",
        maximum: "100000000",
        institutions: &[bank("SANDTZDA", "Sandbox Bank of Dodoma"), mobile("SANDTZMO", "Sandbox Dodoma Mobile")],
    },
    Currency {
        code: "UGX",
        name: "Ugandan shilling",
        decimals: 0,
        minimum: "500",
        maximum: "150000000",
        institutions: &[bank("SANDUGKA", "Sandbox Bank of Kampala"), mobile("SANDUGMO", "Sandbox Kampala Mobile")],
    },
    Currency {
        code: "BRL",
        name: "Brazilian real",
        decimals: 2,
        minimum: "1",
        maximum: "500000",
        institutions: &[bank("SANDBRSP", "Sandbox Banco de Santos"), bank("SANDBRRE", "Sandbox Banco do Recife")],
    },
    Currency {
        code: "MWK",
        name: "Malawian kwacha",
        decimals: 2,
        minimum: "500",
        maximum: "60000000",
        institutions: &[bank("SANDMWLI", "Sandbox Bank of Lilongwe"), mobile("SANDMWMO", "Sandbox Kwacha Mobile")],
    },
];

const OWNERS: [&str; 8] = [
    "ADA OKAFOR",
    "CHIDI EZE",
    "WANJIKU MWANGI",
    "JUMA HASSAN",
    "NAMUKASA AISHA",
    "JOAO SILVA",
    "THOKO BANDA",
    "MARIA SOUZA",
];

pub fn find_currency(code: &str) -> Option<&'static Currency> {
    CURRENCIES.iter().find(|currency| currency.code == code)
}

impl Currency {
    pub fn find_institution(&self, identifier: &str) -> Option<&'static Institution> {
        self.institutions.iter().find(|institution| institution.identifier == identifier)
    }
}

impl Institution {
    pub fn kind(&self) -> &'static str {
        if self.is_bank { "bank" } else { "mobile_money" }
    }
}

/// Letters, digits, and what telephone numbers and mail addresses have besides.
pub fn is_account_identifier(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.@_".contains(&byte))
}

/// The same account has the same owner for ever.
pub fn owner(account_identifier: &str) -> &'static str {
    let sum: usize = account_identifier.bytes().map(usize::from).sum();
    OWNERS.get(sum % OWNERS.len()).copied().unwrap_or_default()
}
