//! The real `tenon` program as a child process with its own folder and free ports. Starts, calls, stops and kills it.
//!
//! Owns the process and nothing of the data that it serves. The folder outlives the process, so that the program can
//! be started again on the same data. Dropping a running program kills it.

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

use crate::wire::{Client, Response};

/// Time to compile a plugin without a cache on a busy machine.
const START_SECONDS_MAX: u64 = 120;
const STOP_SECONDS_MAX: u64 = 60;
const POLL: Duration = Duration::from_millis(2);
/// Development environment, because receivers of webhooks run on the same machine.
const CONFIG_HEAD: &str = "environment = \"development\"\n[outbound]\nallow-test = [\"127.0.0.0/8\"]\n";
/// Duration of one tick of `/proc/PID/stat`: Linux counts CPU time in hundredths of a second.
const TICK_MS: u64 = 10;

/// A `[plugins.NAME]` section.
#[derive(Clone, Debug)]
pub struct PluginSection {
    pub name: String,
    pub component: PathBuf,
    /// Prefix of its paths.
    pub mount: String,
    pub grants: Vec<String>,
    /// Further TOML lines of the section, and further tables after them.
    pub extra_toml: String,
}

impl PluginSection {
    pub fn new(name: &str, component: &Path, grants: &[&str]) -> PluginSection {
        let grants = grants.iter().map(|grant| (*grant).to_owned()).collect();
        let (name, component, mount) = (name.to_owned(), component.to_path_buf(), "/".to_owned());
        PluginSection { name, component, mount, grants, extra_toml: String::new() }
    }

    fn to_toml(&self) -> String {
        let PluginSection { name, component, mount, grants, extra_toml } = self;
        format!("\n[plugins.{name}]\ncomponent = {component:?}\nmount = {mount:?}\ngrants = {grants:?}\n{extra_toml}\n")
    }
}

