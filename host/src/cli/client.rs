//! HTTP client of the operators' listener.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use bytes::Bytes;
use clap::Args;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use serde::{Serialize, de::DeserializeOwned};

use super::CliError;
use crate::{
    admin::{
        OPERATOR_HEADER,
        token::{self, TOKEN_FILE},
        wire::ErrorBody,
    },
    config::Variables,
    limits,
};

const HEADING: &str = "Connection options";

/// Address and credentials of the host to send requests to.
#[derive(Args)]
pub struct Access {
    /// Address of the operators' listener
    #[arg(
        long,
        global = true,
        env = "TENON_ADMIN",
        hide_env_values = true,
        help_heading = HEADING,
        default_value = "127.0.0.1:9090",
        value_name = "ADDRESS"
    )]
    admin: String,
    /// Data folder of the host, which contains the operators' token
    #[arg(
        long,
        global = true,
        env = "TENON_DATA_DIR",
        hide_env_values = true,
        help_heading = HEADING,
        default_value = "data",
        value_name = "FOLDER"
    )]
    data_dir: PathBuf,
    /// Your name for the operators' journal
    #[arg(
        long = "as",
        global = true,
        env = "USER",
        hide_env_values = true,
        help_heading = HEADING,
        default_value = "operator",
        value_name = "NAME"
    )]
    operator_name: String,
}

impl Access {
    /// Creates the access for a command with its own flags. A flag takes precedence over its variable.
    pub fn new(admin: Option<String>, data_dir: Option<PathBuf>, variables: &Variables) -> Access {
        let variable = |name: &str| variables.get(name).map(str::to_owned);
        Access {
            admin: admin.or_else(|| variable("TENON_ADMIN")).unwrap_or_else(|| "127.0.0.1:9090".to_owned()),
            data_dir: data_dir
                .or_else(|| variable("TENON_DATA_DIR").map(PathBuf::from))
                .unwrap_or_else(|| "data".into()),
            operator_name: "operator".to_owned(),
        }
    }

    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    pub fn operator_name(&self) -> &str {
        &self.operator_name
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        self.request(Method::GET, path, Body::Empty).await
    }

    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        self.request(Method::DELETE, path, Body::Empty).await
    }

    pub async fn post<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        self.request(Method::POST, path, Body::Empty).await
    }

    pub async fn post_json<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, CliError> {
        let text = serde_json::to_vec(body).map_err(|error| CliError::Failed(error.to_string()))?;
        self.request(Method::POST, path, Body::Json(text)).await
    }

    pub async fn put_bytes<T: DeserializeOwned>(&self, path: &str, body: Vec<u8>) -> Result<T, CliError> {
        self.request(Method::PUT, path, Body::Bytes(body)).await
    }

    pub async fn post_bytes<T: DeserializeOwned>(&self, path: &str, body: Vec<u8>) -> Result<T, CliError> {
        self.request(Method::POST, path, Body::Bytes(body)).await
    }

    async fn request<T: DeserializeOwned>(&self, method: Method, path: &str, body: Body) -> Result<T, CliError> {
        let request = self.build_request(method, path, body)?;
        let timeout = Duration::from_millis(limits::CLI_RESPONSE_MS_MAX);
        let response = tokio::time::timeout(timeout, self.send(request)).await;
        let (status, bytes) = response.map_err(|_| CliError::Timeout(self.admin.clone()))??;
        if status.is_success() {
            return serde_json::from_slice(&bytes).map_err(|error| self.version_mismatch(error.to_string()));
        }
        match serde_json::from_slice::<ErrorBody>(&bytes) {
            Ok(body) => Err(CliError::Response(body)),
            Err(_) => Err(self.version_mismatch(format!("status {status}"))),
        }
    }

    fn build_request(&self, method: Method, path: &str, body: Body) -> Result<Request<Full<Bytes>>, CliError> {
        let token = token::find(&self.data_dir)?.ok_or_else(|| CliError::NoToken(self.data_dir.join(TOKEN_FILE)))?;
        let mut request = Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.admin.trim_start_matches("http://").trim_end_matches('/')))
            .header(header::AUTHORIZATION, format!("Bearer {}", token.expose()))
            .header(OPERATOR_HEADER, self.operator_name.replace(|c: char| !c.is_ascii_graphic(), ""));
        let bytes = match body {
            Body::Empty => Vec::new(),
            Body::Bytes(bytes) => bytes,
            Body::Json(text) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                text
            }
        };
        let invalid =
            |error| CliError::Failed(format!("{} is not a valid address ({error}). Write HOST:PORT.", self.admin));
        request.body(Full::new(Bytes::from(bytes))).map_err(invalid)
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<(StatusCode, Bytes), CliError> {
        let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
        let response = client.request(request).await.map_err(|error| {
            if error.is_connect() {
                CliError::NotRunning(self.admin.clone())
            } else {
                self.version_mismatch(error.to_string())
            }
        })?;
        let status = response.status();
        let body = Limited::new(response.into_body(), limits::CLI_RESPONSE_BYTES_MAX).collect().await;
        Ok((status, body.map_err(|error| self.version_mismatch(error.to_string()))?.to_bytes()))
    }

    fn version_mismatch(&self, detail: String) -> CliError {
        CliError::VersionMismatch { address: self.admin.clone(), detail }
    }
}

enum Body {
    Empty,
    Json(Vec<u8>),
    Bytes(Vec<u8>),
}

/// Percent-encodes a name for use as one path segment or query value.
pub fn segment(name: &str) -> String {
    percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC).to_string()
}
