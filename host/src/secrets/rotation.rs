//! Sealing again, under the current master key, everything that an older one sealed.
//!
//! Safe to stop and repeat: each row is opened by whichever key sealed it. An older key may be taken away only when a
//! rotation has left nothing behind.

use super::{MasterKeys, SecretError, SecretName};

/// A sealed secret as it is stored.
#[derive(Clone, Debug)]
pub struct SealedRow {
    pub name: SecretName,
    pub sealed: Vec<u8>,
}

/// The rows, as the database gives them.
pub trait SealedRows: Sync {
    fn list(&self) -> impl Future<Output = Result<Vec<SealedRow>, SecretError>> + Send;

    /// Stores `sealed` unless the row is no longer what `row` says: somebody has changed the secret meanwhile, and the
    /// new one is under the current key anyway.
    fn replace(&self, row: &SealedRow, sealed: &[u8]) -> impl Future<Output = Result<(), SecretError>> + Send;
}

/// What a rotation did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    pub sealed_again: usize,
    /// The current key had sealed them already.
    pub current: usize,
    /// Row keys of those that no key of this host opens.
    pub left: Vec<String>,
}

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
            Err(SecretError::Refused | SecretError::UnknownKey(_)) => rotation.left.push(row.name.row_key()),
            Err(error) => return Err(error),
        }
    }
    Ok(rotation)
}
