//! Cost of one call: microseconds for a fresh store and instance, the handler, and dropping everything, without HTTP
//! and without a commit. Prints `{"smallest_us": …, "track_us": …}`: medians over rounds.
//!
//! For a profile: `tenon-call-us track_us 200` measures one figure for this number of rounds.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc, time::Duration};

use anyhow::{Context, bail};
use tenon::{
    auth::{Principal, PrincipalKind},
    boot::{self, Host, Start},
    clock::Clock,
    config::{self, Flags, Variables},
    plugin::{
        call::Attachment,
        compile::Program,
        exchange::{Admitted, CallResponse, Content},
        generation::Generation,
        native::Natives,
        registry::Table,
        routes::RouteMatch,
    },
};
use tokio::{net::TcpListener, time::Instant};
// Links the allocator of `tenon_native`, which the program `tenon` uses too.
use tenon_native as _;

const ROUNDS: usize = 15;
const CALLS_PER_ROUND: u32 = 2_000;
/// Grants of fleet in plugins.toml.
const FLEET_GRANTS: [&str; 9] =
    ["records", "events", "subscriptions", "effects", "questions", "credentials", "ids", "config", "log"];

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let mut arguments = std::env::args().skip(1);
    let only = arguments.next();
    let rounds = arguments.next().map_or(Ok(ROUNDS), |rounds| rounds.parse())?;
    runtime.block_on(measure(only.as_deref(), rounds))
}

async fn measure(only: Option<&str>, rounds: usize) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let host = start(folder.path()).await?;
    let (calls, registry) = host.calls();
    let table = registry.current();
    let smallest = admit(&table, "GET", "/hello/Ann", None)?;
    let driver = create_driver(&host, &table).await?;
    let body = r#"{"latitude": 48.2082, "longitude": 16.3738, "heading": 90, "speed": 12}"#;
    let track = admit(&table, "POST", &format!("/v1/drivers/{driver}/track"), Some(body))?;
    let mut figures = BTreeMap::new();
    let figures_of = [("smallest_us", &smallest), ("track_us", &track)];
    for (name, admitted) in figures_of.into_iter().filter(|(name, _)| only.is_none_or(|only| only == *name)) {
        let mut measured = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let started = Instant::now();
            for _ in 0..CALLS_PER_ROUND {
                calls.dry_run(admitted).await.map_err(|failure| anyhow::anyhow!("{name}: {}", failure.name()))?;
            }
            measured.push(started.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS_PER_ROUND));
        }
        measured.sort_by(f64::total_cmp);
        figures.insert(name, measured.get(rounds / 2).copied().unwrap_or_default());
    }
    println!("{}", serde_json::to_string(&figures)?);
    host.stop().await;
    Ok(())
}

async fn start(folder: &Path) -> anyhow::Result<Host> {
    let built = Path::new("target-plugins/wasm32-wasip2/plugin-release");
    let built = built.canonicalize().context("run `make plugins-release` first")?;
    let config = format!(
        "environment = \"development\"\n\
         [plugins.fleet]\ncomponent = {fleet:?}\ngrants = {grants:?}\n\
         [plugins.hello]\ncomponent = {hello:?}\ngrants = [\"records\"]\n",
        grants = FLEET_GRANTS,
        fleet = built.join("fleet.wasm"),
        hello = built.join("hello_plugin.wasm"),
    );
    let file = folder.join("plugins.toml");
    fs::write(&file, config)?;
    let flags = Flags { config: Some(file), data_dir: Some(folder.join("data")), ..Flags::default() };
    let variables = Variables::from_pairs([]);
    let start = Start {
        config: config::load(&flags, &variables)?,
        interfaces: TcpListener::bind("127.0.0.1:0").await?,
        operators: TcpListener::bind("127.0.0.1:0").await?,
        natives: Natives::new(),
        compiler: Program::File(std::env::current_exe()?.with_file_name("tenon-native")),
        reload: Box::new(move || config::load(&flags, &variables)),
    };
    boot::start(start, Clock::system()).await
}

/// Returns a request as the HTTP layer would pass it on.
fn admit(table: &Table, method: &str, path: &str, body: Option<&str>) -> anyhow::Result<Admitted<Arc<Generation>>> {
    let method: http::Method = method.parse()?;
    let RouteMatch::Route { owner, route, parameters } = table.find(&method, path) else {
        bail!("no route {method} {path}")
    };
    Ok(Admitted {
        mounted: owner.clone(),
        route: route.clone(),
        method,
        path: path.to_owned(),
        parameters,
        query: Vec::new(),
        raw_query: String::new(),
        headers: Vec::new(),
        content: body.map_or(Content::Empty, |body| Content::Json(body.to_owned())),
        principal: Arc::new(Principal {
            tenant: "bench/test".into(),
            environment: "test",
            kind: PrincipalKind::ApiKey,
            subject: "key_bench".into(),
            owner: "owner_bench".into(),
            scopes: Vec::new(),
            attributes: Vec::new(),
        }),
        body_charge: None,
        party: "bench/test".into(),
        request_id: "req_bench".into(),
        context: Vec::new(),
        idempotency_key: None,
        hops: 0,
        deadline: Instant::now() + Duration::from_secs(600),
    })
}

/// Creates a driver and returns its id.
async fn create_driver(host: &Host, table: &Table) -> anyhow::Result<String> {
    let body = r#"{"name": "Ann Driver", "email": "ann@example.com", "phone": "+15550100"}"#;
    let admitted = admit(table, "POST", "/v1/drivers", Some(body))?;
    let answer = host
        .calls()
        .0
        .perform(&admitted, &Attachment::default())
        .await
        .map_err(|error| anyhow::anyhow!("{error:?}"))?;
    let CallResponse::Whole(answer, _) = answer else { anyhow::bail!("a stream instead of an answer") };
    let answer: serde_json::Value = serde_json::from_slice(&answer.body)?;
    Ok(answer.get("id").and_then(|id| id.as_str()).context("the answer has no id")?.to_owned())
}
