//! Asks the operators' listener.

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
        wire::Problem,
    },
    config::Variables,
    limits,
};

const HEADING: &str = "Which Tenon to ask";

/// Which Tenon to talk to.
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
    /// Its data folder, where the operators' token lies
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
    /// Who you are, for the operators' journal
    #[arg(
        long = "as",
        global = true,
        env = "USER",
        hide_env_values = true,
        help_heading = HEADING,
        default_value = "operator",
        value_name = "NAME"
    )]
    who: String,
}

impl Access {
    /// For a command that has flags of its own; a flag goes before its variable.
    pub fn new(admin: Option<String>, data_dir: Option<PathBuf>, variables: &Variables) -> Access {
        let variable = |name: &str| variables.get(name).map(str::to_owned);
        Access {
            admin: admin.or_else(|| variable("TENON_ADMIN")).unwrap_or_else(|| "127.0.0.1:9090".to_owned()),
            data_dir: data_dir
                .or_else(|| variable("TENON_DATA_DIR").map(PathBuf::from))
                .unwrap_or_else(|| "data".into()),
            who: "operator".to_owned(),
        }
    }

    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    pub fn who(&self) -> &str {
        &self.who
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        self.ask(Method::GET, path, Body::Empty).await
    }

    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        self.ask(Method::DELETE, path, Body::Empty).await
    }

    pub async fn post<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        self.ask(Method::POST, path, Body::Empty).await
    }

    pub async fn post_json<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, CliError> {
        let text = serde_json::to_vec(body).map_err(|error| CliError::Failed(error.to_string()))?;
        self.ask(Method::POST, path, Body::Json(text)).await
    }

    pub async fn put_bytes<T: DeserializeOwned>(&self, path: &str, body: Vec<u8>) -> Result<T, CliError> {
        self.ask(Method::PUT, path, Body::Bytes(body)).await
    }

    pub async fn post_bytes<T: DeserializeOwned>(&self, path: &str, body: Vec<u8>) -> Result<T, CliError> {
        self.ask(Method::POST, path, Body::Bytes(body)).await
    }

    async fn ask<T: DeserializeOwned>(&self, method: Method, path: &str, body: Body) -> Result<T, CliError> {
        let request = self.request(method, path, body)?;
        let within = Duration::from_millis(limits::CLI_ANSWER_MS_MAX);
        let answer = tokio::time::timeout(within, self.send(request)).await;
        let (status, bytes) = answer.map_err(|_| CliError::TooSlow(self.admin.clone()))??;
        if status.is_success() {
            return serde_json::from_slice(&bytes).map_err(|error| self.strange(error.to_string()));
        }
        match serde_json::from_slice::<Problem>(&bytes) {
            Ok(problem) => Err(CliError::Refused(problem)),
            Err(_) => Err(self.strange(format!("status {status}"))),
        }
    }

    fn request(&self, method: Method, path: &str, body: Body) -> Result<Request<Full<Bytes>>, CliError> {
        let token = token::find(&self.data_dir)?.ok_or_else(|| CliError::NoToken(self.data_dir.join(TOKEN_FILE)))?;
        let mut request = Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.admin.trim_start_matches("http://").trim_end_matches('/')))
            .header(header::AUTHORIZATION, format!("Bearer {}", token.expose()))
            .header(OPERATOR_HEADER, self.who.replace(|c: char| !c.is_ascii_graphic(), ""));
        let bytes = match body {
            Body::Empty => Vec::new(),
            Body::Bytes(bytes) => bytes,
            Body::Json(text) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                text
            }
        };
        let wrong =
            |error| CliError::Failed(format!("{} cannot be an address ({error}); write HOST:PORT.", self.admin));
        request.body(Full::new(Bytes::from(bytes))).map_err(wrong)
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<(StatusCode, Bytes), CliError> {
        let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
        let answer = client.request(request).await.map_err(|error| {
            if error.is_connect() { CliError::NotRunning(self.admin.clone()) } else { self.strange(error.to_string()) }
        })?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), limits::CLI_ANSWER_BYTES_MAX).collect().await;
        Ok((status, body.map_err(|error| self.strange(error.to_string()))?.to_bytes()))
    }

    fn strange(&self, detail: String) -> CliError {
        CliError::Strange { address: self.admin.clone(), detail }
    }
}

enum Body {
    Empty,
    Json(Vec<u8>),
    Bytes(Vec<u8>),
}

/// A name as one segment of a path, whatever letters it has.
pub fn segment(name: &str) -> String {
    percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC).to_string()
}
