//! The real host for one test, on its own ports, in a folder that is removed afterwards.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use tempfile::TempDir;
use tenon::{
    boot,
    clock::Clock,
    config::{self, Flags, Variables},
    db::apply::Failpoint,
    destinations::Destinations,
    plugin::compile::Program,
};
use tenon_bench::guests::workspace_root;
use tokio::net::TcpListener;

use super::{TestCertificate, TestClient, compiled_code};

/// Returns the file that `make plugins` or `make guests` built: "fleet", or "guests/misbehave".
#[track_caller]
pub fn component(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target-plugins");
    let file = match name.strip_prefix("guests/") {
        Some(guest) => root.join("guests").join(format!("{guest}.wasm")),
        None => root.join("wasm32-wasip2/plugin").join(format!("{}.wasm", name.replace('-', "_"))),
    };
    assert!(file.is_file(), "{} is missing: run `make plugins guests` first", file.display());
    file
}

/// Returns the section of a plugin in the shipped plugins.toml, without its component, for [`TestHostBuilder::plugin`].
pub fn shipped_section(plugin: &str) -> String {
    let shipped = std::fs::read_to_string(workspace_root().join("plugins.toml")).expect("plugins.toml");
    let (_, section) = shipped.split_once(&format!("[plugins.{plugin}]\n")).expect("a section");
    let belongs = |line: &&str| !line.starts_with("[plugins.") || line.starts_with(&format!("[plugins.{plugin}."));
    let lines = section.lines().take_while(belongs).filter(|line| !line.starts_with("component ="));
    lines.map(|line| format!("{line}\n")).collect()
}

/// 32 bytes in hexadecimal.
const MASTER_KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// Settings of a [`TestHost`].
pub struct TestHostBuilder {
    environment: &'static str,
    head: String,
    outbound: String,
    certificate: Option<TestCertificate>,
    plugins: Vec<(String, PathBuf, String)>,
    clock: Clock,
}

pub struct TestHost {
    pub dir: Arc<TempDir>,
    pub clock: Clock,
    host: Option<boot::Host>,
    base: String,
    admin: String,
}

impl TestHost {
    /// Starts a host with the fleet plugin.
    pub async fn fleet() -> TestHost {
        TestHost::builder().fleet("").start().await
    }

    /// Starts a host with the guest `misbehave`.
    pub async fn misbehave() -> TestHost {
        let grants = r#"grants = ["records", "events", "ids", "log"]"#;
        TestHost::builder().plugin("misbehave", component("misbehave"), grants).start().await
    }

    pub fn builder() -> TestHostBuilder {
        TestHostBuilder {
            environment: "development",
            head: String::new(),
            outbound: String::new(),
            certificate: None,
            plugins: Vec::new(),
            clock: Clock::system(),
        }
    }

    pub fn base(&self) -> &str {
        &self.base
    }

    pub fn admin_base(&self) -> &str {
        &self.admin
    }

    pub fn anonymous(&self) -> TestClient {
        TestClient::new(&self.base, None)
    }

    /// Creates a test key of this organization for this plugin and returns a client that uses it.
    pub async fn client(&self, plugin: &str, organization: &str) -> TestClient {
        TestClient::new(&self.base, Some(&self.key(plugin, organization).await))
    }

    /// Returns a client that uses an existing key or token.
    pub fn client_of(&self, key: &str) -> TestClient {
        TestClient::new(&self.base, Some(key))
    }

    pub async fn key(&self, plugin: &str, organization: &str) -> String {
        let body = serde_json::json!({"plugin": plugin, "tenant": organization, "environment": "test"});
        self.operator().post("/v1/keys", body).await.expect(201).text_at("/key")
    }

    /// Creates a key from a request body of the operators' interface. Returns the response, which contains the key and
    /// its id.
    pub async fn create_key(&self, description: serde_json::Value) -> serde_json::Value {
        self.operator().post("/v1/keys", description).await.expect(201).json()
    }

    /// Returns a client of the operators' listener with its token.
    pub fn operator(&self) -> TestClient {
        let token = fs::read_to_string(self.data_dir().join("admin.token")).expect("admin.token");
        TestClient::new(&self.admin, Some(token.trim()))
    }

