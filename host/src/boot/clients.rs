//! What operators ask of OAuth, connected. Only words change here.

use std::{collections::BTreeSet, sync::Arc};

use super::operations::{Connected, environment, environment_status, failed, invalid};
use crate::{
    admin::{Refusal, wire},
    auth::{
        AuthError,
        oauth::{self, ClientRow, OAuthError},
    },
    secrets::SecretText,
};

impl Connected {
    pub(super) async fn make_client(
        &self,
        client: wire::NewClient,
        who: String,
    ) -> Result<wire::CreatedClient, Refusal> {
        self.find_plugin(&client.plugin).await?;
        let known = self.scopes_of_tokens(&client.plugin)?;
        let scopes = match client.scopes {
            None => known,
            Some(scopes) => {
                self.check_scopes(&client.plugin, &scopes, "")?;
                scopes
            }
        };
        let new = oauth::NewClient {
            plugin: client.plugin,
            organization: client.tenant,
            environment: environment(client.environment),
            scopes,
            jwks: client.jwks.map(|jwks| jwks.to_string()),
            operator: Some(who),
        };
        let created = self.oauth.create_client(new, self.clock.now()).await;
        Ok(created_client(created.map_err(refused)?))
    }

    pub(super) fn list_clients(&self) -> Vec<wire::ClientStatus> {
        self.oauth.clients().iter().map(|row| client_status(row)).collect()
    }

    pub(super) async fn give_new_secret(&self, id: &str, who: &str) -> Result<wire::CreatedClient, Refusal> {
        match self.oauth.rotate_client(id, self.clock.now(), Some(who)).await.map_err(refused)? {
            Some(created) => Ok(created_client(created)),
            None => Err(Refusal::NotFound {
                message: format!("There is no client \"{id}\" that has a secret and was not revoked."),
                hint: "`tenon client list` shows them. One that signs is made anew with its new keys.".to_owned(),
            }),
        }
    }

    pub(super) async fn end_client(&self, id: &str, who: &str) -> Result<wire::ClientStatus, Refusal> {
        match self.oauth.revoke_client(id, self.clock.now(), Some(who)).await.map_err(refused)? {
            Some(row) => Ok(client_status(&row)),
            None => Err(Refusal::NotFound {
                message: format!("There is no client \"{id}\"."),
                hint: "`tenon client list` shows them.".to_owned(),
            }),
        }
    }

    pub(super) async fn change_token_keys(&self, who: &str) -> Result<wire::TokenKeysReport, Refusal> {
        self.require_issuer()?;
        let rotation = self.oauth.rotate_keys(self.clock.now(), Some(who)).await.map_err(|error| match error {
            OAuthError::Keys => Refusal::Refused {
                message: error.to_string(),
                reasons: Vec::new(),
                hint: "Wait until their last tokens have ended: `token-ms` of [oauth], and half a minute.".to_owned(),
            },
            error => failed(error.to_string()),
        })?;
        Ok(wire::TokenKeysReport {
            key: rotation.key,
            algorithm: rotation.algorithm.name().to_owned(),
            previous: rotation.previous,
        })
    }

    fn require_issuer(&self) -> Result<(), Refusal> {
        match self.oauth.issuer() {
            Some(_) => Ok(()),
            None => Err(Refusal::Refused {
                message: "This host gives out no tokens.".to_owned(),
                reasons: Vec::new(),
                hint: "Set `issuer` in [oauth] of plugins.toml and start Tenon again.".to_owned(),
            }),
        }
    }

    /// All scopes that the routes of a plugin ask for, if it takes tokens.
    fn scopes_of_tokens(&self, plugin: &str) -> Result<Vec<String>, Refusal> {
        self.require_issuer()?;
        let table = self.registry.current();
        let mounted = table.mounted().iter().find(|mounted| *mounted.plugin == *plugin);
        let Some(mounted) = mounted.filter(|mounted| mounted.manifest.authentication.oauth) else {
            return Err(Refusal::Refused {
                message: format!("{plugin} takes no tokens, or does not serve."),
                reasons: Vec::new(),
                hint: "`tenon plugin list` shows what serves; `tenon key create` makes API keys.".to_owned(),
            });
        };
        let scopes: BTreeSet<&String> = mounted.manifest.routes.iter().flat_map(|route| &route.scopes).collect();
        Ok(scopes.into_iter().cloned().collect())
    }
}

fn refused(error: AuthError) -> Refusal {
    invalid(error, "`tenon client create --help` shows an example.")
}

fn created_client(created: oauth::CreatedClient) -> wire::CreatedClient {
    let row: &Arc<ClientRow> = &created.row;
    wire::CreatedClient {
        client_id: row.id.to_string(),
        client_secret: created.secret.map(SecretText::from),
        scopes: row.scopes.clone(),
        tenant: row.organization.to_string(),
        environment: environment_status(row.environment),
        plugin: row.plugin.to_string(),
    }
}

fn client_status(row: &ClientRow) -> wire::ClientStatus {
    let previous = row.secrets().and_then(|(_, previous)| previous);
    wire::ClientStatus {
        client_id: row.id.to_string(),
        plugin: row.plugin.to_string(),
        tenant: row.organization.to_string(),
        environment: environment_status(row.environment),
        scopes: row.scopes.clone(),
        authentication: if row.jwks().is_some() { "keys" } else { "secret" }.to_owned(),
        previous_secret_until: previous.map(|(_, until)| wire::Moment(until)),
        created_at: wire::Moment(row.created_at),
        revoked_at: row.revoked_at.map(wire::Moment),
    }
}
