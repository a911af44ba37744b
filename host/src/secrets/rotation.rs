//! Re-seals, under the current master key, everything that an older key sealed.
//!
//! A rotation can be interrupted and repeated: each row is opened with the key that sealed it. An older key may be
//! removed only after a rotation has left nothing behind.

use super::{MasterKeys, SecretError, SecretName};

/// A sealed secret as it is stored.
#[derive(Clone, Debug)]
pub struct SealedRow {
    pub name: SecretName,
    pub sealed: Vec<u8>,
}

/// Access to the stored rows.
pub trait SealedRows: Sync {
    fn list(&self) -> impl Future<Output = Result<Vec<SealedRow>, SecretError>> + Send;

    /// Stores `sealed` unless the row has changed since it was read. A changed secret is sealed under the current key.
    fn replace(&self, row: &SealedRow, sealed: &[u8]) -> impl Future<Output = Result<(), SecretError>> + Send;
}

/// Result of a rotation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    pub sealed_again: usize,
    /// Secrets that were already sealed under the current key.
    pub current: usize,
    /// Row keys of secrets that no key of this host opens.
    pub left: Vec<String>,
}

/// Re-seals all secrets that an older key of `keys` sealed.
pub async fn rotate(keys: &MasterKeys, rows: &impl SealedRows) -> Result<Rotation, SecretError> {
    let mut rotation = Rotation::default();
    for row in rows.list().await? {
        if keys.is_current(&row.sealed) {
            rotation.current += 1;
            continue;
        }
        match keys.open(&row.name, &row.sealed) {
            Ok(plain) => {
                rows.replace(&row, &keys.seal(&row.name, &plain)?).await?;
                rotation.sealed_again += 1;
            }
            Err(SecretError::CannotOpen | SecretError::UnknownKey(_)) => rotation.left.push(row.name.row_key()),
            Err(error) => return Err(error),
        }
    }
    Ok(rotation)
}
