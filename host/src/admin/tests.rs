use std::sync::Arc;

use axum::{Router, body::Body};
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use tower::ServiceExt;

use super::{
    operations::{
        AttemptsQuestion, BalanceQuestion, ChainsQuestion, DeliveriesQuestion, Deploy, EndpointsQuestion,
        JournalQuestion, LinesQuestion, Operations, OutboxQuestion, Refusal, TasksQuestion, TransactionQuestion,
    },
    wire::*,
    *,
};
use crate::secrets::SecretText;

const TOKEN: &str = "ta_00112233445566778899aabbccddeeff";

/// Answers like a host with one plugin, "notes", and keeps what it was asked.
#[derive(Default)]
struct FakeHost {
    asked: Mutex<Vec<String>>,
    unready: bool,
}

fn version(hash: &str) -> VersionStatus {
    VersionStatus { version: "0.1.0".into(), hash: hash.into() }
}

fn swap(plugin: String) -> SwapReport {
    let steps = vec![StepTime { step: "compile".into(), microseconds: 70_000 }];
    SwapReport { plugin, from: Some(version("aa")), to: version("bb"), generation: 2, notes: vec![], steps }
}

fn backup(folder: String) -> BackupStatus {
    let report = BackupReport {
        made_at: "2026-01-02T03:04:05.678Z".into(),
        tenon: "0.1.0".into(),
        schema: 2,
        bytes: 12_345_678,
        components: 3,
        thorough: true,
        journal_lines: 7,
        ledger_sums: 0,
        findings: vec![],
    };
    BackupStatus {
        folder,
        state: BackupState::Done,
        started_at: Moment(0),
        step: "hash".into(),
        bytes_done: 0,
        bytes_total: 0,
        report: Some(report),
        message: None,
    }
}

impl Operations for FakeHost {
    async fn plugins(&self) -> Result<Vec<PluginStatus>, Refusal> {
        Ok(vec![])
    }
    async fn deploy(&self, deploy: Deploy) -> Result<SwapReport, Refusal> {
        if deploy.plugin != "notes" {
            return Err(Refusal::NotFound { message: "There is no plugin.".into(), hint: "Look.".into() });
        }
        if deploy.component.is_empty() {
            let reasons = vec!["it is empty".to_owned()];
            return Err(Refusal::Refused { message: "Not published.".into(), reasons, hint: String::new() });
        }
        let Deploy { plugin, component, allow_breaking, allow_slow_index, who } = &deploy;
        let said = format!("deploy {plugin} {} {allow_breaking} {allow_slow_index} {who}", component.len());
        self.asked.lock().push(said);
        Ok(swap(deploy.plugin))
    }
    async fn rollback(&self, plugin: String, who: String) -> Result<SwapReport, Refusal> {
        self.asked.lock().push(format!("rollback {plugin} {who}"));
        Ok(swap(plugin))
    }
    async fn journal(&self, question: JournalQuestion) -> Result<Vec<JournalLine>, Refusal> {
        self.asked.lock().push(format!("{question:?}"));
        Ok(vec![])
    }
    async fn create_key(&self, key: NewKey) -> Result<CreatedKey, Refusal> {
        let NewKey { tenant, environment, plugin, .. } = key;
        Ok(CreatedKey { id: "key_1".into(), key: "tk_test_x".into(), tenant, environment, plugin })
    }
    async fn keys(&self) -> Result<Vec<KeyStatus>, Refusal> {
        Err(Refusal::Failed { message: "The database is gone.".into() })
    }
    async fn revoke_key(&self, id: String) -> Result<KeyStatus, Refusal> {
        Err(Refusal::NotFound {
            message: format!("There is no key {id}."),
            hint: "`tenon key list` shows them.".into(),
        })
    }
    async fn create_client(&self, client: NewClient) -> Result<CreatedClient, Refusal> {
        let NewClient { plugin, tenant, environment, scopes, .. } = client;
        let scopes = scopes.unwrap_or_default();
        Ok(CreatedClient {
            client_id: "client_1".into(),
            client_secret: Some("cs_test_x".into()),
            scopes,
            tenant,
            environment,
            plugin,
        })
    }
    async fn clients(&self) -> Result<Vec<ClientStatus>, Refusal> {
        Ok(vec![])
    }
    async fn rotate_client(&self, id: String) -> Result<CreatedClient, Refusal> {
        Err(Refusal::NotFound { message: format!("There is no client {id}."), hint: String::new() })
    }
    async fn revoke_client(&self, id: String) -> Result<ClientStatus, Refusal> {
        Err(Refusal::NotFound { message: format!("There is no client {id}."), hint: String::new() })
    }
    async fn rotate_token_keys(&self) -> Result<TokenKeysReport, Refusal> {
        Ok(TokenKeysReport { key: "k".into(), algorithm: "ES256".into(), previous: vec![] })
    }
    async fn webhook_endpoints(&self, question: EndpointsQuestion) -> Result<Page<EndpointStatus>, Refusal> {
        self.asked.lock().push(format!("{question:?}"));
        Ok(Page { entries: vec![], next: question.after })
    }
    async fn webhook_deliveries(&self, question: DeliveriesQuestion) -> Result<Page<DeliveryStatus>, Refusal> {
        self.asked.lock().push(format!("{question:?}"));
        Ok(Page { entries: vec![], next: None })
    }
    async fn webhook_attempts(&self, question: AttemptsQuestion) -> Result<Vec<AttemptStatus>, Refusal> {
        self.asked.lock().push(format!("{question:?}"));
        Ok(vec![])
    }
    async fn redeliver(&self, wish: Redeliver, who: String) -> Result<ResendReport, Refusal> {
        self.asked.lock().push(format!("redeliver {} {} {who}", wish.endpoint, wish.event));
        let (plugin, tenant, endpoint) = ("notes".into(), "acme/test".into(), wish.endpoint);
        Ok(ResendReport { plugin, tenant, endpoint, deliveries: 1, enabled: false })
    }
    async fn recover(&self, wish: Recover, who: String) -> Result<ResendReport, Refusal> {
        self.asked.lock().push(format!("recover {} {} {who}", wish.endpoint, wish.since));
        let (plugin, tenant, endpoint) = ("notes".into(), "acme/test".into(), wish.endpoint);
        Ok(ResendReport { plugin, tenant, endpoint, deliveries: 7, enabled: true })
    }
    async fn tasks(&self, _question: TasksQuestion) -> Result<Page<TaskStatus>, Refusal> {
        Ok(Page { entries: Vec::new(), next: None })
    }

