//! A fake host with one plugin, "notes", and constant responses.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::{
    admin::{
        Guard,
        operations::{
            AdminError, AttemptsQuery, AuditChainsQuery, AuditLinesQuery, BalanceQuery, DeliveriesQuery, Deploy,
            EndpointsQuery, FailedAction, JournalQuery, Operations, OutboxQuery, ProfileRequest, TasksQuery,
            TransactionQuery,
        },
        router, token,
        wire::*,
    },
    secrets::SecretText,
};

/// A host with one plugin, "notes", that records the requests it receives.
#[derive(Default)]
pub struct FakeHost {
    pub requests: Mutex<Vec<String>>,
    pub is_unready: bool,
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
        started_at: TimestampText(0),
        step: "hash".into(),
        bytes_done: 0,
        bytes_total: 0,
        report: Some(report),
        message: None,
    }
}

impl Operations for FakeHost {
    async fn plugins(&self) -> Result<Vec<PluginStatus>, AdminError> {
        Ok(vec![])
    }
    async fn check(&self, plugin: String, component: Bytes) -> Result<CheckReport, AdminError> {
        self.requests.lock().push(format!("check {plugin} {}", component.len()));
        let (hash, steps, notes) = (String::new(), Vec::new(), Vec::new());
        Ok(CheckReport { plugin, passed: true, hash, version: None, reasons: Vec::new(), notes, steps })
    }

