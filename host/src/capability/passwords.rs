//! Passwords of one call, over all of its runs.
//!
//! A run does not compute a password. It traps if it needs one whose outcome is unknown. The caller computes the
//! outcome after the run has ended, and runs the call again. So no permit and no instance is held while the computation
//! waits for a core, and a run that is repeated after a conflict computes nothing twice.
//!
//! Invariant: a recorded outcome does not change.

use wasmtime::bail;

use crate::{
    limits::PASSWORDS_MAX,
    secrets::password::{PasswordError, PasswordOutcome, PasswordWork},
};

#[derive(Default)]
pub struct Passwords {
    outcomes: Vec<(PasswordWork, Result<PasswordOutcome, PasswordError>)>,
    pending: Option<PasswordWork>,
}

/// Trap that ends a run whose password outcome is unknown.
#[derive(Debug, thiserror::Error)]
#[error("a password has to be computed first")]
struct PasswordPending;

impl Passwords {
    /// Takes the work that must be computed before the next run.
    pub fn take_pending(&mut self) -> Option<PasswordWork> {
        self.pending.take()
    }

    /// Records the outcome of a computation.
    pub fn record(&mut self, work: PasswordWork, outcome: Result<PasswordOutcome, PasswordError>) {
        self.outcomes.push((work, outcome));
    }

    /// Returns the outcome of this work.
    ///
    /// # Errors
    ///
    /// Fails if the outcome is an error, or if the call has used up its passwords. If the outcome is unknown, notes the
    /// work as pending and returns a trap that ends the run.
    pub(super) fn find(&mut self, work: PasswordWork) -> wasmtime::Result<PasswordOutcome> {
        if let Some((_, outcome)) = self.outcomes.iter().find(|(other, _)| *other == work) {
            return Ok(outcome.clone()?);
        }
        if self.outcomes.len() >= PASSWORDS_MAX {
            bail!("a call computes at most {PASSWORDS_MAX} passwords");
        }
        self.pending = Some(work);
        Err(PasswordPending.into())
    }
}