    pub fn data_dir(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub fn database(&self) -> PathBuf {
        self.data_dir().join("tenon.db")
    }

    /// Makes the next commit batch fail at this point.
    pub fn fail_next_batch(&self, failpoint: Failpoint) {
        if let Some(host) = &self.host {
            host.fail_next_batch(failpoint);
        }
    }

    pub fn destinations(&self) -> &Destinations {
        self.host.as_ref().expect("a host that runs").destinations()
    }

    /// Renames the database, as if the disk were removed or restored. Open files stay open but cannot be opened again.
    pub fn rename_database(&self, from: &str, to: &str) {
        fs::rename(self.data_dir().join(from), self.data_dir().join(to)).expect("rename the database");
    }

    pub fn config_file(&self) -> PathBuf {
        self.dir.path().join("plugins.toml")
    }

    /// Returns the component file that `plugins.toml` names for the plugin.
    pub fn component_file(&self, plugin: &str) -> PathBuf {
        self.dir.path().join(format!("{plugin}.wasm"))
    }

    /// Replaces a component file atomically, as a build does.
    pub fn replace_component(&self, plugin: &str, new: &Path) {
        let temporary = self.dir.path().join(format!(".{plugin}.new"));
        fs::copy(new, &temporary).expect("copy the component");
        fs::rename(temporary, self.component_file(plugin)).expect("rename the component");
    }

    /// Stops the host and starts it again on the same folder, with new ports.
    pub async fn restart(self) -> TestHost {
        self.restart_after(|| ()).await
    }

    /// Restarts the host and runs `work` while it is stopped.
    pub async fn restart_after(mut self, work: impl FnOnce()) -> TestHost {
        if let Some(host) = self.host.take() {
            host.stop().await;
        }
        work();
        start_in(self.dir.clone(), self.clock.clone()).await
    }

    pub async fn stop(mut self) {
        if let Some(host) = self.host.take() {
            host.stop().await;
        }
    }
}

impl TestHostBuilder {
    /// Adds a plugin. `lines` is the rest of its section in plugins.toml: at least `grants = […]`. A `mount` must come
    /// first.
    pub fn plugin(mut self, name: &str, component: PathBuf, lines: &str) -> TestHostBuilder {
        self.plugins.push((name.to_owned(), component, lines.to_owned()));
        self
    }

    /// Adds the fleet plugin. `limits` holds lines of `[plugins.fleet.limits]`.
    pub fn fleet(self, limits: &str) -> TestHostBuilder {
        let grants = r#"grants = ["records", "events", "subscriptions", "effects", "questions", "credentials", "ids", "config", "log"]"#;
        self.plugin("fleet", component("fleet"), &format!("{grants}\n[plugins.fleet.limits]\n{limits}"))
    }

    /// Sets lines of plugins.toml in front of the plugins' sections.
    pub fn head(mut self, lines: &str) -> TestHostBuilder {
        self.head = lines.to_owned();
        self
    }

    pub fn production(mut self) -> TestHostBuilder {
        self.environment = "production";
        self
    }

    /// Sets lines of `[outbound]` in addition to those that every test has.
    pub fn outbound(mut self, lines: &str) -> TestHostBuilder {
        self.outbound = lines.to_owned();
        self
    }

    /// Writes the certificate beside plugins.toml as `tls.crt` and `tls.key`.
    pub fn certificate(mut self, certificate: &TestCertificate) -> TestHostBuilder {
        self.certificate = Some(certificate.clone());
        self
    }

    pub fn clock(mut self, clock: Clock) -> TestHostBuilder {
        self.clock = clock;
        self
    }

    /// Writes plugins.toml and the components into a new folder.
    pub fn write_files(&self) -> Arc<TempDir> {
        let dir = tempfile::tempdir().expect("a folder for the test");
        let is_production = self.environment == "production";
        let public_url = if is_production { "public-url = \"https://tenon.test\"\n" } else { "" };
        let mut toml = format!("environment = \"{}\"\n{public_url}{}\n", self.environment, self.head);
        if let Some(certificate) = &self.certificate {
            certificate.write(dir.path());
        }
        for (name, component, lines) in &self.plugins {
            fs::copy(component, dir.path().join(format!("{name}.wasm"))).expect("copy the component");
            let mount = if lines.starts_with("mount =") { "" } else { "mount = \"/\"\n" };
            toml.push_str(&format!("[plugins.{name}]\ncomponent = \"{name}.wasm\"\n{mount}{lines}\n"));
        }
        // The shipped setting, because receivers of tests run on this machine. Production rejects the setting.
        let networks = if is_production { "" } else { "allow-test = [\"127.0.0.0/8\", \"::1/128\"]\n" };
        toml.push_str(&format!("[outbound]\n{networks}{}\n", self.outbound));
        fs::write(dir.path().join("plugins.toml"), toml).expect("write plugins.toml");
        Arc::new(dir)
    }

    pub async fn start(self) -> TestHost {
        start_in(self.write_files(), self.clock).await
    }
}

async fn bind_free_port() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.expect("a port")
}

async fn start_in(dir: Arc<TempDir>, clock: Clock) -> TestHost {
    let flags = Flags {
        config: Some(dir.path().join("plugins.toml")),
        data_dir: Some(dir.path().join("data")),
        ..Flags::default()
    };
    let variables = Variables::from_pairs([("TENON_MASTER_KEY", MASTER_KEY)]);
    compiled_code::restore(&dir.path().join("data"));
    let start = boot::Start {
        config: config::load(&flags, &variables).unwrap_or_else(|error| panic!("{error}")),
        interfaces: bind_free_port().await,
        operators: bind_free_port().await,
        natives: Default::default(),
        compiler: Program::File(env!("CARGO_BIN_EXE_tenon-compiler").into()),
        reload: Box::new(move || config::load(&flags, &variables)),
    };
    let host =
        boot::start(start, clock.clone()).await.unwrap_or_else(|error| panic!("the host does not start: {error:#}"));
    compiled_code::save(&dir.path().join("data"));
    let (base, admin) = (format!("http://{}", host.address()), format!("http://{}", host.admin_address()));
    TestHost { dir, clock, host: Some(host), base, admin }
}
