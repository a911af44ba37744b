//! A call to one server: address and authentication, and a second try with a new token after a 401.

use std::{sync::Arc, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderValue, StatusCode, header::AUTHORIZATION};
use tokio::time::{Instant, timeout_at};

use super::{
    Certainty, DestinationCallError, Parts, oauth,
    request::Request,
    resolution::Server,
    tokens::{Token, TokenName, Tokens},
};
use crate::{
    changes::scope::Scope,
    limits::DESTINATION_RESPONSE_BYTES_MAX,
    outbound::{Login, OAuthClient, OutboundCall, OutboundResponse, Party, PathError, Target, check_url, join},
    secrets::SecretText,
};

pub(super) struct Attempt<'a> {
    pub parts: &'a Arc<Parts>,
    pub tokens: &'a Tokens,
    pub scope: &'a Scope,
    pub destination: &'a str,
    pub server: &'a Server,
    pub until: Instant,
}

impl Attempt<'_> {
    pub(super) async fn perform(&self, request: &Request) -> Result<OutboundResponse, DestinationCallError> {
        let address = join(&self.server.base_url, &request.path).map_err(malformed_path)?;
        let target = check_url(&address, &self.server.rule, self.server.scheme)
            .map_err(|error| DestinationCallError::not_sent("address-not-allowed", error.to_string()))?;
        match &self.server.login {
            Login::None => self.send(&target, request, None).await,
            Login::Bearer { token } => self.send(&target, request, Some(bearer(token)?)).await,
            Login::Basic { user, password } => {
                let pair = SecretText::new(format!("{user}:{}", password.expose()));
                self.send(&target, request, Some(basic(&pair)?)).await
            }
            Login::OAuth2(client) => self.send_with_token(&target, request, client).await,
        }
    }

    /// Sends the request with a token. If the server rejects the token with 401, replaces it once and returns the
    /// second response. If the token cannot be replaced, returns the first response.
    async fn send_with_token(
        &self,
        target: &Target,
        request: &Request,
        client: &Arc<OAuthClient>,
    ) -> Result<OutboundResponse, DestinationCallError> {
        let token = self.token(client, None).await?;
        let response = self.send(target, request, Some(bearer(&token.text)?)).await?;
        if response.status != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        let token = match self.token(client, Some(&token)).await {
            Ok(token) => token,
            Err(error) => {
                tracing::debug!(destination = self.destination, "failed to replace a rejected token: {error}");
                return Ok(response);
            }
        };
        let again = self.send(target, request, Some(bearer(&token.text)?)).await;
        // The first request was sent, even if the second was not.
        again.map_err(|error| DestinationCallError { certainty: Certainty::Unknown, ..error })
    }

    async fn token(
        &self,
        client: &Arc<OAuthClient>,
        rejected: Option<&Arc<Token>>,
    ) -> Result<Arc<Token>, DestinationCallError> {
        let owner = (self.scope.plugin(), self.server.tenant.as_ref());
        let name = TokenName::new(owner, self.destination, client);
        // The token of an operator's destination is shared by all tenants.
        let party = self.server.tenant.as_ref().map_or(Party::Host, |_| Party::of(self.scope.organization()));
        let fetch = {
            let (parts, client) = (self.parts.clone(), client.clone());
            let (rule, scheme) = (self.server.rule.clone(), self.server.scheme);
            move || async move { oauth::request_token(&parts.client, party, &client, &rule, scheme).await }
        };
        let token = timeout_at(self.until, self.tokens.get(&name, rejected, fetch)).await;
        token.unwrap_or_else(|_| Err(DestinationCallError::not_sent("timeout", "no time was left to get a token")))
    }

    async fn send(
        &self,
        target: &Target,
        request: &Request,
        authorization: Option<HeaderValue>,
    ) -> Result<OutboundResponse, DestinationCallError> {
        let mut headers = request.headers.clone();
        if let Some(value) = authorization {
            headers.insert(AUTHORIZATION, value);
        }
        let call = OutboundCall {
            party: Party::of(self.scope.organization()),
            target: target.clone(),
            method: request.method.clone(),
            headers,
            body: request.body.clone(),
            within: self.left(),
            response_bytes_max: DESTINATION_RESPONSE_BYTES_MAX,
        };
        Ok(self.parts.client.send(&call, &self.server.rule).await?)
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}

pub(super) fn malformed_path(error: PathError) -> DestinationCallError {
    DestinationCallError::not_sent("malformed-call", error.to_string())
}

fn bearer(token: &SecretText) -> Result<HeaderValue, DestinationCallError> {
    sensitive(format!("Bearer {}", token.expose()))
}

/// Builds the header value of basic authentication (RFC 7617).
pub(super) fn basic(pair: &SecretText) -> Result<HeaderValue, DestinationCallError> {
    sensitive(format!("Basic {}", BASE64_STANDARD.encode(pair.expose())))
}

/// Builds a header value that `Debug` does not print.
fn sensitive(text: String) -> Result<HeaderValue, DestinationCallError> {
    let value = HeaderValue::try_from(text);
    let mut value =
        value.map_err(|_| DestinationCallError::not_sent("unusable", "the credential is not a valid header value"))?;
    value.set_sensitive(true);
    Ok(value)
}
