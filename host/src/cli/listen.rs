//! `tenon listen`: a webhook receiver for development. Prints requests and whether their signatures are valid.
//!
//! The receiver stores nothing. Every request with a complete body gets the configured status.
//!
//! Invariants:
//! - Received text cannot control the terminal.
//! - The size of a body is limited.
//! - Standard output contains only requests.
//!
//! - `received`: verification and text output of one request.

mod received;

use std::{
    io::{ErrorKind, Write},
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
};
use clap::Args;
use http::{StatusCode, request::Parts};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use parking_lot::Mutex;
use tokio::{net::TcpListener, sync::watch, time::Instant};

use super::{CliError, Outcome};
use crate::{
    boot,
    clock::Clock,
    config::HttpConfig,
    delivery::signing::SigningSecret,
    http as serving, limits,
    secrets::{SecretText, private_file},
};
use received::{Layout, ReceivedRequest, SignatureCheck};

/// Receive webhooks and print them, for development
#[derive(Args)]
#[command(after_help = "Example:\n  tenon listen --secret whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n  \
    tenon listen --answer 500 --quiet          every delivery fails and is retried\n  \
    tenon listen --json | jq 'select(.signature == \"wrong\")'")]
pub struct Listen {
    /// Listen address (port 0 selects a free port)
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4000")]
    listen: SocketAddr,
    /// Secret of the endpoint; repeat for several, of which any may match. On shared machines, use the variable or a
    /// file instead
    #[arg(
        long = "secret",
        env = "TENON_WEBHOOK_SECRET",
        hide_env_values = true,
        value_delimiter = ',',
        value_name = "whsec_…"
    )]
    secrets: Vec<SecretArgument>,
    /// File with secrets, one per line; only its owner may have read access
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// Status of every response
    #[arg(long, value_name = "STATUS", default_value_t = 200, value_parser = clap::value_parser!(u16).range(200..=599))]
    answer: u16,
    /// Delay before each response in milliseconds
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=600_000))]
    delay_ms: u64,
    /// Do not print bodies
    #[arg(long)]
    quiet: bool,
    /// Print one line of JSON for each request
    #[arg(long)]
    json: bool,
}

/// An unparsed secret. It is never printed.
#[derive(Clone)]
struct SecretArgument(Arc<SecretText>);

impl From<&str> for SecretArgument {
    fn from(text: &str) -> SecretArgument {
        SecretArgument(Arc::new(SecretText::new(text.to_owned())))
    }
}

impl Listen {
    pub async fn run(self) -> Result<Outcome, CliError> {
        let secrets = self.secrets()?;
        let listener = TcpListener::bind(self.listen).await.map_err(|error| listen_error(self.listen, &error))?;
        let address = listener.local_addr().map_err(|error| listen_error(self.listen, &error))?;
        let (stop, stopped) = watch::channel(false);
        let receiver = Arc::new(Receiver {
            secrets,
            layout: self.layout(),
            status: StatusCode::from_u16(self.answer).unwrap_or(StatusCode::OK),
            delay: Duration::from_millis(self.delay_ms),
            clock: Clock::system(),
            counts: Mutex::default(),
            stop,
        });
        let checks = match receiver.secrets.is_empty() {
            true => "signatures are not checked: no --secret",
            false => "signatures are checked",
        };
        eprintln!("Waiting for webhooks on http://{address}/ ({checks}). Stop with Control-C.");
        let router = Router::new().fallback(receive).with_state(receiver.clone());
        serving::serve_router(listener, settings(), router, shutdown_deadline(stopped)).await;
        eprintln!("{}", receiver.counts.lock().render());
        Ok(Outcome::success(String::new()))
    }

    fn layout(&self) -> Layout {
        match (self.json, self.quiet) {
            (true, true) => Layout::JsonHead,
            (true, false) => Layout::Json,
            (false, true) => Layout::Head,
            (false, false) => Layout::Whole,
        }
    }

    fn secrets(&self) -> Result<Vec<SigningSecret>, CliError> {
        // The environment variable may be empty.
        let texts = self.secrets.iter().map(|secret| secret.0.expose().trim()).filter(|secret| !secret.is_empty());
        let parsed = texts.map(SigningSecret::parse);
        let mut secrets =
            parsed.collect::<Result<Vec<_>, _>>().map_err(|error| CliError::Failed(invalid_secret(&error)))?;
        if let Some(path) = &self.secret_file {
            let text = private_file::read(path)?
                .ok_or_else(|| CliError::File { path: path.clone(), source: ErrorKind::NotFound.into() })?;
            for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
                let invalid = |error| CliError::Failed(format!("{}: {}", path.display(), invalid_secret(&error)));
                secrets.push(SigningSecret::parse(line).map_err(invalid)?);
            }
        }
        Ok(secrets)
    }
}

/// Renders the error of a secret that does not parse. The message does not contain the secret.
fn invalid_secret(error: &dyn std::fmt::Display) -> String {
    format!("This is not a webhook secret: {error}.")
}

fn listen_error(address: SocketAddr, error: &std::io::Error) -> CliError {
    let reason = match error.kind() {
        ErrorKind::AddrInUse => "is used by another program",
        _ => "is not available",
    };
    CliError::Failed(format!("{address} {reason} ({error}). Choose another address with --listen."))
}

