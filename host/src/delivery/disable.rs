//! An endpoint that failed for too long, or said that it is gone, is disabled by the host: a change like any other, through
//! the committer, so that the plugin that looks at the endpoint sees it.

use std::sync::Arc;

use crate::{
    changes::{
        change_set::Timestamp,
        committer::{CommitError, Committer},
        draft::{CallIdentity, DraftError},
        endpoint::Disabled,
        scope::Scope,
    },
    db::model::{DataModel, ModelError},
    limits::RUNS_MAX,
};

#[derive(Debug, thiserror::Error)]
pub enum DisableError {
    #[error(transparent)]
    Draft(#[from] DraftError),
    #[error(transparent)]
    Commit(#[from] CommitError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("others change it all the time")]
    Contended,
}

/// Unless it is disabled already, was changed to be, or is gone.
pub async fn disable(
    committer: &Committer,
    scope: &Scope,
    id: &str,
    disabled: Disabled,
    now: Timestamp,
) -> Result<(), DisableError> {
    let call = CallIdentity {
        scope: Some(scope.clone()),
        // No collections but the host's own.
        model: Arc::new(DataModel::new(scope.plugin(), &[], 1, None)?),
        now,
        subject: "host".into(),
        operation: "disable-endpoint".into(),
        request_id: "".into(),
        seed: [0; 32],
    };
    for _ in 0..RUNS_MAX {
        let mut draft = committer.begin(call.clone());
        let Some(mut entry) = draft.find_endpoint(id).await?.filter(|entry| entry.endpoint.is_active()) else {
            return Ok(());
        };
        entry.endpoint.disabled = Some(disabled.clone());
        // It is there, so it is not one too many.
        let _ = draft.put_endpoint(id, &entry.endpoint).await?;
        match committer.commit(draft.into_changes(None), None).await {
            Err(CommitError::Conflict(_) | CommitError::Discarded) => {}
            settled => return Ok(settled?),
        }
    }
    Err(DisableError::Contended)
}
