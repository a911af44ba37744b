//! Why something is refused. No text holds a part of a secret.

/// What can be wrong with what was given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    #[error("entropy has 16, 20, 24, 28 or 32 bytes, not {0}")]
    EntropyLength(usize),
    #[error("a seed phrase has 12, 15, 18, 21 or 24 words")]
    PhraseLength,
    #[error("word {0} of the seed phrase is not in the English word list")]
    PhraseWord(usize),
    #[error("the seed phrase is mistyped: its checksum does not fit")]
    PhraseChecksum,
    #[error("a seed has from 16 to 64 bytes, not {0}")]
    SeedLength(usize),
    #[error("a path is m followed by at most {max} steps like /44' or /0, each below 2147483648", max = crate::path::STEPS_MAX)]
    Path,
    #[error("Ed25519 keys have hardened steps only, like 44'")]
    NotHardened,
    #[error("there is no key at this path; the next index has one")]
    NoKey,
    #[error("this is not a private key of this curve")]
    PrivateKey,
    #[error("an EVM address is 0x and 40 hex digits")]
    EvmAddress,
    #[error("the address is mistyped: its checksum does not fit")]
    AddressChecksum,
    #[error("a Tron address is a T and 33 more characters of base58")]
    TronAddress,
    #[error("a Solana address is 32 bytes in base58, 32 to 44 characters")]
    SolanaAddress,
    #[error("this is not a signature")]
    Signature,
    #[error("the signature was not made by this key over these bytes")]
    NotSigned,
    #[error("this is not an EIP-1559 transaction")]
    Transaction,
    #[error("a transaction has at most {max} bytes", max = crate::evm::TRANSACTION_BYTES_MAX)]
    TransactionLength,
    #[error("typed data has at most {max} bytes", max = crate::evm::TYPED_DATA_BYTES_MAX)]
    TypedDataLength,
    #[error("typed data declares at most {max} types", max = crate::evm::TYPED_DATA_TYPES_MAX)]
    TypedDataTypes,
    #[error(
        "typed data is a JSON object of types, primaryType, domain and message, without null, fractions and names that \
         stand twice in one object"
    )]
    TypedDataJson,
    #[error("typed data: {at} has to be {expected}")]
    TypedData {
        /// A part of the document, a type, or a field as `Type.field`.
        at: String,
        expected: &'static str,
    },
    #[error("only EVM blockchains have typed data")]
    NoTypedData,
    #[error("the text holds the signer's public key: signed, it could pass for a transaction")]
    MessageLikeTransaction,
    #[error("the transaction does not name the key that should sign it")]
    NotSigner,
}
