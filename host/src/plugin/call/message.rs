//! Converts an admitted request to the guest's types, and the guest's answer back.

use bytes::Bytes;
use tenon_bindings::{
    exports::tenon::plugin::handler::{Request, Response},
    tenon::plugin::types::{Blob, Content as GuestContent, Pair, Principal as GuestPrincipal},
};

use crate::{
    auth::Principal,
    clock::Timestamp,
    plugin::exchange::{Admitted, Answer, Content},
};

/// Builds the guest's request. It is the same for every run of the call.
pub fn request<G>(admitted: &Admitted<G>, now: Timestamp) -> Request {
    Request {
        operation: admitted.route.declared.operation.clone(),
        method: admitted.method.to_string(),
        path: admitted.path.clone(),
        parameters: pairs(&admitted.parameters),
        query: pairs(&admitted.query),
        headers: pairs(&admitted.headers),
        content: match &admitted.content {
            Content::Empty => GuestContent::Empty,
            Content::Json(text) => GuestContent::Json(text.clone()),
            Content::Other { media_type, bytes } => {
                GuestContent::Other(Blob { media_type: media_type.clone(), bytes: bytes.to_vec() })
            }
        },
        principal: principal(&admitted.principal),
        id: admitted.request_id.to_string(),
        now,
        context: pairs(&admitted.context),
    }
}

fn principal(principal: &Principal) -> GuestPrincipal {
    GuestPrincipal {
        tenant: principal.tenant.to_string(),
        environment: principal.environment.to_string(),
        kind: principal.kind.name().to_owned(),
        subject: principal.subject.to_string(),
        scopes: principal.scopes.iter().map(ToString::to_string).collect(),
        attributes: pairs(&principal.attributes),
    }
}

fn pairs<S: ToString>(pairs: &[(S, S)]) -> Vec<Pair> {
    pairs.iter().map(|(name, value)| Pair { name: name.to_string(), value: value.to_string() }).collect()
}

/// Converts the guest's response.
pub fn answer(response: Response) -> Answer {
    let (media_type, body) = match response.content {
        GuestContent::Empty => (None, Bytes::new()),
        GuestContent::Json(text) => (Some("application/json".to_owned()), Bytes::from(text)),
        GuestContent::Other(blob) => (Some(blob.media_type), Bytes::from(blob.bytes)),
    };
    let headers = response.headers.into_iter().map(|header| (header.name, header.value)).collect();
    Answer { status: response.status, headers, media_type, body }
}
