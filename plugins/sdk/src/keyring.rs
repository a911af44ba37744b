//! Keys on blockchains, as a handler uses them: by the name of the blockchain and an index, never the key itself.

pub use crate::host::{Account, ChainTransfer, Signed, Terms};

#[cfg(target_arch = "wasm32")]
use crate::host::Host;
use crate::host::HostRef;

/// The keys of this plugin and tenant.
#[derive(Clone, Copy)]
pub struct Keyring<'a> {
    host: HostRef<'a>,
}

impl<'a> Keyring<'a> {
    pub(crate) fn new(host: HostRef<'a>) -> Keyring<'a> {
        Keyring { host }
    }

    /// What others see of a key.
    pub fn account(&self, blockchain: &str, index: u32) -> Account {
        self.host.keyring_account_of(blockchain, index)
    }

    /// As the blockchain writes it; `None` where the text is no address there.
    pub fn read_address(&self, blockchain: &str, text: &str) -> Option<String> {
        self.host.keyring_read_address(blockchain, text)
    }

    /// `Err` where the message could be a transaction.
    pub fn sign_message(&self, blockchain: &str, index: u32, message: &[u8]) -> Result<String, String> {
        self.host.keyring_sign_message(blockchain, index, message)
    }

    /// EIP-712. `Err` says what is wrong with the document.
    pub fn sign_typed_data(&self, blockchain: &str, index: u32, document: &str) -> Result<String, String> {
        self.host.keyring_sign_typed_data(blockchain, index, document)
    }

    /// `Err` says what cannot be.
    pub fn sign_transfer(
        &self,
        blockchain: &str,
        index: u32,
        transfer: &ChainTransfer,
        terms: &Terms,
    ) -> Result<Signed, String> {
        self.host.keyring_sign_transfer(blockchain, index, transfer, terms)
    }

    /// What somebody else made, unsigned. `Err` says why not.
    pub fn sign_transaction(&self, blockchain: &str, index: u32, unsigned: &str) -> Result<Signed, String> {
        self.host.keyring_sign_transaction(blockchain, index, unsigned)
    }

    /// `None` unless the operator has allowed it.
    pub fn show_private_key(&self, blockchain: &str, index: u32) -> Option<String> {
        self.host.keyring_show_private_key(blockchain, index)
    }
}
