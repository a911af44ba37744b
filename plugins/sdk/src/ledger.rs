//! Double-entry accounts. Amounts are whole minor units in decimal digits.

pub use crate::host::{Holding, LedgerRefusal, Transfer};

#[cfg(target_arch = "wasm32")]
use crate::host::Host;
use crate::host::HostRef;

/// The accounts of this plugin and tenant.
#[derive(Clone, Copy)]
pub struct Ledger<'a> {
    host: HostRef<'a>,
}

impl<'a> Ledger<'a> {
    pub(crate) fn new(host: HostRef<'a>) -> Ledger<'a> {
        Ledger { host }
    }

    /// Opens an account whose balance may be negative: the other side of the books.
    pub fn open_external(&self, account: &str) {
        self.host.ledger_open_external(account);
    }

    /// Returns the balance, or "0" if no transfer was posted. Other calls may post before the commit.
    pub fn balance(&self, account: &str, asset: &str) -> String {
        self.host.ledger_balance(account, asset)
    }

    /// Returns the balances of an account in all assets.
    pub fn balances(&self, account: &str) -> Vec<Holding> {
        self.host.ledger_balances(account)
    }

    /// Posts all transfers or none.
    pub fn post(&self, transfers: &[Transfer]) -> Result<(), LedgerRefusal> {
        self.host.ledger_post(transfers)
    }

    /// Requires that the balance after this call is at least `amount`. Otherwise the host runs the call again.
    pub fn require_at_least(&self, account: &str, asset: &str, amount: &str) {
        self.host.ledger_require(account, asset, Some(amount), None);
    }

    /// Requires that the balance after this call is at most `amount`. Otherwise the host runs the call again.
    pub fn require_at_most(&self, account: &str, asset: &str, amount: &str) {
        self.host.ledger_require(account, asset, None, Some(amount));
    }
}
