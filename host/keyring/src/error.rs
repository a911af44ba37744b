//! Errors of the keyring. No message contains part of a secret.

/// Invalid input to a keyring operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    #[error("entropy has 16, 20, 24, 28 or 32 bytes, not {0}")]
    EntropyLength(usize),
    #[error("a seed phrase has 12, 15, 18, 21 or 24 words")]
    PhraseLength,
    #[error("word {0} of the seed phrase is not in the English word list")]
    PhraseWord(usize),
    #[error("the seed phrase is mistyped: its checksum is wrong")]
    PhraseChecksum,
    #[error("a seed has from 16 to 64 bytes, not {0}")]
    SeedLength(usize),
    #[error("a path is m followed by at most {max} steps like /44' or /0, each below 2147483648", max = crate::path::STEPS_MAX)]
    Path,
    #[error("paths of Ed25519 keys must have only hardened steps, like 44'")]
    NotHardened,
    #[error("this path has no key; use the next index")]
    NoKey,
    #[error("not a valid private key of this curve")]
    PrivateKey,
    #[error("an EVM address is 0x and 40 hex digits")]
    EvmAddress,
    #[error("the address is mistyped: its checksum is wrong")]
    AddressChecksum,
    #[error("a Tron address is a T and 33 more characters of base58")]
    TronAddress,
    #[error("a Solana address is 32 bytes in base58, 32 to 44 characters")]
    SolanaAddress,
    #[error("not a valid signature")]
    Signature,
    #[error("the signature was not made by this key over these bytes")]
    NotSigned,
    #[error("not a valid EIP-1559 transaction")]
    Transaction,
    #[error("a transaction has at most {max} bytes", max = crate::evm::TRANSACTION_BYTES_MAX)]
    TransactionLength,
    #[error("typed data has at most {max} bytes", max = crate::evm::TYPED_DATA_BYTES_MAX)]
    TypedDataLength,
    #[error("typed data declares at most {max} types", max = crate::evm::TYPED_DATA_TYPES_MAX)]
    TypedDataTypes,
    #[error(
        "typed data is a JSON object of types, primaryType, domain and message, without null, fractions and \
         repeated names in one object"
    )]
    TypedDataJson,
    // Plugins parse this message: do not change its form.
    #[error("typed data: {at} has to be {expected}")]
    TypedData {
        /// A part of the document, a type, or a field as `Type.field`.
        at: String,
        expected: &'static str,
    },
    #[error("only EVM blockchains have typed data")]
    NoTypedData,
    #[error("the message contains the signer's public key: once signed, it could be used as a transaction")]
    MessageLikeTransaction,
    #[error("the transaction does not contain the signer's public key")]
    NotSigner,
}
