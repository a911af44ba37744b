//! Settings of OAuth from the configuration, and its storage trait implemented with the database.

use std::{net::SocketAddr, sync::Arc};

use anyhow::Context;
use futures_util::future::BoxFuture;
use zeroize::Zeroizing;

use crate::{
    auth::{
        Environment,
        oauth::{Algorithm, ClientRow, Issuer, KeySet, KeySource, OAuthError, OAuthStore, Settings},
        store::StoreError,
    },
    changes::operator_action::OperatorAction,
    clock::Timestamp,
    config::{self, Config, IssuerConfig, IssuerKeys},
    db::{Database, DbError, clients::StoredClient},
    secrets::{MasterKeys, SecretName},
};

/// Returns the settings of OAuth. In development, the issuer defaults to the listen address.
pub(super) fn settings(config: &Config, address: SocketAddr) -> anyhow::Result<Settings> {
    let scheme = if config.http.tls.is_some() { "https" } else { "http" };
    let in_development = config.environment == config::Environment::Development;
    let issuer = config.oauth.issuer.clone().or_else(|| in_development.then(|| format!("{scheme}://{address}")));
    let algorithm = Algorithm::parse(&config.oauth.algorithm).context("[oauth] algorithm")?;
    let issuers = config.oauth.issuers.iter().map(issuer_of).collect::<anyhow::Result<_>>()?;
    Ok(Settings { issuer, algorithm, token_ms: config.oauth.token_ms, issuers })
}

fn issuer_of(config: &IssuerConfig) -> anyhow::Result<Issuer> {
    let keys = match &config.keys {
        IssuerKeys::Url(url) => KeySource::Url(url.clone()),
        IssuerKeys::Text(text) => KeySource::Set(
            KeySet::parse(text)
                .map_err(|reason| anyhow::anyhow!("[oauth.issuers.{}] jwks-file: the JWKS {reason}", config.name))?,
        ),
    };
    Ok(Issuer {
        name: Arc::clone(&config.name),
        issuer: config.issuer.clone(),
        plugin: Arc::clone(&config.plugin),
        audience: config.audience.clone(),
        token_type: config.token_type.clone(),
        keys,
        tenant_claim: config.tenant_claim.clone(),
        clients: config.clients.clone(),
    })
}

/// The database and the master keys behind the storage trait of OAuth.
pub(super) struct OAuthRows {
    pub database: Database,
    pub master_keys: Arc<MasterKeys>,
}

impl OAuthStore for OAuthRows {
    fn put_client<'a>(
        &'a self,
        row: &'a ClientRow,
        action: Option<OperatorAction>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.database.put_client(&stored(row), action).await.map_err(failed) })
    }

    fn list_clients(&self) -> BoxFuture<'_, Result<Vec<Arc<ClientRow>>, StoreError>> {
        Box::pin(async { self.database.list_clients().await.map_err(failed)?.into_iter().map(client_row).collect() })
    }

    fn record_assertion(
        &self,
        id: [u8; 32],
        ends_at: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move { self.database.record_assertion(&id, ends_at, now).await.map_err(failed) })
    }

    fn load_keys(&self) -> BoxFuture<'_, Result<Option<Zeroizing<Vec<u8>>>, OAuthError>> {
        let sealed = |error: crate::secrets::SecretError| OAuthError::Sealed(error.to_string());
        Box::pin(async move {
            let name = keys_name();
            let stored = self.database.find_secret(&name.row_key()).await.map_err(failed)?;
            stored.map(|stored| self.master_keys.open(&name, &stored.sealed).map_err(sealed)).transpose()
        })
    }

    fn save_keys<'a>(
        &'a self,
        plain: &'a [u8],
        action: Option<OperatorAction>,
    ) -> BoxFuture<'a, Result<(), OAuthError>> {
        Box::pin(async move {
            let name = keys_name();
            let sealed = self.master_keys.seal(&name, plain).map_err(|error| OAuthError::Sealed(error.to_string()))?;
            Ok(self.database.put_secret(&name.row_key(), &sealed, action).await.map_err(failed)?)
        })
    }
}

fn keys_name() -> SecretName {
    SecretName { tenant: String::new(), purpose: "oauth".into(), name: "keys".into() }
}

fn failed(error: DbError) -> StoreError {
    StoreError(error.to_string())
}

fn stored(row: &ClientRow) -> StoredClient {
    let (secret, previous) = row.secrets().map_or((None, None), |(hash, previous)| (Some(hash), previous));
    StoredClient {
        id: row.id.clone(),
        plugin: row.plugin.clone(),
        organization: row.organization.clone(),
        environment: row.environment.name().into(),
        scopes: row.scopes.clone(),
        secret,
        previous,
        jwks: row.jwks().cloned(),
        created_at: row.created_at,
        revoked_at: row.revoked_at,
    }
}

fn client_row(client: StoredClient) -> Result<Arc<ClientRow>, StoreError> {
    let unreadable = |what: &str| StoreError(format!("client {}: unreadable {what}", client.id));
    let proof = ClientRow::proof(client.secret.map(|hash| (hash, client.previous)), client.jwks.as_deref());
    Ok(Arc::new(ClientRow {
        proof: proof.ok_or_else(|| unreadable("secret or keys"))?,
        environment: Environment::parse(&client.environment).ok_or_else(|| unreadable("environment"))?,
        id: client.id,
        plugin: client.plugin,
        organization: client.organization,
        scopes: client.scopes,
        created_at: client.created_at,
        revoked_at: client.revoked_at,
    }))
}
