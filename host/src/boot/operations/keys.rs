//! API keys, as operators create, list and revoke them.

use super::{Connected, environment, environment_status, failed, invalid};
use crate::{
    admin::{Refusal, wire},
    auth::{self, AuthError, KeyRow},
    secrets::SecretText,
};

const DAY_MS: u64 = 86_400_000;
/// Ten years; the command line asks for no more either.
const KEY_DAYS_MAX: u32 = 3_650;

impl Connected {
    pub(super) async fn issue_key(&self, key: wire::NewKey, who: String) -> Result<wire::CreatedKey, Refusal> {
        if key.plugin != "*" {
            self.find_plugin(&key.plugin).await?;
        }
        if !key.allow_unknown_scopes {
            let all_the_same = " Take it all the same with --allow-unknown-scopes (allow_unknown_scopes).";
            self.check_scopes(&key.plugin, &key.scopes, all_the_same)?;
        }
        if key.expires_in_days.is_some_and(|days| !(1..=KEY_DAYS_MAX).contains(&days)) {
            let message = format!("A key expires in 1 to {KEY_DAYS_MAX} days, or never.");
            return Err(Refusal::Invalid { message, hint: "Leave expires_in_days out for never.".to_owned() });
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
            operator: Some(who),
        };
        let created = self.keys.create(new, now).await.map_err(key_refusal)?;
        Ok(wire::CreatedKey {
            id: created.row.id.to_string(),
            key: SecretText::from(created.text),
            tenant: key.tenant,
            environment: key.environment,
            plugin: key.plugin,
        })
    }

    pub(super) async fn list_keys(&self) -> Result<Vec<wire::KeyStatus>, Refusal> {
        self.keys.flush_uses().await.map_err(|error| failed(error.0))?;
        let rows = self.keys.list().await.map_err(|error| failed(error.0))?;
        Ok(rows.into_iter().map(key_status).collect())
    }

    pub(super) async fn end_key(&self, id: &str, who: &str) -> Result<wire::KeyStatus, Refusal> {
        match self.keys.revoke(id, self.clock.now(), Some(who)).await {
            Ok(Some(row)) => Ok(key_status(row)),
            Ok(None) => Err(no_such_key(id)),
            Err(error) => Err(failed(error.0)),
        }
    }

    /// The owner of the key that a new one is to follow.
    async fn find_owner(&self, id: &str) -> Result<String, Refusal> {
        let rows = self.keys.list().await.map_err(|error| failed(error.0))?;
        let row = rows.iter().find(|row| *row.id == *id || *row.owner == *id);
        row.map(|row| row.owner.to_string()).ok_or_else(|| no_such_key(id))
    }
}

fn no_such_key(id: &str) -> Refusal {
    Refusal::NotFound {
        message: format!("There is no key \"{id}\"."),
        hint: "`tenon key list` shows them; a key is named by its id, not by its text.".to_owned(),
    }
}

fn key_refusal(error: AuthError) -> Refusal {
    invalid(error, "`tenon key create --help` shows an example.")
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
        created_at: wire::Moment(row.created_at),
        expires_at: row.expires_at.map(wire::Moment),
        last_used_at: row.last_used_at.map(wire::Moment),
        revoked_at: row.revoked_at.map(wire::Moment),
    }
}