/// Program to start and its folder. `folder` gets `plugins.toml`, `tenon.log` and `data/`.
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
    /// Starts the program and waits until it is ready. An error contains the end of its log.
    pub async fn start(plan: ProgramPlan) -> anyhow::Result<Program> {
        Program::start_at(plan, free_address()?).await
    }

    /// Starts the program at a given public address.
    pub async fn start_at(plan: ProgramPlan, public: SocketAddr) -> anyhow::Result<Program> {
        let mut program = Program::spawn_at(plan, public)?;
        program.wait_ready().await?;
        Ok(program)
    }

    /// Starts the program and does not wait.
    pub fn spawn(plan: ProgramPlan) -> anyhow::Result<Program> {
        Program::spawn_at(plan, free_address()?)
    }

    fn spawn_at(plan: ProgramPlan, public: SocketAddr) -> anyhow::Result<Program> {
        fs::create_dir_all(&plan.folder)?;
        let sections: String = plan.plugins.iter().map(PluginSection::to_toml).collect();
        fs::write(plan.folder.join("plugins.toml"), format!("{CONFIG_HEAD}{sections}"))?;
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
            if ready.is_ok_and(|response| response.status == 200) {
                return Ok(());
            }
            ensure!(Instant::now() < until, "tenon is not ready after {START_SECONDS_MAX} s:\n{}", self.log_tail());
            tokio::time::sleep(POLL).await;
        }
    }

    /// Returns the response of `/readyz`.
    pub async fn ready(&self) -> anyhow::Result<Response> {
        Ok(Client::new(self.admin, "").send("GET", "/readyz", &[], b"").await?)
    }

    pub fn data_dir(&self) -> PathBuf {
        self.plan.folder.join("data")
    }

    pub fn database_file(&self) -> PathBuf {
        self.data_dir().join("tenon.db")
    }

    /// Returns everything that the program printed, in this process and in earlier processes on the same folder.
    pub fn log(&self) -> String {
        fs::read_to_string(self.plan.folder.join("tenon.log")).unwrap_or_default()
    }

    /// Returns the last lines of the log, indented.
    pub fn log_tail(&self) -> String {
        let text = self.log();
        let lines: Vec<&str> = text.lines().collect();
        lines.iter().skip(lines.len().saturating_sub(30)).map(|line| format!("  {line}\n")).collect()
    }

    /// Runs the program's command line against this server. Returns its output, or an error with its error output.
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

    /// Creates an API key of the test environment.
    pub fn create_key(&self, plugin: &str, tenant: &str) -> anyhow::Result<String> {
        let flags = ["key", "create", "--plugin", plugin, "--tenant", tenant, "--environment", "test", "--json"];
        let created: Value = serde_json::from_str(&self.command(&flags)?)?;
        let key = created.get("key").and_then(Value::as_str).context("no key in the output of `tenon key create`")?;
        Ok(key.to_owned())
    }

    /// Returns a client of the public listener.
    pub fn client(&self, key: &str) -> Client {
        Client::new(self.public, key)
    }

    /// Returns a client of the operators' listener with the operators' token.
    pub fn operator(&self) -> anyhow::Result<Client> {
        let token = fs::read_to_string(self.data_dir().join("admin.token")).context("reading admin.token")?;
        Ok(Client::new(self.admin, token.trim()))
    }

    /// Deploys a component over the operators' interface and waits for the result.
    pub async fn deploy(&self, plugin: &str, component: &[u8]) -> anyhow::Result<Response> {
        let path = format!("/v1/plugins/{plugin}/component");
        let headers = [("content-type", "application/wasm")];
        Ok(self.operator()?.send("PUT", &path, &headers, component).await?)
    }

    /// Returns the resident memory in KiB.
    pub fn resident_kib(&self) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse()?)
    }

    /// Returns the CPU time of all threads of the process so far, user and system, in milliseconds.
    pub fn cpu_time_ms(&self) -> anyhow::Result<u64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name, in brackets, may contain spaces. User and system time are the 12th and 13th field after it.
        let (_, fields) = stat.rsplit_once(')').context("no name in stat")?;
        let ticks: Result<Vec<u64>, _> = fields.split_whitespace().skip(11).take(2).map(str::parse).collect();
        Ok(ticks?.iter().sum::<u64>() * TICK_MS)
    }

    /// Returns the ids of the child processes that compile a component now.
    pub fn compiling(&self) -> BTreeSet<u32> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id())).into_iter().flatten().flatten();
        let children = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
        let ids: BTreeSet<u32> = children.flat_map(|ids| to_numbers(&ids)).collect();
        ids.into_iter().filter(|id| is_compiling(*id)).collect()
    }

    /// Returns whether the component with this hash serves.
    pub async fn serves(&self, plugin: &str, hash: &str) -> anyhow::Result<bool> {
        let listed = self.operator()?.call("GET", "/v1/plugins", &Value::Null).await?;
        let all = listed.as_array().context("no list of plugins")?;
        let serves = |listed: &Value| listed.pointer("/serving/hash").is_some_and(|serving| serving == hash);
        Ok(all.iter().any(|listed| listed.get("name").is_some_and(|name| name == plugin) && serves(listed)))
    }

    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Returns a handle that kills the process while another task waits for responses. [`Program::kill`] afterwards
    /// returns the plan.
    pub fn kill_handle(&self) -> anyhow::Result<KillHandle> {
        Ok(KillHandle(self.pid()?))
    }

    /// Stops the program with SIGTERM, as a service manager does: running calls finish. Returns the plan for a restart.
    pub async fn stop(mut self) -> anyhow::Result<ProgramPlan> {
        rustix::process::kill_process(self.pid()?, Signal::TERM)?;
        let until = Instant::now() + Duration::from_secs(STOP_SECONDS_MAX);
        while self.child.try_wait()?.is_none() {
            ensure!(Instant::now() < until, "tenon did not stop within {STOP_SECONDS_MAX} s");
            tokio::time::sleep(POLL).await;
        }
        Ok(self.plan.clone())
    }

    /// Kills the process without notice: nothing finishes. Returns the plan for a restart.
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

/// Returns whether this process compiles a component.
pub fn is_compiling(id: u32) -> bool {
    // The file is empty for a process that has ended and was not waited for.
    fs::read_to_string(format!("/proc/{id}/cmdline")).is_ok_and(|line| line.contains("compile-component"))
}

/// Kills one process as `kill -9` does. Valid while its [`Program`] exists and has not waited for the process.
pub struct KillHandle(Pid);

impl KillHandle {
    pub fn kill(self) {
        // An error means that the process has ended already.
        let _ = rustix::process::kill_process(self.0, Signal::KILL);
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Both do nothing after `stop` and `kill`.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns an address with a port that is free now.
///
/// Another process may take the port before the child does. The child then reports an error and ends.
pub fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// Returns an address whose port stays free while its program is down: no outgoing connection uses this local address.
pub fn restartable_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.2:0")?.local_addr()?)
}

/// Finds a program that was built beside the running one: in the same folder, or one above (tests run in `deps/`).
pub fn sibling_binary(name: &str) -> Option<PathBuf> {
    let running = std::env::current_exe().ok()?;
    running.ancestors().skip(1).take(2).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Finds a program of this name in a folder of `PATH`.
pub fn installed_binary(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}
