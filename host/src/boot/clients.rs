//! Operator requests for OAuth clients and token keys, converted to and from the types of `auth::oauth`.

use std::{collections::BTreeSet, sync::Arc};

use super::operations::{HostOperations, environment, environment_status, failed, invalid};
use crate::{
    admin::{AdminError, wire},
    auth::{
        AuthAdminError,
        oauth::{self, ClientRow, OAuthError},
    },
    secrets::SecretText,
};

impl HostOperations {
    pub(super) async fn create_oauth_client(
        &self,
        client: wire::NewClient,
        operator: String,
    ) -> Result<wire::CreatedClient, AdminError> {
        self.find_plugin(&client.plugin).await?;
        let known = self.token_scopes(&client.plugin)?;
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
            operator: Some(operator),
        };
        let created = self.oauth.create_client(new, self.clock.now()).await;
        Ok(created_client(created.map_err(client_error)?))
    }

    pub(super) fn list_clients(&self) -> Vec<wire::ClientStatus> {
        self.oauth.clients().iter().map(|row| client_status(row)).collect()
    }

    pub(super) async fn rotate_client_secret(
        &self,
        id: &str,
        operator: &str,
    ) -> Result<wire::CreatedClient, AdminError> {
        match self.oauth.rotate_client(id, self.clock.now(), Some(operator)).await.map_err(client_error)? {
            Some(created) => Ok(created_client(created)),
            None => Err(AdminError::NotFound {
                message: format!("There is no client \"{id}\" that has a secret and is not revoked."),
                hint: "List the clients with `tenon client list`. To replace the keys of a client that signs, create a new client."
                    .to_owned(),
            }),
        }
    }

    pub(super) async fn revoke_oauth_client(&self, id: &str, operator: &str) -> Result<wire::ClientStatus, AdminError> {
        match self.oauth.revoke_client(id, self.clock.now(), Some(operator)).await.map_err(client_error)? {
            Some(row) => Ok(client_status(&row)),
            None => Err(AdminError::NotFound {
                message: format!("There is no client \"{id}\"."),
                hint: "List the clients with `tenon client list`.".to_owned(),
            }),
        }
    }

    pub(super) async fn rotate_keys(&self, operator: &str) -> Result<wire::TokenKeysReport, AdminError> {
        self.require_issuer()?;
        let rotation = self.oauth.rotate_keys(self.clock.now(), Some(operator)).await.map_err(|error| match error {
            OAuthError::Keys => AdminError::Conflict {
                message: error.to_string(),
                reasons: Vec::new(),
                hint: "Wait until their last tokens expire: `token-ms` of [oauth], plus half a minute.".to_owned(),
            },
            error => failed(error.to_string()),
        })?;
        Ok(wire::TokenKeysReport {
            key: rotation.key,
            algorithm: rotation.algorithm.name().to_owned(),
            previous: rotation.previous,
        })
    }

    fn require_issuer(&self) -> Result<(), AdminError> {
        match self.oauth.issuer() {
            Some(_) => Ok(()),
            None => Err(AdminError::Conflict {
                message: "This host does not issue tokens.".to_owned(),
                reasons: Vec::new(),
                hint: "Set `issuer` in [oauth] of plugins.toml and restart Tenon.".to_owned(),
            }),
        }
    }

    /// Returns all scopes that the routes of a plugin require. Returns an error if the plugin does not accept tokens.
    fn token_scopes(&self, plugin: &str) -> Result<Vec<String>, AdminError> {
        self.require_issuer()?;
        let table = self.registry.current();
        let mounted = table.mounted().iter().find(|mounted| *mounted.plugin == *plugin);
        let Some(mounted) = mounted.filter(|mounted| mounted.manifest.authentication.oauth) else {
            return Err(AdminError::Conflict {
                message: format!("{plugin} does not accept tokens, or does not serve."),
                reasons: Vec::new(),
                hint: "List the serving plugins with `tenon plugin list`. Create API keys with `tenon key create`."
                    .to_owned(),
            });
        };
        let scopes: BTreeSet<&String> = mounted.manifest.routes.iter().flat_map(|route| &route.scopes).collect();
        Ok(scopes.into_iter().cloned().collect())
    }
}

fn client_error(error: AuthAdminError) -> AdminError {
    invalid(error, "See the example in `tenon client create --help`.")
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
        previous_secret_until: previous.map(|(_, until)| wire::TimestampText(until)),
        created_at: wire::TimestampText(row.created_at),
        revoked_at: row.revoked_at.map(wire::TimestampText),
    }
}
