//! Key derivation from a seed: BIP-32 for secp256k1, SLIP-0010 for Ed25519.
//!
//! Owns the order of the hashed bytes. Other crates provide the hash and the curve. Each intermediate key and chain
//! code is wiped as soon as the next one is derived.

use hmac::{Hmac, Mac};
use k256::{
    NonZeroScalar, ProjectivePoint, Scalar,
    elliptic_curve::{PrimeField, ops::MulByGenerator, sec1::ToEncodedPoint},
};
use sha2::Sha512;
use zeroize::{Zeroize, Zeroizing};

use crate::{KeyringError, Path, Step, ed25519, secp256k1};

/// A private key and the chain code for deriving its children.
pub(crate) struct Node {
    key: Zeroizing<[u8; 32]>,
    chain_code: Zeroizing<[u8; 32]>,
}

/// Derives the node at `path` on secp256k1.
pub(crate) fn secp256k1(seed: &[u8], path: &Path) -> Result<Node, KeyringError> {
    let master = Node::hashed(b"Bitcoin seed", &[seed])?;
    scalar(&master.key)?;
    path.steps().iter().try_fold(master, |parent, step| secp256k1_child(&parent, *step))
}

/// Derives the node at `path` on Ed25519.
pub(crate) fn ed25519(seed: &[u8], path: &Path) -> Result<Node, KeyringError> {
    let master = Node::hashed(b"ed25519 seed", &[seed])?;
    path.steps().iter().try_fold(master, |parent, step| ed25519_child(&parent, *step))
}

fn secp256k1_child(parent: &Node, step: Step) -> Result<Node, KeyringError> {
    let mut parent_scalar = scalar(&parent.key)?;
    let mut child = if step.is_hardened() {
        Node::hashed(&*parent.chain_code, &[&[0], &*parent.key, &step.to_bytes()])?
    } else {
        let public = ProjectivePoint::mul_by_generator(&parent_scalar).to_affine().to_encoded_point(true);
        Node::hashed(&*parent.chain_code, &[public.as_bytes(), &step.to_bytes()])?
    };
    // A tweak of at least the curve's order, or a sum of zero, gives no valid key: BIP-32 requires the next index.
    let mut tweak = Option::<Scalar>::from(Scalar::from_repr((*child.key).into())).ok_or(KeyringError::NoKey)?;
    let mut sum = tweak + *parent_scalar;
    parent_scalar.zeroize();
    tweak.zeroize();
    child.key.copy_from_slice(&sum.to_bytes());
    sum.zeroize();
    scalar(&child.key)?;
    Ok(child)
}

fn ed25519_child(parent: &Node, step: Step) -> Result<Node, KeyringError> {
    if !step.is_hardened() {
        return Err(KeyringError::NotHardened);
    }
    Node::hashed(&*parent.chain_code, &[&[0], &*parent.key, &step.to_bytes()])
}

/// Returns the private key as a scalar that is greater than 0 and less than the order of the curve.
fn scalar(key: &[u8; 32]) -> Result<NonZeroScalar, KeyringError> {
    Option::from(NonZeroScalar::from_repr((*key).into())).ok_or(KeyringError::NoKey)
}

impl Node {
    /// Computes HMAC-SHA512. The left half is the key, the right half the chain code.
    fn hashed(secret: &[u8], parts: &[&[u8]]) -> Result<Node, KeyringError> {
        // Cannot fail: HMAC accepts keys of any length.
        let mut mac = Hmac::<Sha512>::new_from_slice(secret).map_err(|_| KeyringError::NoKey)?;
        parts.iter().for_each(|part| mac.update(part));
        let mut output = mac.finalize().into_bytes();
        let mut node = Node { key: Zeroizing::new([0; 32]), chain_code: Zeroizing::new([0; 32]) };
        let (left, right) = output.split_at(32);
        node.key.copy_from_slice(left);
        node.chain_code.copy_from_slice(right);
        output.as_mut_slice().zeroize();
        Ok(node)
    }

    pub(crate) fn into_secp256k1(self) -> Result<secp256k1::Key, KeyringError> {
        secp256k1::Key::from_bytes(&self.key).map_err(|_| KeyringError::NoKey)
    }

    pub(crate) fn into_ed25519(self) -> ed25519::Key {
        ed25519::Key::from_bytes(&self.key)
    }
}

#[cfg(test)]
mod tests;
