//! What stands behind the listener in these tests: one plugin, "notes", and answers that are always the same.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::{
    admin::{
        Guard,
        operations::{
            AttemptsQuestion, BalanceQuestion, ChainsQuestion, DeliveriesQuestion, Deploy, EndpointsQuestion,
            JournalQuestion, LinesQuestion, Operations, OutboxQuestion, ProfileRequest, Refusal, RefusedAction,
            TasksQuestion, TransactionQuestion,
        },
        router, token,
        wire::*,
    },
    secrets::SecretText,
};

/// Answers like a host with one plugin, "notes", and keeps what it was asked.
#[derive(Default)]
pub struct FakeHost {
    pub asked: Mutex<Vec<String>>,
    pub unready: bool,
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
    async fn check(&self, plugin: String, component: Bytes) -> Result<CheckReport, Refusal> {
        self.asked.lock().push(format!("check {plugin} {}", component.len()));
        let (hash, steps, notes) = (String::new(), Vec::new(), Vec::new());
        Ok(CheckReport { plugin, passed: true, hash, version: None, reasons: Vec::new(), notes, steps })
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
    async fn profile(&self, request: ProfileRequest) -> Result<ProfileReport, Refusal> {
        let ProfileRequest { plugin, seconds, who } = request;
        self.asked.lock().push(format!("profile {plugin} {seconds} {who}"));
        Ok(ProfileReport {
            plugin,
            version: "0.1.0".into(),
            hash: "bb".into(),
            generation: 2,
            milliseconds: seconds * 1_000,
            samples: 0,
            ended: ProfileEnd::Time,
            notes: vec![],
            functions: vec![],
            profile: serde_json::value::RawValue::from_string("{}".to_owned()).unwrap(),
        })
    }
    async fn journal(&self, question: JournalQuestion) -> Result<Vec<JournalLine>, Refusal> {
        self.asked.lock().push(format!("{question:?}"));
        Ok(vec![])
    }
    async fn create_key(&self, key: NewKey, _who: String) -> Result<CreatedKey, Refusal> {
        let NewKey { tenant, environment, plugin, .. } = key;
        Ok(CreatedKey { id: "key_1".into(), key: SecretText::new("tk_test_x".into()), tenant, environment, plugin })
    }
    async fn keys(&self) -> Result<Vec<KeyStatus>, Refusal> {
        Err(Refusal::Failed { message: "The database is gone.".into() })
    }
    async fn revoke_key(&self, id: String, _who: String) -> Result<KeyStatus, Refusal> {
        Err(Refusal::NotFound {
            message: format!("There is no key {id}."),
            hint: "`tenon key list` shows them.".into(),
        })
    }
    async fn create_client(&self, client: NewClient, _who: String) -> Result<CreatedClient, Refusal> {
        let NewClient { plugin, tenant, environment, scopes, .. } = client;
        let scopes = scopes.unwrap_or_default();
        Ok(CreatedClient {
            client_id: "client_1".into(),
            client_secret: Some(SecretText::new("cs_test_x".into())),
            scopes,
            tenant,
            environment,
            plugin,
        })
    }
    async fn clients(&self) -> Result<Vec<ClientStatus>, Refusal> {
        Ok(vec![])
    }
    async fn rotate_client(&self, id: String, _who: String) -> Result<CreatedClient, Refusal> {
        Err(Refusal::NotFound { message: format!("There is no client {id}."), hint: String::new() })
    }
    async fn revoke_client(&self, id: String, _who: String) -> Result<ClientStatus, Refusal> {
        Err(Refusal::NotFound { message: format!("There is no client {id}."), hint: String::new() })
    }
    async fn rotate_token_keys(&self, _who: String) -> Result<TokenKeysReport, Refusal> {
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
    async fn rotate_secrets(&self, _who: String) -> Result<RotationReport, Refusal> {
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
    async fn note_refused(&self, refused: RefusedAction) {
        let RefusedAction { action, operator, outcome, why } = refused;
        self.asked.lock().push(format!("{} {action} {operator} {why}", outcome.name()));
    }
    async fn readiness(&self) -> Readiness {
        Readiness { ready: !self.unready, reasons: vec![] }
    }
    fn metrics(&self) -> Result<String, Refusal> {
        Ok("tenon_info 1\n".into())
    }
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
