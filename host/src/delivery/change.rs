//! What the host itself changes about an endpoint or its deliveries: a change like any other, through the committer, so that
//! the plugin that looks at the endpoint sees it, and two who change it at the same time do not undo each other.

use std::sync::Arc;

use crate::{
    changes::{
        change_set::Timestamp,
        committer::{CommitError, Committer},
        draft::{CallIdentity, Draft, DraftError},
        endpoint::Disabled,
        scope::Scope,
    },
    db::model::{DataModel, ModelError},
    limits::RUNS_MAX,
};

#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    #[error(transparent)]
    Draft(#[from] DraftError),
    #[error(transparent)]
    Commit(#[from] CommitError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("others change it all the time")]
    Contended,
}

#[derive(Clone, Debug)]
pub enum Change {
    /// It failed for too long, or said that it is gone. Unless it is disabled already, or was changed to be.
    Disable(Disabled),
    /// Once more, now.
    Redeliver { event: Arc<str> },
    /// Once more, everything that was given up since then.
    Recover { since: Timestamp },
}

impl Change {
    fn operation(&self) -> &'static str {
        match self {
            Change::Disable(_) => "disable-endpoint",
            Change::Redeliver { .. } => "redeliver",
            Change::Recover { .. } => "recover",
        }
    }

    async fn draft(&self, draft: &mut Draft, endpoint: &str) -> Result<bool, DraftError> {
        match self {
            Change::Disable(disabled) => {
                let found = draft.find_endpoint(endpoint).await?;
                let Some(mut entry) = found.filter(|entry| entry.endpoint.is_active()) else { return Ok(false) };
                entry.endpoint.disabled = Some(disabled.clone());
                // It is there, so it is not one too many.
                Ok(draft.put_endpoint(endpoint, &entry.endpoint).await?.is_ok())
            }
            Change::Redeliver { event } => draft.redeliver(endpoint, event).await,
            Change::Recover { since } => draft.recover(endpoint, *since).await,
        }
    }
}

/// Whether there was something to change. Durable when it returns.
pub async fn change(
    committer: &Committer,
    scope: &Scope,
    endpoint: &str,
    change: &Change,
    now: Timestamp,
) -> Result<bool, ChangeError> {
    let call = CallIdentity {
        scope: Some(scope.clone()),
        // No collections but the host's own.
        model: Arc::new(DataModel::new(scope.plugin(), &[], 1, None)?),
        now,
        subject: "host".into(),
        operation: change.operation().into(),
        request_id: "".into(),
        seed: [0; 32],
    };
    for _ in 0..RUNS_MAX {
        let mut draft = committer.begin(call.clone());
        if !change.draft(&mut draft, endpoint).await? {
            return Ok(false);
        }
        match committer.commit(draft.into_changes(None), None).await {
            Err(CommitError::Conflict(_) | CommitError::Discarded) => {}
            settled => return Ok(settled.map(|()| true)?),
        }
    }
    Err(ChangeError::Contended)
}
