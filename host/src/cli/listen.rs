//! `tenon listen`: a receiver of webhooks for development. Prints what arrives and whether its signature is good.
//!
//! Never keeps anything, never answers by what a request says. Invariants: what others sent cannot command the terminal;
//! a body has a bound; what is printed on standard output are requests and nothing else.
//!
//! - `arrival`: one request, judged and put into words.

mod arrival;

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
use arrival::{Arrival, Layout, Verdict};

/// Receive webhooks and print them, for development
#[derive(Args)]
#[command(after_help = "Example:\n  tenon listen --secret whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n  \
    tenon listen --answer 500 --quiet          every delivery fails and is tried again\n  \
    tenon listen --json | jq 'select(.signature == \"wrong\")'")]
pub struct Listen {
    /// Where webhooks are to arrive; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4000")]
    listen: SocketAddr,
    /// The endpoint's secret; with several, any of them may have signed. On a shared machine rather use the variable or a file
    #[arg(
        long = "secret",
        env = "TENON_WEBHOOK_SECRET",
        hide_env_values = true,
        value_delimiter = ',',
        value_name = "whsec_…"
    )]
    secrets: Vec<SecretArgument>,
    /// A file with the secret, one a line, that only its owner can read
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// The status of every answer
    #[arg(long, value_name = "STATUS", default_value_t = 200, value_parser = clap::value_parser!(u16).range(200..=599))]
    answer: u16,
    /// Milliseconds before the answer
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=600_000))]
    delay_ms: u64,
    /// Print no bodies
    #[arg(long)]
    quiet: bool,
    /// Print a line of JSON for each request
    #[arg(long)]
    json: bool,
}

/// As it came; never printed.
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
        let listener = TcpListener::bind(self.listen).await.map_err(|error| refused(self.listen, &error))?;
        let address = listener.local_addr().map_err(|error| refused(self.listen, &error))?;
        let (stop, stopped) = watch::channel(false);
        let desk = Arc::new(Desk {
            secrets,
            layout: self.layout(),
            status: StatusCode::from_u16(self.answer).unwrap_or(StatusCode::OK),
            delay: Duration::from_millis(self.delay_ms),
            clock: Clock::system(),
            counts: Mutex::default(),
            stop,
        });
        let checks =
            if desk.secrets.is_empty() { "signatures are not checked: no --secret" } else { "signatures are checked" };
        eprintln!("Waiting for webhooks on http://{address}/ ({checks}). Control-C ends it.");
        let router = Router::new().fallback(receive).with_state(desk.clone());
        serving::serve_router(listener, settings(), router, ended(stopped)).await;
        eprintln!("{}", desk.counts.lock().words());
        Ok(Outcome::good(String::new()))
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
        // A variable that is set to nothing.
        let given = self.secrets.iter().map(|secret| secret.0.expose().trim()).filter(|secret| !secret.is_empty());
        let given = given.map(SigningSecret::parse);
        let mut secrets = given.collect::<Result<Vec<_>, _>>().map_err(|error| CliError::Failed(sentence(&error)))?;
        if let Some(path) = &self.secret_file {
            let text = private_file::read(path)?
                .ok_or_else(|| CliError::File { path: path.clone(), source: ErrorKind::NotFound.into() })?;
            for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
                let wrong = |error| CliError::Failed(format!("{}: {}", path.display(), sentence(&error)));
                secrets.push(SigningSecret::parse(line).map_err(wrong)?);
            }
        }
        Ok(secrets)
    }
}

/// Says what a secret looks like, never what was given.
fn sentence(error: &dyn std::fmt::Display) -> String {
    format!("That is no secret of a webhook: {error}.")
}

fn refused(address: SocketAddr, error: &std::io::Error) -> CliError {
    let why =
        if error.kind() == ErrorKind::AddrInUse { "is taken by another program" } else { "cannot be listened on" };
    CliError::Failed(format!("{address} {why} ({error}). Choose another address with --listen."))
}

/// A sender that dawdles is cut; Control-C waits for nobody.
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

