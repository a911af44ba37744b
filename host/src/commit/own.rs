//! Changes that the host itself makes to the data of one plugin and tenant. They go through the committer like any
//! other change, so that conflicts with concurrent calls of the plugin are detected.
//!
//! Owns the retries. Never accesses a collection of the plugin, because its model contains the host collections only.

use super::{
    committer::{CommitError, Committer},
    draft::{CallIdentity, Draft, DraftError},
};
use crate::changes::{effect::Effect, operator_action::OperatorAction, scope::Scope};
use crate::clock::Timestamp;
use crate::{db::model::ModelError, limits::RUNS_MAX};

#[derive(Debug, thiserror::Error)]
pub enum OwnError {
    #[error(transparent)]
    Draft(#[from] DraftError),
    #[error(transparent)]
    Commit(#[from] CommitError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("conflict retries exhausted")]
    Contended,
}

/// A change that is made again in each retry.
pub trait Change: Sync {
    type Output: Send;

    /// Makes the change in `draft`. Returns `None` if there is nothing to change.
    fn make(&self, draft: &mut Draft) -> impl Future<Output = Result<Option<Self::Output>, DraftError>> + Send;
}

/// Makes changes of the host for one plugin and tenant.
pub struct Host<'a> {
    committer: &'a Committer,
    call: CallIdentity,
    operator: Option<OperatorAction>,
}

impl<'a> Host<'a> {
    pub fn new(committer: &'a Committer, scope: &Scope, now: Timestamp) -> Result<Host<'a>, OwnError> {
        let call = CallIdentity {
            scope: Some(scope.clone()),
            model: committer.host_model(scope.plugin())?,
            now,
            subject: "host".into(),
            operation: "task".into(),
            request_id: "".into(),
            seed: [0; 32],
            hops: 0,
        };
        Ok(Host { committer, call, operator: None })
    }

    /// Makes changes for an operator. They are recorded in the operators' journal.
    pub fn for_operator(committer: &'a Committer, scope: &Scope, action: OperatorAction) -> Result<Host<'a>, OwnError> {
        let host = Host::new(committer, scope, action.at)?;
        Ok(Host { operator: Some(action), ..host })
    }

    /// Returns the current effect, even if it is not durable yet.
    pub async fn find_effect(&self, id: &str) -> Result<Option<Effect>, OwnError> {
        let mut draft = self.committer.begin(self.call.clone());
        Ok(draft.find_effect(id).await?.map(|found| found.value))
    }

    /// Applies the change, and retries it after conflicts. Returns `None` if there was nothing to change.
    ///
    /// # Errors
    /// [`OwnError::Contended`] after `RUNS_MAX` runs that conflicted or were discarded.
    pub async fn apply<C: Change>(&self, change: &C) -> Result<Option<C::Output>, OwnError> {
        for _ in 0..RUNS_MAX {
            let mut draft = self.committer.begin(self.call.clone());
            let output = change.make(&mut draft).await?;
            if let (Some(action), true) = (&self.operator, output.is_some()) {
                draft.record_operator_action(action.clone());
            }
            // The result that there is nothing to change may depend on values that are not durable yet.
            let changes = if output.is_some() { draft.into_changes(None) } else { draft.into_refusal() };
            let changes = changes.without_capacity();
            match self.committer.commit(changes, None).await {
                Err(CommitError::Conflict(_) | CommitError::Discarded) => {}
                settled => return Ok(settled.map(|()| output)?),
            }
        }
        Err(OwnError::Contended)
    }
}
