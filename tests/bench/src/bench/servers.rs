//! Servers under comparison: each is started, filled with the same records over HTTP, and loaded.
//!
//! Owns their processes. A server whose program is not built is not an error: it is reported and skipped.

use std::{
    fs,
    net::SocketAddr,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::{BenchPlan, Scenario, Work};
use crate::{
    guests,
    load::{LoadReport, PlannedRequest},
    program::{PluginSection, Program, ProgramPlan, free_address, installed_binary, sibling_binary},
    wire::Client,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Tenon with the fleet plugin as a component.
    Plugin,
    /// The same rules compiled natively into the same host.
    SameHost,
    /// Hand-written with axum and sqlx, one transaction for each request.
    Native,
    /// `wasmtime serve` with a component that returns a greeting: no rule, no record, no disk.
    WasmtimeServe,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Plugin, Kind::SameHost, Kind::Native, Kind::WasmtimeServe];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Plugin => "Tenon, WASM plugin",
            Kind::SameHost => "Tenon, same rules native",
            Kind::Native => "axum + sqlx",
            Kind::WasmtimeServe => "`wasmtime serve`, hello world",
        }
    }

    /// Returns true if the server has orders and drivers. A server without them responds to a `track` with its
    /// greeting and has no other scenario.
    pub fn has_records(self) -> bool {
        self != Kind::WasmtimeServe
    }

    /// Returns the path of the program, or the reason why the server is skipped.
    fn binary(self) -> Result<PathBuf, String> {
        let built =
            |name: &str| sibling_binary(name).ok_or_else(|| format!("{}: no program `{name}` was built", self.name()));
        match self {
            Kind::Plugin => built("tenon"),
            Kind::SameHost => built("tenon-native"),
            Kind::Native => built("bench-native"),
            Kind::WasmtimeServe => installed_binary("wasmtime")
                .ok_or_else(|| format!("{}: no program `wasmtime` is on the PATH", self.name())),
        }
    }

    fn folder(self) -> &'static str {
        match self {
            Kind::Plugin => "plugin",
            Kind::SameHost => "same-host",
            Kind::Native => "native",
            Kind::WasmtimeServe => "wasmtime-serve",
        }
    }
}

enum Process {
    Tenon(Box<Program>),
    Other(Child),
    /// Moved out by `into_program`.
    Taken,
}

pub struct Server {
    pub kind: Kind,
    pub address: SocketAddr,
    key: String,
    folder: PathBuf,
    process: Process,
}

/// The grants of the fleet plugin.
pub const FLEET_GRANTS: [&str; 9] =
    ["records", "events", "subscriptions", "effects", "questions", "credentials", "ids", "config", "log"];
/// The only key of the hand-written server.
const NATIVE_KEY: &str = "tk_test_0123456789abcdefghijklmnopqrstuv";

/// Starts and fills one server. The inner error is the reason why it is skipped.
pub async fn start(kind: Kind, plan: &BenchPlan) -> anyhow::Result<Result<Server, String>> {
    let binary = match kind.binary() {
        Ok(binary) => binary,
        Err(missing) => return Ok(Err(missing)),
    };
    let folder = plan.folder.join(kind.folder());
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    eprintln!("starting {} …", kind.name());
    let mut server = match kind {
        Kind::Plugin | Kind::SameHost => start_tenon(kind, binary, folder).await?,
        Kind::Native => start_native(binary, folder).await?,
        Kind::WasmtimeServe => start_wasmtime(binary, folder).await?,
    };
    if kind.has_records() {
        server.fill(plan.records).await.with_context(|| format!("filling {}", kind.name()))?;
    }
    Ok(Ok(server))
}

async fn start_tenon(kind: Kind, binary: PathBuf, folder: PathBuf) -> anyhow::Result<Server> {
    // A copy that a scenario can replace.
    let component = folder.join("fleet.wasm");
    fs::write(&component, guests::component("fleet")?)?;
    let plugins = vec![PluginSection::new("fleet", &component, &FLEET_GRANTS)];
    let program = Program::start(ProgramPlan { binary, folder: folder.clone(), plugins }).await?;
    let key = program.create_key("fleet", "bench")?;
    Ok(Server { kind, address: program.public, key, folder, process: Process::Tenon(Box::new(program)) })
}

async fn start_native(binary: PathBuf, folder: PathBuf) -> anyhow::Result<Server> {
    let address = free_address()?;
    let child = Command::new(binary)
        .args(["--listen", &address.to_string(), "--database"])
        .arg(folder.join("native.db"))
        .env("BENCH_KEY", NATIVE_KEY)
        .stdin(Stdio::null())
        .spawn()?;
    let server =
        Server { kind: Kind::Native, address, key: NATIVE_KEY.to_owned(), folder, process: Process::Other(child) };
    server.wait_until_responding().await?;
    Ok(server)
}

/// Starts `wasmtime serve` with its defaults and `-Scli`: one instance for each request, as in Tenon.
async fn start_wasmtime(binary: PathBuf, folder: PathBuf) -> anyhow::Result<Server> {
    let address = free_address()?;
    let component = folder.join("greeter.wasm");
    fs::write(&component, guests::component("greeter")?)?;
    let child = Command::new(binary)
        .args(["serve", "-Scli", "--addr", &address.to_string()])
        .arg(component)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let process = Process::Other(child);
    let server = Server { kind: Kind::WasmtimeServe, address, key: String::new(), folder, process };
    server.wait_until_responding().await?;
    let greeting = PlannedRequest { method: "GET".to_owned(), path: "/".to_owned(), body: String::new() };
    fs::write(server.requests_file(Work::Track), to_lines(&[greeting])?)?;
    Ok(server)
}