    async fn retry_task(&self, name: TaskName, _who: String) -> Result<TaskReport, Refusal> {
        Err(Refusal::NotFound { message: format!("There is no task \"{}\".", name.id), hint: String::new() })
    }

    async fn drop_task(&self, name: TaskName, who: String) -> Result<TaskReport, Refusal> {
        self.retry_task(name, who).await
    }

    async fn outbox(&self, question: OutboxQuestion) -> Result<Vec<OutboxMessage>, Refusal> {
        self.asked.lock().push(format!("{question:?}"));
        let text = |text: &str| text.to_owned();
        Ok(vec![OutboxMessage {
            id: text("message_1"),
            plugin: text("notes"),
            tenant: text("acme/test"),
            destination: text("sms"),
            method: text("POST"),
            path: text("/send"),
            media_type: Some(text("text/plain")),
            body: text("hello\n\u{1b}[2J"),
            bytes: 10,
            idempotency_key: None,
            at: Moment(1_000),
        }])
    }
    async fn audit_lines(&self, question: LinesQuestion) -> Result<Page<AuditLine>, Refusal> {
        self.asked.lock().push(format!("{question:?}"));
        Ok(Page { entries: vec![], next: None })
    }
    async fn audit_chains(&self, question: ChainsQuestion) -> Result<Page<ChainStatus>, Refusal> {
        self.asked.lock().push(format!("{question:?}"));
        Ok(Page { entries: vec![], next: None })
    }
    async fn check_ledger(&self) -> Result<LedgerReport, Refusal> {
        Ok(LedgerReport { balanced: true, sums: vec![] })
    }
    async fn rotate_secrets(&self) -> Result<RotationReport, Refusal> {
        Ok(RotationReport { key: "00".into(), sealed_again: 1, current: 0, left: vec![] })
    }
    async fn start_backup(&self, wish: NewBackup, who: String) -> Result<BackupStatus, Refusal> {
        self.asked.lock().push(format!("backup {} {who}", wish.folder));
        Ok(BackupStatus { state: BackupState::Running, report: None, ..backup(wish.folder) })
    }
    async fn backup(&self) -> Result<BackupStatus, Refusal> {
        Ok(backup("/backups/one".into()))
    }
    async fn seeds(&self) -> Result<Vec<SeedName>, Refusal> {
        Ok(vec![SeedName { plugin: "notes".into(), tenant: "acme/test".into() }])
    }
    async fn export_seed(&self, name: SeedName, who: String) -> Result<SeedCopy, Refusal> {
        self.asked.lock().push(format!("export {} {} {who}", name.plugin, name.tenant));
        let phrase = SecretText::new("abandon ability able".into());
        Ok(SeedCopy { plugin: name.plugin, tenant: name.tenant, phrase })
    }
    async fn import_seed(&self, copy: SeedCopy, who: String) -> Result<SeedReport, Refusal> {
        self.asked.lock().push(format!("import {} {} {} {who}", copy.plugin, copy.tenant, copy.phrase.expose()));
        Ok(SeedReport { plugin: copy.plugin, tenant: copy.tenant, is_new: true })
    }
    async fn networks(&self) -> Result<Vec<NetworkStatus>, Refusal> {
        let asset = |symbol: &str, address: Option<&str>| AssetStatus {
            symbol: symbol.into(),
            decimals: 6,
            address: address.map(str::to_owned),
        };
        Ok(vec![NetworkStatus {
            blockchain: "base".into(),
            network: NetworkSide::Main,
            name: "simulated-main".into(),
            chain_id: 7,
            height: None,
            block_time_ms: 250,
            coin: asset("ETH", None),
            tokens: vec![asset("USDC", Some("0x1"))],
            watched: 3,
            followed: 1,
            faults: Some(FaultStatus { fail_next: 0, stick_next: 2, slow_ms: 0, silence: Silence::Taken }),
        }])
    }
    async fn network_balance(&self, question: BalanceQuestion) -> Result<BalanceReport, Refusal> {
        let balances = vec![Balance { symbol: "ETH".into(), amount: "2.5".into() }];
        let BalanceQuestion { blockchain, network, address } = question;
        Ok(BalanceReport { blockchain, network, address, balances })
    }
    async fn network_transaction(&self, question: TransactionQuestion) -> Result<TransactionStatus, Refusal> {
        Err(Refusal::NotFound { message: format!("There is no {}.", question.hash), hint: String::new() })
    }
    async fn control_network(&self, wish: NetworkControl, who: String) -> Result<ControlReport, Refusal> {
        self.asked.lock().push(format!("{:?} {who}", wish.control));
        let NetworkControl { blockchain, network, control } = wish;
        let hash = matches!(control, Control::Give { .. }).then(|| "0xab".to_owned());
        let faults = FaultStatus { fail_next: 0, stick_next: 0, slow_ms: 0, silence: Silence::Off };
        Ok(ControlReport { blockchain, network, hash, height: None, transactions: Some(4), faults })
    }
    async fn readiness(&self) -> Readiness {
        Readiness { ready: !self.unready, reasons: vec![] }
    }
    fn metrics(&self) -> Result<String, Refusal> {
        Ok("tenon_info 1\n".into())
    }
}