/// Control-C, or nobody reads what is printed any more. Returns the time at which requests are cut: at once.
async fn ended(mut unread: watch::Receiver<bool>) -> Instant {
    tokio::select! {
        _ = boot::signalled() => {}
        _ = unread.wait_for(|unread| *unread) => {}
    }
    Instant::now()
}

/// What every request is received with.
struct Desk {
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
    good: u64,
    wrong: u64,
}

impl Counts {
    fn add(&mut self, verdict: &Verdict) {
        self.requests += 1;
        self.good += u64::from(*verdict == Verdict::Good);
        self.wrong += u64::from(matches!(verdict, Verdict::Wrong(_)));
    }

    fn words(&self) -> String {
        let Counts { requests, good, wrong } = self;
        let checked = if good + wrong > 0 { format!(": {good} signatures good, {wrong} wrong") } else { String::new() };
        format!("{requests} requests{checked}.")
    }
}

async fn receive(State(desk): State<Arc<Desk>>, request: Request) -> StatusCode {
    let (head, body) = request.into_parts();
    let reading = tokio::time::timeout(Duration::from_millis(limits::LISTEN_BODY_MS), read(body)).await;
    let (body, status) = match reading {
        Ok(Ok(body)) => (body, desk.status),
        Ok(Err(status)) => (Vec::new(), status),
        Err(_) => (Vec::new(), StatusCode::REQUEST_TIMEOUT),
    };
    desk.print(&head, &body, status);
    tokio::time::sleep(desk.delay).await;
    status
}

async fn read(body: Body) -> Result<Vec<u8>, StatusCode> {
    match Limited::new(body, limits::LISTEN_BODY_BYTES_MAX).collect().await {
        Ok(body) => Ok(body.to_bytes().to_vec()),
        Err(error) if error.is::<LengthLimitError>() => Err(StatusCode::PAYLOAD_TOO_LARGE),
        Err(_) => Err(StatusCode::BAD_REQUEST),
    }
}

impl Desk {
    fn print(&self, head: &Parts, body: &[u8], status: StatusCode) {
        let mut arrival = Arrival::new(head, body, &self.secrets, self.clock.now());
        if status != self.status {
            arrival.unread(status);
        }
        let mut counts = self.counts.lock();
        counts.add(&arrival.verdict);
        // Under the lock: lines of two requests do not mix.
        let mut out = std::io::stdout().lock();
        if out.write_all(arrival.words(self.layout).as_bytes()).and_then(|()| out.flush()).is_err() {
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

    /// What a receiver that was started like this answers to these bytes.
    async fn answer(options: &str, request: &[u8]) -> String {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let listening = tokio::spawn(parse(&format!("--listen {free} {options}")).run());
        let mut stream = loop {
            match TcpStream::connect(free).await {
                Ok(stream) => break stream,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        stream.write_all(request).await.unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        listening.abort();
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[tokio::test]
    async fn every_request_is_answered_with_the_status_that_was_asked_for() {
        let request = b"POST /hook HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(answer("--json", request).await, "HTTP/1.1 200");
        assert_eq!(answer("--answer 503 --delay-ms 1 --quiet", request).await, "HTTP/1.1 503");
    }

    #[tokio::test]
    async fn a_body_without_end_is_not_taken() {
        let size = limits::LISTEN_BODY_BYTES_MAX + 1;
        let request = format!("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {size}\r\n\r\n{}", "x".repeat(size));
        assert_eq!(answer("--quiet", request.as_bytes()).await, "HTTP/1.1 413");
    }

    #[tokio::test]
    async fn what_is_no_secret_is_refused_without_being_shown() {
        for line in ["--secret hunter2", "--secret whsec_c2hvcnQ="] {
            let error = parse(line).run().await.unwrap_err().to_string();
            assert!(error.contains("whsec_") && !error.contains("hunter2") && !error.contains("c2hvcnQ"), "{error}");
        }
        let error = parse("--secret-file /nowhere/secret").run().await.unwrap_err().to_string();
        assert!(error.contains("/nowhere/secret"), "{error}");
    }
}
