//! JSON responses that contain a secret. The bytes are not copied, and they are wiped after the response was sent.

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::header;
use serde::Serialize;

use super::AdminError;
use crate::secrets::wiped;

pub struct SecretJson<T>(pub T);

impl<T: Serialize> IntoResponse for SecretJson<T> {
    fn into_response(self) -> Response {
        let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
        match wiped::json_bytes(&self.0) {
            Ok(bytes) => (headers, Body::from(bytes)).into_response(),
            Err(error) => AdminError::failed(error).into_response(),
        }
    }
}