fn listener(host: Arc<FakeHost>) -> Router {
    router(host, Guard::new(SecretText::new(TOKEN.into()), vec!["tenon.internal".into()]))
}

/// A listener with a fake host behind it and its token in `data_dir`, on a thread of its own; returns its address.
pub(crate) fn serve_fake_host(data_dir: &std::path::Path) -> String {
    let token = token::load_or_create(data_dir).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let router = router(Arc::new(FakeHost::default()), Guard::new(token, vec![]));
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            axum::serve(tokio::net::TcpListener::from_std(listener).unwrap(), router).await.unwrap()
        });
    });
    address
}

/// Asks as an operator does, with these headers besides.
async fn ask(
    host: &Arc<FakeHost>,
    line: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (StatusCode, serde_json::Value) {
    let (method, path) = line.split_once(' ').unwrap();
    let mut request = Request::builder().method(method).uri(path);
    let mut all = vec![("host", "127.0.0.1:9090"), ("authorization", "Bearer ta_00112233445566778899aabbccddeeff")];
    all.retain(|(name, _)| headers.iter().all(|(other, _)| other != name));
    for (name, value) in all.iter().chain(headers).filter(|(_, value)| !value.is_empty()) {
        request = request.header(*name, *value);
    }
    let answer = listener(Arc::clone(host)).oneshot(request.body(Body::from(body.to_owned())).unwrap()).await.unwrap();
    let status = answer.status();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (status, serde_json::from_slice(&bytes).unwrap_or(serde_json::Value::String(text)))
}

#[tokio::test]
async fn without_the_token_only_health_and_metrics_answer() {
    let host = Arc::default();
    for (authorization, expected) in
        [("", 401), ("Bearer wrong", 401), ("Basic ta_0", 401), (&format!("bearer {TOKEN}"), 200)]
    {
        let (status, body) = ask(&host, "GET /v1/plugins", &[("authorization", authorization)], "").await;
        assert_eq!(status, expected, "{authorization} {body}");
    }
    for open in ["GET /healthz", "GET /readyz", "GET /metrics"] {
        assert_eq!(ask(&host, open, &[("authorization", "")], "").await.0, 200, "{open}");
    }
    let (status, body) = ask(&host, "GET /nothing", &[("authorization", "")], "").await;
    assert_eq!((status.as_u16(), &body["error"]), (401, &"unauthenticated".into()));
}

#[tokio::test]
async fn a_page_in_a_browser_is_refused_whatever_name_it_uses() {
    let host = Arc::default();
    let (status, body) = ask(&host, "GET /metrics", &[("origin", "http://127.0.0.1:9090")], "").await;
    assert_eq!((status.as_u16(), &body["error"]), (403, &"from-a-browser".into()));
    let hosts = [
        ("evil.example:9090", 403),
        ("127.0.0.1.evil.example", 403),
        ("evil@localhost", 403),
        ("localhost@evil.example", 403),
        ("", 403),
        ("a b", 403),
    ];
    let good = [("localhost:9090", 200), ("[::1]:9090", 200), ("TENON.internal", 200), ("10.0.0.7", 200)];
    for (name, expected) in hosts.into_iter().chain(good) {
        let (status, _) = ask(&host, "GET /metrics", &[("host", name)], "").await;
        assert_eq!(status, expected, "{name}");
    }
}

#[tokio::test]
async fn a_component_is_deployed_in_the_name_of_who_sent_it() {
    let host = Arc::default();
    let who = [("x-tenon-operator", "ada\t<script>")];
    let (status, body) = ask(&host, "PUT /v1/plugins/notes/component?allow-breaking=true", &who, "bytes").await;
    assert_eq!((status.as_u16(), &body["to"]["hash"]), (200, &"bb".into()));
    let large = "x".repeat(2 * crate::limits::ADMIN_BODY_BYTES_MAX);
    assert_eq!(ask(&host, "PUT /v1/plugins/notes/component?allow-slow-index=true", &[], &large).await.0, 200);
    ask(&host, "POST /v1/plugins/notes/rollback", &[], "").await;
    assert_eq!(
        *host.asked.lock(),
        ["deploy notes 5 true false adascript", "deploy notes 131072 false true operator", "rollback notes operator"]
    );
}

#[tokio::test]
async fn refusals_carry_code_sentence_reasons_and_hint() {
    let host = Arc::default();
    let (status, body) = ask(&host, "PUT /v1/plugins/notes/component", &[], "").await;
    assert_eq!(status, 409);
    assert_eq!(
        body,
        serde_json::json!({"error": "refused", "message": "Not published.", "hint": "", "reasons": ["it is empty"]})
    );
    for (line, expected, error) in [
        ("PUT /v1/plugins/other/component", 404, "not-found"),
        ("PUT /v1/plugins/notes/component?allow-braking=true", 400, "invalid"),
        ("DELETE /v1/keys/key_9", 404, "not-found"),
        ("GET /v1/keys", 500, "failed"),
        ("GET /v1/nothing", 404, "not-found"),
        ("DELETE /v1/plugins", 405, "method-not-allowed"),
        ("GET /v1/plugins/journal?limit=0", 400, "invalid"),
        ("GET /v1/plugins/journal?plugin=%ff", 400, "invalid"),
        ("PUT /v1/plugins/%ff/component", 400, "invalid"),
        ("PUT /v1/plugins/notes/component?allow-breaking=%ff", 400, "invalid"),
        ("POST /v1/plugins/%ff/rollback", 400, "invalid"),
        ("DELETE /v1/keys/%ff", 400, "invalid"),
    ] {
        let (status, body) = ask(&host, line, &[], "").await;
        assert_eq!((status.as_u16(), &body["error"]), (expected, &error.into()), "{line}");
    }
}

#[tokio::test]
async fn a_key_is_made_from_json_and_nothing_unknown_is_overlooked() {
    let host = Arc::default();
    let json = [("content-type", "application/json")];
    let good = r#"{"plugin":"notes","tenant":"acme","environment":"test"}"#;
    let (status, body) = ask(&host, "POST /v1/keys", &json, good).await;
    assert_eq!((status.as_u16(), &body["environment"]), (201, &"test".into()));
    let misspelt = r#"{"plugin":"notes","tenant":"acme","environment":"test","scope":["read"]}"#;
    assert_eq!(ask(&host, "POST /v1/keys", &json, misspelt).await.0, 422);
    let long = format!("{{\"plugin\":\"{}\"}}", "x".repeat(crate::limits::ADMIN_BODY_BYTES_MAX));
    let (status, body) = ask(&host, "POST /v1/keys", &json, &long).await;
    assert_eq!((status.as_u16(), &body["error"]), (413, &"too-large".into()));
    assert_eq!(ask(&host, "POST /v1/keys", &[("content-type", "text/plain")], good).await.0, 415);
}

#[tokio::test]
async fn what_cannot_be_read_is_told_without_the_words_of_what_reads_it() {
    let host = Arc::default();
    let json = [("content-type", "application/json")];
    for (line, body, named) in [
        ("POST /v1/keys", r#"{"plugin":1}"#, "invalid type: integer `1`, expected a string"),
        ("POST /v1/keys", r#"{"plugin""#, "EOF while parsing"),
        ("GET /v1/plugins/journal?limit=x", "", "limit: invalid digit"),
        ("PUT /v1/plugins/notes/component?allow-breaking=maybe", "", "allow-breaking"),
    ] {
        let message = ask(&host, line, &json, body).await.1["message"].as_str().unwrap().to_owned();
        assert!(message.contains(named) && message.contains(" cannot be read: "), "{line}: {message}");
        assert!(!message.contains("eserialize") && !message.contains("target type"), "{line}: {message}");
    }
}

#[tokio::test]
async fn webhooks_are_ordered_again_in_the_name_of_who_asked_and_nothing_unknown_is_overlooked() {
    let host = Arc::default();
    let json = [("content-type", "application/json"), ("x-tenon-operator", "ada")];
    for (line, body, expected) in [
        ("POST /v1/webhooks/redeliver", r#"{"endpoint":"ep","event":"event_1"}"#, 200),
        ("POST /v1/webhooks/recover", r#"{"endpoint":"ep","since":"2026-01-02T03:04:05Z","tenant":"acme/test"}"#, 200),
        ("POST /v1/webhooks/redeliver", r#"{"endpoint":"ep","event":"event_1","evnet":"x"}"#, 422),
        ("POST /v1/webhooks/recover", r#"{"endpoint":"ep","since":"yesterday"}"#, 422),
        ("GET /v1/webhooks/deliveries?stat=failed", "", 400),
        ("GET /v1/webhooks/endpoints?limit=1001", "", 400),
        ("GET /v1/webhooks/attempts?endpoint=ep", "", 400),
        ("GET /v1/webhooks/attempts?endpoint=ep&event=event_1", "", 200),
        ("DELETE /v1/webhooks/endpoints", "", 405),
        ("GET /v1/audit/lines?plugin=notes&since=2026-01-02T03:04:05Z&request=r&after=7&limit=5", "", 200),
        ("GET /v1/audit/lines?since=yesterday", "", 400),
        ("GET /v1/audit/lines?limit=0", "", 400),
        ("GET /v1/audit/chains?plugin=notes&tenant=acme/test", "", 200),
        ("GET /v1/audit/chains?limit=1", "", 400),
        ("GET /v1/tasks?kind=timer&given_up=true", "", 200),
        ("GET /v1/tasks?kind=nothing", "", 400),
        ("GET /v1/tasks", "", 400),
        ("POST /v1/tasks/retry", r#"{"kind":"timer","id":"a:b"}"#, 404),
        ("POST /v1/tasks/drop", r#"{"kind":"effect","id":"a:b","force":true}"#, 422),
        ("GET /v1/outbox?plugin=notes&tenant=acme/test&limit=3", "", 200),
        ("GET /v1/outbox?limit=0", "", 400),
        ("GET /v1/outbox?endpoint=ep", "", 400),
    ] {
        let (status, answer) = ask(&host, line, &json, body).await;
        assert_eq!(status, expected, "{line} {body} {answer}");
    }
    let asked = host.asked.lock().clone();
    assert_eq!(asked[..2], ["redeliver ep event_1 ada", "recover ep 2026-01-02T03:04:05.000Z ada"]);
}

#[tokio::test]
async fn no_answer_about_seeds_is_kept_on_its_way_and_no_error_repeats_their_words() {
    let host = Arc::default();
    let json = [("content-type", "application/json"), ("x-tenon-operator", "ada")];
    let name = r#"{"plugin":"notes","tenant":"acme/test"}"#;
    let copy = r#"{"plugin":"notes","tenant":"acme/test","phrase":"abandon ability able"}"#;
    for (line, body) in [("GET /v1/seeds", ""), ("POST /v1/seeds/export", name), ("POST /v1/seeds/import", copy)] {
        let (method, path) = line.split_once(' ').unwrap();
        let request = Request::builder().method(method).uri(path).header("host", "localhost");
        let request =
            request.header("authorization", format!("Bearer {TOKEN}")).header("content-type", "application/json");
        let answer = listener(Arc::clone(&host)).oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
        assert_eq!((answer.status().as_u16(), &answer.headers()["cache-control"]), (200, &"no-store".parse().unwrap()));
    }
    for body in [
        r#""abandon ability able""#,
        r#"{"plugin":"notes","tenant":"acme/test","abandon ability able":"phrase"}"#,
        r#"{"plugin":"notes","tenant":"acme/test","phrase":["abandon"]}"#,
        r#"{"plugin":"notes","tenant":"acme/test","phrase":"abandon ability"#,
        r#"{"plugin":"notes","phrase":"abandon","phrase":"abandon"}"#,
    ] {
        let (status, answer) = ask(&host, "POST /v1/seeds/import", &json, body).await;
        assert!(status.is_client_error() && !answer.to_string().contains("abandon"), "{body}: {answer}");
    }
    let asked = host.asked.lock().clone();
    assert_eq!(asked, ["export notes acme/test operator", "import notes acme/test abandon ability able operator"]);
}

#[tokio::test]
async fn networks_are_controlled_in_the_name_of_who_asked_and_nothing_unknown_is_overlooked() {
    let host = Arc::default();
    let json = [("content-type", "application/json"), ("x-tenon-operator", "ada")];
    let control = |control: &str| format!(r#"{{"blockchain":"base","control":{control}}}"#);
    for (line, body, expected) in [
        ("GET /v1/chains", String::new(), 200),
        ("GET /v1/chains/balance?blockchain=base&address=0x1", String::new(), 200),
        ("GET /v1/chains/balance?blockchain=base&address=0x1&network=side", String::new(), 400),
        ("GET /v1/chains/balance?blockchain=base", String::new(), 400),
        ("GET /v1/chains/transaction?blockchain=base&network=main&hash=0xab", String::new(), 404),
        ("POST /v1/chains/control", control(r#"{"kind":"mine","blocks":2}"#), 200),
        ("POST /v1/chains/control", control(r#"{"kind":"silent","silence":"taken"}"#), 200),
        ("POST /v1/chains/control", control(r#"{"kind":"mine","blocks":-1}"#), 422),
        ("POST /v1/chains/control", control(r#"{"kind":"mine","blocks":2,"depth":3}"#), 422),
        ("POST /v1/chains/control", control(r#"{"kind":"explode"}"#), 422),
        ("POST /v1/chains/control", r#"{"control":{"kind":"off"}}"#.to_owned(), 422),
    ] {
        let (status, answer) = ask(&host, line, &json, &body).await;
        assert_eq!(status, expected, "{line} {body} {answer}");
    }
    assert_eq!(*host.asked.lock(), ["Mine { blocks: 2 } ada", "Silent { silence: Taken } ada"]);
}

#[tokio::test]
async fn a_host_that_is_not_ready_says_so_and_stays_healthy() {
    let host = Arc::new(FakeHost { unready: true, ..FakeHost::default() });
    assert_eq!(ask(&host, "GET /readyz", &[], "").await.0, 503);
    assert_eq!(ask(&host, "GET /healthz", &[], "").await.0, 200);
}

#[test]
fn the_token_is_made_once_and_an_empty_file_opens_nothing() {
    let folder = tempfile::tempdir().unwrap();
    assert!(token::find(folder.path()).unwrap().is_none());
    let made = token::load_or_create(folder.path()).unwrap();
    assert_eq!(token::load_or_create(folder.path()).unwrap().expose(), made.expose());
    crate::secrets::private_file::create(&folder.path().join(token::TOKEN_FILE), "\n").unwrap();
    assert!(token::load_or_create(folder.path()).unwrap().expose().len() >= 64);
}

#[test]
fn moments_are_texts_in_json() {
    let text = serde_json::to_string(&Moment(1_767_322_986_070)).unwrap();
    assert_eq!(text, "\"2026-01-02T03:03:06.070Z\"");
    assert_eq!(serde_json::from_str::<Moment>(&text).unwrap(), Moment(1_767_322_986_070));
}