    async fn deploy(&self, deploy: Deploy) -> Result<SwapReport, AdminError> {
        if deploy.plugin != "notes" {
            return Err(AdminError::NotFound { message: "There is no plugin.".into(), hint: "List them.".into() });
        }
        if deploy.component.is_empty() {
            let reasons = vec!["it is empty".to_owned()];
            return Err(AdminError::Conflict { message: "Not published.".into(), reasons, hint: String::new() });
        }
        let Deploy { plugin, component, allow_breaking, allow_slow_index, operator } = &deploy;
        let request = format!("deploy {plugin} {} {allow_breaking} {allow_slow_index} {operator}", component.len());
        self.requests.lock().push(request);
        Ok(swap(deploy.plugin))
    }
    async fn rollback(&self, plugin: String, operator: String) -> Result<SwapReport, AdminError> {
        self.requests.lock().push(format!("rollback {plugin} {operator}"));
        Ok(swap(plugin))
    }
    async fn profile(&self, request: ProfileRequest) -> Result<ProfileReport, AdminError> {
        let ProfileRequest { plugin, seconds, operator } = request;
        self.requests.lock().push(format!("profile {plugin} {seconds} {operator}"));
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
    async fn journal(&self, query: JournalQuery) -> Result<Vec<JournalLine>, AdminError> {
        self.requests.lock().push(format!("{query:?}"));
        Ok(vec![])
    }
    async fn create_key(&self, key: NewKey, _operator: String) -> Result<CreatedKey, AdminError> {
        let NewKey { tenant, environment, plugin, .. } = key;
        Ok(CreatedKey { id: "key_1".into(), key: SecretText::new("tk_test_x".into()), tenant, environment, plugin })
    }
    async fn keys(&self) -> Result<Vec<KeyStatus>, AdminError> {
        Err(AdminError::Failed { message: "The database is gone.".into() })
    }
    async fn revoke_key(&self, id: String, _operator: String) -> Result<KeyStatus, AdminError> {
        Err(AdminError::NotFound {
            message: format!("There is no key {id}."),
            hint: "`tenon key list` shows them.".into(),
        })
    }
    async fn create_client(&self, client: NewClient, _operator: String) -> Result<CreatedClient, AdminError> {
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
    async fn clients(&self) -> Result<Vec<ClientStatus>, AdminError> {
        Ok(vec![])
    }
    async fn rotate_client(&self, id: String, _operator: String) -> Result<CreatedClient, AdminError> {
        Err(AdminError::NotFound { message: format!("There is no client {id}."), hint: String::new() })
    }
    async fn revoke_client(&self, id: String, _operator: String) -> Result<ClientStatus, AdminError> {
        Err(AdminError::NotFound { message: format!("There is no client {id}."), hint: String::new() })
    }
    async fn rotate_token_keys(&self, _operator: String) -> Result<TokenKeysReport, AdminError> {
        Ok(TokenKeysReport { key: "k".into(), algorithm: "ES256".into(), previous: vec![] })
    }
    async fn webhook_endpoints(&self, query: EndpointsQuery) -> Result<Page<EndpointStatus>, AdminError> {
        self.requests.lock().push(format!("{query:?}"));
        Ok(Page { entries: vec![], next: query.after })
    }
    async fn webhook_deliveries(&self, query: DeliveriesQuery) -> Result<Page<DeliveryStatus>, AdminError> {
        self.requests.lock().push(format!("{query:?}"));
        Ok(Page { entries: vec![], next: None })
    }
    async fn webhook_attempts(&self, query: AttemptsQuery) -> Result<Vec<AttemptStatus>, AdminError> {
        self.requests.lock().push(format!("{query:?}"));
        Ok(vec![])
    }
    async fn redeliver(&self, request: RedeliverRequest, operator: String) -> Result<ResendReport, AdminError> {
        self.requests.lock().push(format!("redeliver {} {} {operator}", request.endpoint, request.event));
        let (plugin, tenant, endpoint) = ("notes".into(), "acme/test".into(), request.endpoint);
        Ok(ResendReport { plugin, tenant, endpoint, deliveries: 1, enabled: false })
    }
    async fn recover(&self, request: RecoverRequest, operator: String) -> Result<ResendReport, AdminError> {
        self.requests.lock().push(format!("recover {} {} {operator}", request.endpoint, request.since));
        let (plugin, tenant, endpoint) = ("notes".into(), "acme/test".into(), request.endpoint);
        Ok(ResendReport { plugin, tenant, endpoint, deliveries: 7, enabled: true })
    }
    async fn tasks(&self, _query: TasksQuery) -> Result<Page<TaskStatus>, AdminError> {
        Ok(Page { entries: Vec::new(), next: None })
    }

    async fn retry_task(&self, task: TaskSelector, _operator: String) -> Result<TaskReport, AdminError> {
        Err(AdminError::NotFound { message: format!("There is no task \"{}\".", task.id), hint: String::new() })
    }

    async fn drop_task(&self, task: TaskSelector, operator: String) -> Result<TaskReport, AdminError> {
        self.retry_task(task, operator).await
    }

    async fn outbox(&self, query: OutboxQuery) -> Result<Vec<OutboxMessage>, AdminError> {
        self.requests.lock().push(format!("{query:?}"));
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
            at: TimestampText(1_000),
        }])
    }
    async fn audit_lines(&self, query: AuditLinesQuery) -> Result<Page<AuditLine>, AdminError> {
        self.requests.lock().push(format!("{query:?}"));
        Ok(Page { entries: vec![], next: None })
    }
    async fn audit_chains(&self, query: AuditChainsQuery) -> Result<Page<ChainStatus>, AdminError> {
        self.requests.lock().push(format!("{query:?}"));
        Ok(Page { entries: vec![], next: None })
    }
    async fn check_ledger(&self) -> Result<LedgerReport, AdminError> {
        Ok(LedgerReport { balanced: true, sums: vec![] })
    }
    async fn rotate_secrets(&self, _operator: String) -> Result<RotationReport, AdminError> {
        Ok(RotationReport { key: "00".into(), sealed_again: 1, current: 0, left: vec![] })
    }
    async fn start_backup(&self, request: NewBackup, operator: String) -> Result<BackupStatus, AdminError> {
        self.requests.lock().push(format!("backup {} {operator}", request.folder));
        Ok(BackupStatus { state: BackupState::Running, report: None, ..backup(request.folder) })
    }
    async fn backup(&self) -> Result<BackupStatus, AdminError> {
        Ok(backup("/backups/one".into()))
    }
    async fn seeds(&self) -> Result<Vec<SeedOwner>, AdminError> {
        Ok(vec![SeedOwner { plugin: "notes".into(), tenant: "acme/test".into() }])
    }
    async fn export_seed(&self, owner: SeedOwner, operator: String) -> Result<SeedCopy, AdminError> {
        self.requests.lock().push(format!("export {} {} {operator}", owner.plugin, owner.tenant));
        let phrase = SecretText::new("abandon ability able".into());
        Ok(SeedCopy { plugin: owner.plugin, tenant: owner.tenant, phrase })
    }
    async fn import_seed(&self, copy: SeedCopy, operator: String) -> Result<SeedReport, AdminError> {
        self.requests.lock().push(format!(
            "import {} {} {} {operator}",
            copy.plugin,
            copy.tenant,
            copy.phrase.expose()
        ));
        Ok(SeedReport { plugin: copy.plugin, tenant: copy.tenant, is_new: true })
    }
    async fn networks(&self) -> Result<Vec<NetworkStatus>, AdminError> {
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
    async fn network_balance(&self, query: BalanceQuery) -> Result<BalanceReport, AdminError> {
        let balances = vec![Balance { symbol: "ETH".into(), amount: "2.5".into() }];
        let BalanceQuery { blockchain, network, address } = query;
        Ok(BalanceReport { blockchain, network, address, balances })
    }
    async fn network_transaction(&self, query: TransactionQuery) -> Result<TransactionStatus, AdminError> {
        Err(AdminError::NotFound { message: format!("There is no {}.", query.hash), hint: String::new() })
    }
    async fn control_network(&self, request: NetworkControl, operator: String) -> Result<ControlReport, AdminError> {
        self.requests.lock().push(format!("{:?} {operator}", request.control));
        let NetworkControl { blockchain, network, control } = request;
        let hash = matches!(control, Control::Give { .. }).then(|| "0xab".to_owned());
        let faults = FaultStatus { fail_next: 0, stick_next: 0, slow_ms: 0, silence: Silence::Off };
        Ok(ControlReport { blockchain, network, hash, height: None, transactions: Some(4), faults })
    }
    async fn record_failed_action(&self, failed: FailedAction) {
        let FailedAction { action, operator, outcome, reason } = failed;
        self.requests.lock().push(format!("{} {action} {operator} {reason}", outcome.name()));
    }
    async fn readiness(&self) -> Readiness {
        Readiness { ready: !self.is_unready, reasons: vec![] }
    }
    fn metrics(&self) -> Result<String, AdminError> {
        Ok("tenon_info 1\n".into())
    }
}

/// Starts a listener with a fake host on its own thread, with its token in `data_dir`, and returns the address.
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
