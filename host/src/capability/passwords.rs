//! Passwords of one call, over all of its runs. A run never computes one: it ends where it needs one that is not known
//! yet. Who runs the call computes it once the run has ended, and runs again.
//!
//! So nobody holds a seat or an instance while a core is waited for, and a run that lost against another computes nothing
//! twice. Invariant: what is known stays the same.

use wasmtime::bail;

use crate::{
    limits::PASSWORDS_MAX,
    secrets::password::{PasswordError, PasswordOutcome, PasswordWork},
};

#[derive(Default)]
pub struct Passwords {
    known: Vec<(PasswordWork, Result<PasswordOutcome, PasswordError>)>,
    wanted: Option<PasswordWork>,
}

/// What ends a run; the next one knows more.
#[derive(Debug, thiserror::Error)]
#[error("a password has to be computed first")]
struct Wanted;

impl Passwords {
    /// What has to be computed before the next run; afterwards nothing has.
    pub fn take_wanted(&mut self) -> Option<PasswordWork> {
        self.wanted.take()
    }

    pub fn know(&mut self, work: PasswordWork, outcome: Result<PasswordOutcome, PasswordError>) {
        self.known.push((work, outcome));
    }

    /// What is known of it. Else the run must end: the error ends it.
    pub(super) fn find(&mut self, work: PasswordWork) -> wasmtime::Result<PasswordOutcome> {
        if let Some((_, outcome)) = self.known.iter().find(|(known, _)| *known == work) {
            return Ok(outcome.clone()?);
        }
        if self.known.len() >= PASSWORDS_MAX {
            bail!("a call computes at most {PASSWORDS_MAX} passwords");
        }
        self.wanted = Some(work);
        Err(Wanted.into())
    }
}
