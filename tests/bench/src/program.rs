//! The real `tenon` program as a child process: its own folder, free ports, started, asked, stopped or killed.
//!
//! Owns the process and nothing of what it serves. The folder outlives it, so that it can be started again on the
//! same data. Dropping a running program kills it.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal};
use serde_json::Value;

use crate::wire::{Answer, Client};

/// Compiling a plugin from nothing on a busy machine.
const START_SECONDS_MAX: u64 = 120;
const STOP_SECONDS_MAX: u64 = 60;
const POLL: Duration = Duration::from_millis(2);
/// Receivers of webhooks run on the same machine.
const HEAD: &str = "environment = \"development\"\n[outbound]\nallow-test = [\"127.0.0.0/8\"]\n";
/// Linux counts the time of processes in hundredths of a second.
const TICK_MS: u64 = 10;

/// A `[plugins.NAME]` section.
#[derive(Clone, Debug)]
pub struct PluginSection {
    pub name: String,
    pub component: PathBuf,
    /// Where its paths begin.
    pub mount: String,
    pub grants: Vec<String>,
    /// Further lines of its section, as TOML, and tables of their own after them.
    pub more: String,
}

impl PluginSection {
    pub fn new(name: &str, component: &Path, grants: &[&str]) -> PluginSection {
        let grants = grants.iter().map(|grant| (*grant).to_owned()).collect();
        let (name, component, mount) = (name.to_owned(), component.to_path_buf(), "/".to_owned());
        PluginSection { name, component, mount, grants, more: String::new() }
    }

    fn to_toml(&self) -> String {
        let PluginSection { name, component, mount, grants, more } = self;
        format!("\n[plugins.{name}]\ncomponent = {component:?}\nmount = {mount:?}\ngrants = {grants:?}\n{more}\n")
    }
}

/// What to start, and where. `folder` gets `plugins.toml`, `tenon.log` and `data/`.
#[derive(Clone, Debug)]
pub struct ProgramPlan {
    pub binary: PathBuf,
    pub folder: PathBuf,
    pub plugins: Vec<PluginSection>,
}

pub struct Program {
    child: Child,
    plan: ProgramPlan,
    pub public: SocketAddr,
    pub admin: SocketAddr,
}

impl Program {
    /// Starts it and waits until it is ready; an error shows the end of its log.
    pub async fn start(plan: ProgramPlan) -> anyhow::Result<Program> {
        Program::start_at(plan, free_address()?).await
    }

    /// The same where others have to find it.
    pub async fn start_at(plan: ProgramPlan, public: SocketAddr) -> anyhow::Result<Program> {
        let mut program = Program::spawn_at(plan, public)?;
        program.wait_ready().await?;
        Ok(program)
    }

    /// Starts it and does not wait.
    pub fn spawn(plan: ProgramPlan) -> anyhow::Result<Program> {
        Program::spawn_at(plan, free_address()?)
    }

