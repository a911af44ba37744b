//! Converts outgoing calls and their responses between the contract and the host. A violated limit of the contract
//! traps.

use tenon_bindings::tenon::plugin::types as wit;
use wasmtime::bail;

use crate::{
    chains::blockchain_of,
    changes::outgoing::{OutgoingCall, OutgoingContent, OutgoingResponse},
    limits::{OUTGOING_BODY_BYTES_MAX, OUTGOING_HEADER_BYTES_MAX, OUTGOING_HEADERS_MAX},
};

pub(super) fn call(call: wit::Call, hops: u8) -> wasmtime::Result<OutgoingCall> {
    let media_type = match &call.content {
        wit::Content::Other(blob) => blob.media_type.len(),
        _ => 0,
    };
    let names = call.destination.len() + call.path.len() + media_type;
    let head = names + call.headers.iter().map(|header| header.name.len() + header.value.len()).sum::<usize>();
    if call.headers.len() > OUTGOING_HEADERS_MAX || head > OUTGOING_HEADER_BYTES_MAX {
        bail!(
            "an outgoing call has at most {OUTGOING_HEADERS_MAX} headers, and {OUTGOING_HEADER_BYTES_MAX} bytes of them and its path"
        );
    }
    if http::Method::from_bytes(call.method.as_bytes()).is_err() {
        bail!("{:.20?} is not a method of an outgoing call", call.method);
    }
    for header in &call.headers {
        let is_valid = http::HeaderName::from_bytes(header.name.as_bytes()).is_ok()
            && http::HeaderValue::from_str(&header.value).is_ok();
        if !is_valid {
            bail!("the header {:.80?} of an outgoing call has a name or value that HTTP does not allow", header.name);
        }
    }
    if blockchain_of(&call.destination).is_some() {
        bail!("calls to a blockchain must use `chains`");
    }
    let content = content(call.content)?;
    if content.bytes().len() > OUTGOING_BODY_BYTES_MAX {
        bail!("the body of an outgoing call has at most {OUTGOING_BODY_BYTES_MAX} bytes");
    }
    Ok(OutgoingCall {
        destination: call.destination,
        method: call.method,
        path: call.path,
        headers: call.headers.into_iter().map(|header| (header.name, header.value)).collect(),
        content,
        timeout_ms: call.timeout,
        hops,
    })
}

fn content(content: wit::Content) -> wasmtime::Result<OutgoingContent> {
    Ok(match content {
        wit::Content::Empty => OutgoingContent::Empty,
        wit::Content::Json(text) => match serde_json::from_str::<&serde_json::value::RawValue>(&text) {
            Ok(_) => OutgoingContent::Json(text),
            Err(error) => bail!("the body of an outgoing call is not JSON: {error}"),
        },
        wit::Content::Other(blob) if http::HeaderValue::from_str(&blob.media_type).is_ok() => {
            OutgoingContent::Other { media_type: blob.media_type, bytes: blob.bytes }
        }
        wit::Content::Other(blob) => bail!("{:.80?} is not a media type", blob.media_type),
    })
}

pub fn response(response: OutgoingResponse) -> wit::Response {
    let content = match response.content {
        OutgoingContent::Empty => wit::Content::Empty,
        OutgoingContent::Json(text) => wit::Content::Json(text),
        OutgoingContent::Other { media_type, bytes } => wit::Content::Other(wit::Blob { media_type, bytes }),
    };
    let headers = response.headers.into_iter().map(|(name, value)| wit::Pair { name, value }).collect();
    wit::Response { status: response.status, headers, content }
}

/// Returns the size of a call for metering.
pub(super) fn size_of(call: &wit::Call) -> usize {
    let body = match &call.content {
        wit::Content::Empty => 0,
        wit::Content::Json(text) => text.len(),
        wit::Content::Other(blob) => blob.bytes.len() + blob.media_type.len(),
    };
    let headers: usize = call.headers.iter().map(|header| header.name.len() + header.value.len()).sum();
    call.destination.len() + call.path.len() + headers + body
}

pub(super) fn head_size(headers: &[(String, String)]) -> usize {
    headers.iter().map(|(name, value)| name.len() + value.len()).sum()
}
