//! Answers that show a secret once: wiped when they have been sent, and not copied on the way.

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{StatusCode, header};
use serde::Serialize;

use super::problem::Rejection;
use crate::secrets::wiped;

pub struct SecretJson<T>(pub T);

impl<T: Serialize> IntoResponse for SecretJson<T> {
    fn into_response(self) -> Response {
        let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
        match wiped::json_bytes(&self.0) {
            Ok(bytes) => (headers, Body::from(bytes)).into_response(),
            Err(error) => {
                let (status, message) = (StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
                Rejection::new(status, "failed", message, "The log of the host says more.").into_response()
            }
        }
    }
}