    fn spawn_at(plan: ProgramPlan, public: SocketAddr) -> anyhow::Result<Program> {
        fs::create_dir_all(&plan.folder)?;
        let sections: String = plan.plugins.iter().map(PluginSection::to_toml).collect();
        fs::write(plan.folder.join("plugins.toml"), format!("{HEAD}{sections}"))?;
        let log = File::options().create(true).append(true).open(plan.folder.join("tenon.log"))?;
        let admin = free_address()?;
        let child = Command::new(&plan.binary)
            .arg("serve")
            .arg("--config")
            .arg(plan.folder.join("plugins.toml"))
            .arg("--data-dir")
            .arg(plan.folder.join("data"))
            .args(["--listen", &public.to_string(), "--admin", &admin.to_string()])
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("starting {}", plan.binary.display()))?;
        Ok(Program { child, plan, public, admin })
    }

    async fn wait_ready(&mut self) -> anyhow::Result<()> {
        let until = Instant::now() + Duration::from_secs(START_SECONDS_MAX);
        loop {
            if let Some(status) = self.child.try_wait()? {
                bail!("tenon ended with {status} instead of serving:\n{}", self.log_tail());
            }
            let ready = Client::new(self.admin, "").send("GET", "/readyz", &[], b"").await;
            if ready.is_ok_and(|answer| answer.status == 200) {
                return Ok(());
            }
            ensure!(Instant::now() < until, "tenon is not ready after {START_SECONDS_MAX} s:\n{}", self.log_tail());
            tokio::time::sleep(POLL).await;
        }
    }

    /// Returns the answer of `/readyz`.
    pub async fn ready(&self) -> anyhow::Result<Answer> {
        Ok(Client::new(self.admin, "").send("GET", "/readyz", &[], b"").await?)
    }

    pub fn data_dir(&self) -> PathBuf {
        self.plan.folder.join("data")
    }

    pub fn database_file(&self) -> PathBuf {
        self.data_dir().join("tenon.db")
    }

    /// All that it printed, in this life and those before.
    pub fn log(&self) -> String {
        fs::read_to_string(self.plan.folder.join("tenon.log")).unwrap_or_default()
    }

    /// The last lines of that.
    pub fn log_tail(&self) -> String {
        let text = self.log();
        let lines: Vec<&str> = text.lines().collect();
        lines.iter().skip(lines.len().saturating_sub(30)).map(|line| format!("  {line}\n")).collect()
    }

    /// Runs the program's own command line against this server; what it printed, or its error.
    pub fn command(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output = Command::new(&self.plan.binary)
            .args(arguments)
            .env("TENON_ADMIN", self.admin.to_string())
            .env("TENON_DATA_DIR", self.data_dir())
            .output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "tenon {}: {}\n{errors}", arguments.join(" "), output.status);
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// A new key of the test environment.
    pub fn create_key(&self, plugin: &str, tenant: &str) -> anyhow::Result<String> {
        let flags = ["key", "create", "--plugin", plugin, "--tenant", tenant, "--environment", "test", "--json"];
        let created: Value = serde_json::from_str(&self.command(&flags)?)?;
        let key = created.get("key").and_then(Value::as_str).context("no key in the answer of `tenon key create`")?;
        Ok(key.to_owned())
    }

    /// A client of the interfaces.
    pub fn client(&self, key: &str) -> Client {
        Client::new(self.public, key)
    }

    /// A client of the operators' listener.
    pub fn operator(&self) -> anyhow::Result<Client> {
        let token = fs::read_to_string(self.data_dir().join("admin.token")).context("reading admin.token")?;
        Ok(Client::new(self.admin, token.trim()))
    }

    /// Puts a component in place over the operators' interface and waits for the verdict.
    pub async fn deploy(&self, plugin: &str, component: &[u8]) -> anyhow::Result<Answer> {
        let path = format!("/v1/plugins/{plugin}/component");
        let headers = [("content-type", "application/wasm")];
        Ok(self.operator()?.send("PUT", &path, &headers, component).await?)
    }

    /// Resident memory in KiB.
    pub fn resident_kib(&self) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse()?)
    }

    /// What all its threads have computed so far, for itself and in the kernel.
    pub fn computed_ms(&self) -> anyhow::Result<u64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name, in brackets, may hold spaces; user and system time are the 12th and 13th field after it.
        let (_, fields) = stat.rsplit_once(')').context("no name in stat")?;
        let ticks: Result<Vec<u64>, _> = fields.split_whitespace().skip(11).take(2).map(str::parse).collect();
        Ok(ticks?.iter().sum::<u64>() * TICK_MS)
    }

    /// Ids of the processes that compile components for it now.
    pub fn compiling(&self) -> BTreeSet<u32> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id())).into_iter().flatten().flatten();
        let children = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
        let ids: BTreeSet<u32> = children.flat_map(|ids| to_numbers(&ids)).collect();
        ids.into_iter().filter(|id| is_compiling(*id)).collect()
    }

    /// Whether the component with this hash serves.
    pub async fn serves(&self, plugin: &str, hash: &str) -> anyhow::Result<bool> {
        let listed = self.operator()?.call("GET", "/v1/plugins", &Value::Null).await?;
        let all = listed.as_array().context("no list of plugins")?;
        let serving = |one: &Value| one.pointer("/serving/hash").is_some_and(|serving| serving == hash);
        Ok(all.iter().any(|one| one.get("name").is_some_and(|name| name == plugin) && serving(one)))
    }

    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// To kill it while something else waits for its answers; [`Program::kill`] afterwards gives the plan.
    pub fn killer(&self) -> anyhow::Result<Killer> {
        Ok(Killer(self.pid()?))
    }

    /// As an operator's Ctrl-C does: finishes what runs. Gives the plan, to start it again.
    pub async fn stop(mut self) -> anyhow::Result<ProgramPlan> {
        rustix::process::kill_process(self.pid()?, Signal::TERM)?;
        let until = Instant::now() + Duration::from_secs(STOP_SECONDS_MAX);
        while self.child.try_wait()?.is_none() {
            ensure!(Instant::now() < until, "tenon did not stop within {STOP_SECONDS_MAX} s");
            tokio::time::sleep(POLL).await;
        }
        Ok(self.plan.clone())
    }

    /// As a lost power supply does to the process: nothing is finished.
    pub fn kill(mut self) -> anyhow::Result<ProgramPlan> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(self.plan.clone())
    }

    fn pid(&self) -> anyhow::Result<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).context("no process id")
    }
}

fn to_numbers(text: &str) -> Vec<u32> {
    text.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

/// Whether this process compiles a component.
pub fn is_compiling(id: u32) -> bool {
    // Empty for a process that has ended and was not waited for.
    fs::read_to_string(format!("/proc/{id}/cmdline")).is_ok_and(|line| line.contains("compile-component"))
}

/// Ends one process as `kill -9` does. Valid while its [`Program`] lives, which has not waited for it yet.
pub struct Killer(Pid);

impl Killer {
    pub fn kill(self) {
        // Already ended by itself: then there is nothing to do.
        let _ = rustix::process::kill_process(self.0, Signal::KILL);
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Already ended after `stop` and `kill`: then both do nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that is free now. Somebody else may take it before the child does: then the child says so and ends.
pub fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// One that stays free while its program is down: on an address of the machine that no outgoing connection comes from.
pub fn lasting_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.2:0")?.local_addr()?)
}

/// A program that was built beside the running one: in the same folder, or one above (tests run in `deps/`).
pub fn sibling_binary(name: &str) -> Option<PathBuf> {
    let mine = std::env::current_exe().ok()?;
    mine.ancestors().skip(1).take(2).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// A program of this name in a folder of `PATH`.
pub fn installed_binary(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}
