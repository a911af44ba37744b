//! Changes that the host itself makes to what one plugin and tenant have: through the committer like any other, so that a
//! plugin which changes the same at the same time is seen.
//!
//! Owns the running again. Never touches a collection of the plugin: the model that it works with has none.

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
    #[error("others change it all the time")]
    Contended,
}

/// Made anew for each run.
pub trait Change: Sync {
    type Made: Send;

    /// `None`: there is nothing to change.
    fn make(&self, draft: &mut Draft) -> impl Future<Output = Result<Option<Self::Made>, DraftError>> + Send;
}

/// The host, changing what belongs to one plugin and tenant.
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

    /// The same for an operator: the change is recorded in the operators' journal.
    pub fn for_operator(committer: &'a Committer, scope: &Scope, action: OperatorAction) -> Result<Host<'a>, OwnError> {
        let host = Host::new(committer, scope, action.at)?;
        Ok(Host { operator: Some(action), ..host })
    }

    /// As it stands now, also where that is not durable yet.
    pub async fn find_effect(&self, id: &str) -> Result<Option<Effect>, OwnError> {
        let mut draft = self.committer.begin(self.call.clone());
        Ok(draft.find_effect(id).await?.map(|found| found.value))
    }

    /// Until it gets through. `None`: there was nothing to change.
    pub async fn apply<C: Change>(&self, change: &C) -> Result<Option<C::Made>, OwnError> {
        for _ in 0..RUNS_MAX {
            let mut draft = self.committer.begin(self.call.clone());
            let made = change.make(&mut draft).await?;
            if let (Some(action), true) = (&self.operator, made.is_some()) {
                draft.note_operator(action.clone());
            }
            // That there is nothing to change may rest on what is not durable yet.
            let changes = if made.is_some() { draft.into_changes(None) } else { draft.into_refusal() };
            let changes = changes.without_room();
            match self.committer.commit(changes, None).await {
                Err(CommitError::Conflict(_) | CommitError::Discarded) => {}
                settled => return Ok(settled.map(|()| made)?),
            }
        }
        Err(OwnError::Contended)
    }
}
