//! Blockchain keys. A handler identifies a key by blockchain and index. It gets the private key itself only if the
//! operator has allowed it.

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

    /// Returns the address and derivation path of a key.
    pub fn account(&self, blockchain: &str, index: u32) -> Account {
        self.host.keyring_account_of(blockchain, index)
    }

    /// Parses an address and returns its canonical form, or `None` if it is not an address of the blockchain.
    pub fn read_address(&self, blockchain: &str, text: &str) -> Option<String> {
        self.host.keyring_read_address(blockchain, text)
    }

    /// Signs a message.
    ///
    /// # Errors
    ///
    /// Rejects a message that could be a transaction.
    pub fn sign_message(&self, blockchain: &str, index: u32, message: &[u8]) -> Result<String, String> {
        self.host.keyring_sign_message(blockchain, index, message)
    }

    /// Signs typed data (EIP-712).
    ///
    /// # Errors
    ///
    /// Describes what is invalid in the document.
    pub fn sign_typed_data(&self, blockchain: &str, index: u32, document: &str) -> Result<String, String> {
        self.host.keyring_sign_typed_data(blockchain, index, document)
    }

    /// Signs a transfer.
    ///
    /// # Errors
    ///
    /// Describes which value is invalid.
    pub fn sign_transfer(
        &self,
        blockchain: &str,
        index: u32,
        transfer: &ChainTransfer,
        terms: &Terms,
    ) -> Result<Signed, String> {
        self.host.keyring_sign_transfer(blockchain, index, transfer, terms)
    }

    /// Signs an unsigned transaction that another party created.
    ///
    /// # Errors
    ///
    /// Describes why the transaction cannot be signed.
    pub fn sign_transaction(&self, blockchain: &str, index: u32, unsigned: &str) -> Result<Signed, String> {
        self.host.keyring_sign_transaction(blockchain, index, unsigned)
    }

    /// Returns a private key, or `None` if the operator has not allowed it.
    pub fn show_private_key(&self, blockchain: &str, index: u32) -> Option<String> {
        self.host.keyring_show_private_key(blockchain, index)
    }
}
