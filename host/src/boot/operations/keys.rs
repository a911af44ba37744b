//! Operator requests for API keys: create, list, revoke.

use super::{HostOperations, environment, environment_status, failed, invalid};
use crate::{
    admin::{AdminError, wire},
    auth::{self, AuthAdminError, KeyRow},
    secrets::SecretText,
};

const DAY_MS: u64 = 86_400_000;
/// Ten years. The command line has the same limit.
const KEY_DAYS_MAX: u32 = 3_650;

impl HostOperations {
    pub(super) async fn create_api_key(
        &self,
        key: wire::NewKey,
        operator: String,
    ) -> Result<wire::CreatedKey, AdminError> {
        if key.plugin != "*" {
            self.find_plugin(&key.plugin).await?;
        }
        if !key.allow_unknown_scopes {
            let override_hint = " Accept unknown scopes with --allow-unknown-scopes (allow_unknown_scopes).";
            self.check_scopes(&key.plugin, &key.scopes, override_hint)?;
        }
        if key.expires_in_days.is_some_and(|days| !(1..=KEY_DAYS_MAX).contains(&days)) {
            let message = format!("expires_in_days must be from 1 to {KEY_DAYS_MAX}.");
            return Err(AdminError::Invalid { message, hint: "Omit it for a key that does not expire.".to_owned() });
        }
        let now = self.clock.now();
        let owner = match &key.owner {
            Some(id) => Some(self.find_owner(id).await?),
            None => None,
        };
        let expires_at = key.expires_in_days.map(|days| now.saturating_add(u64::from(days).saturating_mul(DAY_MS)));
        let new = auth::keys::NewKey {
            plugin: key.plugin.clone(),
            organization: key.tenant.clone(),
            environment: environment(key.environment),
            scopes: key.scopes,
            attributes: Vec::new(),
            owner,
            expires_at,
            signs: key.signs,
            operator: Some(operator),
        };
        let created = self.keys.create(new, now).await.map_err(key_error)?;
        Ok(wire::CreatedKey {
            id: created.row.id.to_string(),
            key: SecretText::from(created.text),
            tenant: key.tenant,
            environment: key.environment,
            plugin: key.plugin,
        })
    }

    pub(super) async fn list_keys(&self) -> Result<Vec<wire::KeyStatus>, AdminError> {
        self.keys.flush_uses().await.map_err(|error| failed(error.0))?;
        let rows = self.keys.list().await.map_err(|error| failed(error.0))?;
        Ok(rows.into_iter().map(key_status).collect())
    }

    pub(super) async fn revoke_api_key(&self, id: &str, operator: &str) -> Result<wire::KeyStatus, AdminError> {
        match self.keys.revoke(id, self.clock.now(), Some(operator)).await {
            Ok(Some(row)) => Ok(key_status(row)),
            Ok(None) => Err(no_such_key(id)),
            Err(error) => Err(failed(error.0)),
        }
    }

    /// Returns the owner of the key that a new key replaces.
    async fn find_owner(&self, id: &str) -> Result<String, AdminError> {
        let rows = self.keys.list().await.map_err(|error| failed(error.0))?;
        let row = rows.iter().find(|row| *row.id == *id || *row.owner == *id);
        row.map(|row| row.owner.to_string()).ok_or_else(|| no_such_key(id))
    }
}

fn no_such_key(id: &str) -> AdminError {
    AdminError::NotFound {
        message: format!("There is no key \"{id}\"."),
        hint: "List the keys with `tenon key list`. A key is selected by its id, not by its text.".to_owned(),
    }
}

fn key_error(error: AuthAdminError) -> AdminError {
    invalid(error, "See the example in `tenon key create --help`.")
}

fn key_status(row: KeyRow) -> wire::KeyStatus {
    wire::KeyStatus {
        id: row.id.to_string(),
        plugin: row.plugin.to_string(),
        tenant: row.organization.to_string(),
        environment: environment_status(row.environment),
        scopes: row.scopes,
        signs: row.signs,
        kind: row.kind.name().to_owned(),
        label: row.label,
        attributes: row.attributes,
        owner: row.owner.to_string(),
        created_at: wire::TimestampText(row.created_at),
        expires_at: row.expires_at.map(wire::TimestampText),
        last_used_at: row.last_used_at.map(wire::TimestampText),
        revoked_at: row.revoked_at.map(wire::TimestampText),
    }
}
