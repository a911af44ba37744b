//! One call to one server: the address, who the host is to it, and a second time where its token was refused.

use std::{sync::Arc, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderValue, StatusCode, header::AUTHORIZATION};
use tokio::time::{Instant, timeout_at};

use super::{
    CallFailure, Certainty, Parts,
    named::Server,
    oauth,
    request::Request,
    tokens::{Token, TokenName, Tokens},
};
use crate::{
    changes::scope::Scope,
    limits::DESTINATION_ANSWER_BYTES_MAX,
    outbound::{Answer, Call, Login, OAuthClient, Party, PathRefusal, Target, check_url, join},
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
    pub(super) async fn perform(&self, request: &Request) -> Result<Answer, CallFailure> {
        let address = join(&self.server.base_url, &request.path).map_err(malformed_path)?;
        let target = check_url(&address, &self.server.rule, self.server.scheme)
            .map_err(|refusal| CallFailure::not_sent("address-not-allowed", refusal.to_string()))?;
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

    /// A token that is refused is replaced once; then the second answer stands.
    async fn send_with_token(
        &self,
        target: &Target,
        request: &Request,
        client: &Arc<OAuthClient>,
    ) -> Result<Answer, CallFailure> {
        let token = self.token(client, None).await?;
        let answer = self.send(target, request, Some(bearer(&token.text)?)).await?;
        if answer.status != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        let token = match self.token(client, Some(&token)).await {
            Ok(token) => token,
            Err(failure) => {
                tracing::debug!(destination = self.destination, "a refused token could not be replaced: {failure}");
                return Ok(answer);
            }
        };
        let again = self.send(target, request, Some(bearer(&token.text)?)).await;
        // The request was there once, even where this time it was not sent.
        again.map_err(|failure| CallFailure { certainty: Certainty::Unknown, ..failure })
    }

    async fn token(&self, client: &Arc<OAuthClient>, refused: Option<&Arc<Token>>) -> Result<Arc<Token>, CallFailure> {
        let owner = (self.scope.plugin(), self.server.tenant.as_ref());
        let name = TokenName::new(owner, self.destination, client);
        // The token of an operator's destination is fetched for all tenants.
        let party = self.server.tenant.as_ref().map_or(Party::Host, |_| Party::of(self.scope.organization()));
        let ask = {
            let (parts, client) = (self.parts.clone(), client.clone());
            let (rule, scheme) = (self.server.rule.clone(), self.server.scheme);
            move || async move { oauth::ask(&parts.client, party, &client, &rule, scheme).await }
        };
        let token = timeout_at(self.until, self.tokens.get(&name, refused, ask)).await;
        token.unwrap_or_else(|_| Err(CallFailure::not_sent("timeout", "there was no time left to get a token")))
    }

    async fn send(
        &self,
        target: &Target,
        request: &Request,
        authorization: Option<HeaderValue>,
    ) -> Result<Answer, CallFailure> {
        let mut headers = request.headers.clone();
        if let Some(value) = authorization {
            headers.insert(AUTHORIZATION, value);
        }
        let call = Call {
            party: Party::of(self.scope.organization()),
            target: target.clone(),
            method: request.method.clone(),
            headers,
            body: request.body.clone(),
            within: self.left(),
            answer_bytes_max: DESTINATION_ANSWER_BYTES_MAX,
        };
        Ok(self.parts.client.send(&call, &self.server.rule).await?)
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}

pub(super) fn malformed_path(refusal: PathRefusal) -> CallFailure {
    CallFailure::not_sent("malformed-call", refusal.to_string())
}

fn bearer(token: &SecretText) -> Result<HeaderValue, CallFailure> {
    sensitive(format!("Bearer {}", token.expose()))
}

/// RFC 7617.
pub(super) fn basic(pair: &SecretText) -> Result<HeaderValue, CallFailure> {
    sensitive(format!("Basic {}", BASE64_STANDARD.encode(pair.expose())))
}

/// `Debug` does not show it.
fn sensitive(text: String) -> Result<HeaderValue, CallFailure> {
    let value = HeaderValue::try_from(text);
    let mut value = value.map_err(|_| CallFailure::not_sent("unusable", "the credential fits into no header"))?;
    value.set_sensitive(true);
    Ok(value)
}