/// Returns settings with short timeouts, and without a grace period for running requests after Control-C.
fn settings() -> HttpConfig {
    HttpConfig {
        connections_max: limits::LISTEN_CONNECTIONS_MAX,
        connections_per_peer_max: limits::LISTEN_CONNECTIONS_MAX,
        header_timeout_ms: limits::LISTEN_HEAD_MS,
        body_timeout_ms: limits::LISTEN_BODY_MS,
        body_bytes_max: limits::LISTEN_BODY_BYTES_MAX as u64,
        answer_stall_ms: limits::LISTEN_BODY_MS,
        answer_rate_min: 0,
        shutdown_ms: 0,
        cors_origins: Vec::new(),
        trusted_proxies: Vec::new(),
        tls: None,
    }
}

/// Waits for Control-C or for a closed standard output. Returns the time at which running requests are cut: now.
async fn shutdown_deadline(mut output_closed: watch::Receiver<bool>) -> Instant {
    tokio::select! {
        _ = boot::shutdown_signal() => {}
        _ = output_closed.wait_for(|closed| *closed) => {}
    }
    Instant::now()
}

/// State shared by all requests.
struct Receiver {
    secrets: Vec<SigningSecret>,
    layout: Layout,
    status: StatusCode,
    delay: Duration,
    clock: Clock,
    counts: Mutex<Counts>,
    stop: watch::Sender<bool>,
}

#[derive(Default)]
struct Counts {
    requests: u64,
    valid: u64,
    invalid: u64,
}

impl Counts {
    fn add(&mut self, signature: &SignatureCheck) {
        self.requests += 1;
        self.valid += u64::from(*signature == SignatureCheck::Valid);
        self.invalid += u64::from(matches!(signature, SignatureCheck::Invalid(_)));
    }

    fn render(&self) -> String {
        let Counts { requests, valid, invalid } = self;
        let signatures = match valid + invalid {
            0 => String::new(),
            _ => format!(": {valid} signatures valid, {invalid} invalid"),
        };
        format!("{requests} requests{signatures}.")
    }
}

async fn receive(State(receiver): State<Arc<Receiver>>, request: Request) -> StatusCode {
    let (head, body) = request.into_parts();
    let reading = tokio::time::timeout(Duration::from_millis(limits::LISTEN_BODY_MS), read(body)).await;
    let (body, status) = match reading {
        Ok(Ok(body)) => (body, receiver.status),
        Ok(Err(status)) => (Vec::new(), status),
        Err(_) => (Vec::new(), StatusCode::REQUEST_TIMEOUT),
    };
    receiver.print(&head, &body, status);
    tokio::time::sleep(receiver.delay).await;
    status
}

async fn read(body: Body) -> Result<Vec<u8>, StatusCode> {
    match Limited::new(body, limits::LISTEN_BODY_BYTES_MAX).collect().await {
        Ok(body) => Ok(body.to_bytes().to_vec()),
        Err(error) if error.is::<LengthLimitError>() => Err(StatusCode::PAYLOAD_TOO_LARGE),
        Err(_) => Err(StatusCode::BAD_REQUEST),
    }
}

impl Receiver {
    fn print(&self, head: &Parts, body: &[u8], status: StatusCode) {
        let mut received = ReceivedRequest::new(head, body, &self.secrets, self.clock.now());
        if status != self.status {
            received.set_incomplete(status);
        }
        let mut counts = self.counts.lock();
        counts.add(&received.signature);
        // Printed under the lock, so that the lines of two requests do not interleave.
        let mut out = std::io::stdout().lock();
        if out.write_all(received.render(self.layout).as_bytes()).and_then(|()| out.flush()).is_err() {
            let _ = self.stop.send(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
    };

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        listen: Listen,
    }

    fn parse(line: &str) -> Listen {
        Line::try_parse_from(std::iter::once("listen").chain(line.split(' '))).unwrap().listen
    }

    /// Starts a receiver with these options, sends the bytes and returns the status line.
    async fn respond(options: &str, request: &[u8]) -> String {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let listening = tokio::spawn(parse(&format!("--listen {free} {options}")).run());
        let mut stream = loop {
            match TcpStream::connect(free).await {
                Ok(stream) => break stream,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        stream.write_all(request).await.unwrap();
        let mut response = [0; 12];
        stream.read_exact(&mut response).await.unwrap();
        listening.abort();
        String::from_utf8_lossy(&response).into_owned()
    }

    #[tokio::test]
    async fn every_response_has_the_requested_status() {
        let request = b"POST /hook HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(respond("--json", request).await, "HTTP/1.1 200");
        assert_eq!(respond("--answer 503 --delay-ms 1 --quiet", request).await, "HTTP/1.1 503");
    }

    #[tokio::test]
    async fn body_beyond_the_limit_is_rejected() {
        let size = limits::LISTEN_BODY_BYTES_MAX + 1;
        let request = format!("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {size}\r\n\r\n{}", "x".repeat(size));
        assert_eq!(respond("--quiet", request.as_bytes()).await, "HTTP/1.1 413");
    }

    #[tokio::test]
    async fn invalid_secret_is_rejected_without_being_printed() {
        for line in ["--secret hunter2", "--secret whsec_c2hvcnQ="] {
            let error = parse(line).run().await.unwrap_err().to_string();
            assert!(error.contains("whsec_") && !error.contains("hunter2") && !error.contains("c2hvcnQ"), "{error}");
        }
        let error = parse("--secret-file /nowhere/secret").run().await.unwrap_err().to_string();
        assert!(error.contains("/nowhere/secret"), "{error}");
    }
}