impl Server {
    async fn wait_until_responding(&self) -> anyhow::Result<()> {
        for _ in 0..1_000 {
            if Client::new(self.address, "").send("GET", "/v1/orders/none", &[], b"").await.is_ok() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        anyhow::bail!("{} does not respond", self.kind.name())
    }

    /// Returns Tenon's process. Fails for other servers.
    pub fn program(&self) -> anyhow::Result<&Program> {
        match &self.process {
            Process::Tenon(program) => Ok(program),
            Process::Other(_) | Process::Taken => anyhow::bail!("{} is not Tenon", self.kind.name()),
        }
    }

    /// Returns Tenon's process by value, for a restart. Fails for other servers.
    pub fn into_program(mut self) -> anyhow::Result<Program> {
        match std::mem::replace(&mut self.process, Process::Taken) {
            Process::Tenon(program) => Ok(*program),
            Process::Other(_) | Process::Taken => anyhow::bail!("{} is not Tenon", self.kind.name()),
        }
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the path of the component file that this server watches.
    pub fn component(&self) -> PathBuf {
        self.folder.join("fleet.wasm")
    }

    /// Creates the records over HTTP, the same on every server. Then writes the requests of each kind of work to files.
    async fn fill(&mut self, records: usize) -> anyhow::Result<()> {
        let mut client = Client::new(self.address, &self.key);
        let (mut moves, mut reads) = (Vec::new(), Vec::new());
        for number in 0..records {
            let driver = json!({ "name": format!("Driver {number}"), "email": format!("driver-{number}@example.com"),
                "phone": format!("+1555{number:07}") });
            let id = id_of(&client.call("POST", "/v1/drivers", &driver).await?)?;
            moves.push(move_request(&id, number));
            let order = json!({ "pickup": "1 Harbour Road, Singapore", "dropoff": "9 Station Street, Singapore",
                "notes": "Ring twice" });
            let id = id_of(&client.call("POST", "/v1/orders", &order).await?)?;
            reads.push(PlannedRequest {
                method: "GET".to_owned(),
                path: format!("/v1/orders/{id}"),
                body: String::new(),
            });
        }
        fs::write(self.requests_file(Work::TrackHot), to_lines(moves.get(..1).unwrap_or_default())?)?;
        fs::write(self.requests_file(Work::Track), to_lines(&moves)?)?;
        fs::write(self.requests_file(Work::Read), to_lines(&reads)?)?;
        Ok(())
    }

    fn requests_file(&self, work: Work) -> PathBuf {
        self.folder.join(match work {
            Work::Track => "track.jsonl",
            Work::TrackHot => "track-hot.jsonl",
            Work::Read => "read.jsonl",
        })
    }

    /// Runs one round with a generator in a separate process.
    pub async fn load(&self, scenario: &Scenario, plan: &BenchPlan) -> anyhow::Result<LoadReport> {
        self.generator(scenario.work).run(scenario.connections, plan.warmup_seconds, plan.seconds).await
    }

    pub fn generator(&self, work: Work) -> Generator {
        Generator { address: self.address, key: self.key.clone(), requests: self.requests_file(work) }
    }
}

/// Arguments of the load generator for one server and one kind of work.
pub struct Generator {
    pub address: SocketAddr,
    pub key: String,
    pub requests: PathBuf,
}

impl Generator {
    pub async fn run(&self, connections: usize, warmup: f64, seconds: f64) -> anyhow::Result<LoadReport> {
        let binary = sibling_binary("bench-load").context("no bench-load beside this program: build tenon-bench")?;
        let mut command = Command::new(binary);
        command
            .args(["--address", &self.address.to_string(), "--connections", &connections.to_string()])
            .args(["--warmup", &warmup.to_string(), "--seconds", &seconds.to_string(), "--requests"])
            .arg(&self.requests)
            .env("BENCH_KEY", &self.key)
            .stderr(Stdio::inherit());
        let output = tokio::task::spawn_blocking(move || command.output()).await??;
        ensure!(output.status.success(), "the load generator ended with {}", output.status);
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

fn id_of(created: &Value) -> anyhow::Result<String> {
    let id = created.get("id").and_then(Value::as_str);
    Ok(id.with_context(|| format!("no id in {created}"))?.to_owned())
}

fn move_request(driver: &str, number: usize) -> PlannedRequest {
    let latitude = 1.0 + number as f64 / 10_000.0;
    let body = json!({ "latitude": latitude, "longitude": 103.8519, "heading": 90, "speed": 42 }).to_string();
    PlannedRequest { method: "POST".to_owned(), path: format!("/v1/drivers/{driver}/track"), body }
}

fn to_lines(requests: &[PlannedRequest]) -> anyhow::Result<String> {
    let lines: Vec<String> = requests.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    Ok(lines.join("\n"))
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Process::Other(child) = &mut self.process {
            // The process needs no clean shutdown.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
