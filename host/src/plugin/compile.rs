//! Compiles components, each in a child process: this program, started again with limits of memory and time.
//!
//! Compiles nothing in the process that serves, and loads no compiled code. `components` loads it. Invariants: a
//! compilation holds its permits until its process has ended and was reaped. It is killed if its caller cancels it. At
//! most one compilation of a plugin runs at a time.
//!
//! - `child`: the program of the child process. `process`: runs it. `message`: the messages between them.
//! - `functions`: machine code of single functions, reused by the next compilation of the same plugin.

#![expect(clippy::disallowed_methods, reason = "a compilation outlives its caller until its process was reaped")]

pub mod child;
mod functions;
mod message;
mod process;

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::{
    sync::{Semaphore, oneshot},
    time::Instant,
};

use super::compiling::Compiling;
use crate::{
    config::{CompileConfig, keys},
    limits,
    metrics::{CompileMetrics, CompileOutcome},
};
use message::{CompileRequest, Report};
use process::ProcessResult;

/// Path that starts the running program, even if its file was replaced or removed.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Whether a failed change is prepared again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryPolicy {
    /// The cause lies in the component or its settings.
    None,
    /// The cause probably lies in the component, as for a crash of the compiler. The change is retried a few times.
    Limited,
    /// The cause lies outside of the component, as for a full disk. The change is retried until that cause is gone.
    Unlimited,
}

/// Reason why a component was not compiled, as a sentence for operators.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    #[error("it cannot be compiled: {0}")]
    Invalid(String),
    #[error("compiling it takes more than {0} bytes of memory (compile.{key})", key = keys::COMPILE_MEMORY.name)]
    Memory(u64),
    #[error("compiling it takes longer than {0} ms (compile.{key})", key = keys::COMPILE_TIME.name)]
    Time(u64),
    #[error("compiling it computes for longer than {0} s, more than compile.{key} allows for its size", key = keys::COMPILE_TIME.name)]
    Computing(u64),
    #[error("the process that compiles it failed: {0}")]
    Process(String),
    #[error("the process that compiles it crashed: {0}")]
    Crashed(String),
    #[error("the compilation was cancelled")]
    Cancelled,
}

impl CompileError {
    /// Returns the retry policy. `Time` includes the time spent waiting for a processor, so the machine may be the
    /// cause. `Computing` counts only processor time.
    pub fn retries(&self) -> RetryPolicy {
        match self {
            CompileError::Process(_) | CompileError::Time(_) => RetryPolicy::Unlimited,
            CompileError::Crashed(_) => RetryPolicy::Limited,
            _ => RetryPolicy::None,
        }
    }

    fn outcome(&self) -> CompileOutcome {
        match self {
            CompileError::Invalid(_) => CompileOutcome::Invalid,
            CompileError::Memory(_) | CompileError::Time(_) | CompileError::Computing(_) => CompileOutcome::Limit,
            CompileError::Process(_) | CompileError::Crashed(_) => CompileOutcome::Failed,
            CompileError::Cancelled => CompileOutcome::Cancelled,
        }
    }
}

/// The program that compiles.
#[derive(Clone, Debug)]
pub enum Program {
    /// A program that has the sub-command [`child::COMMAND`].
    File(PathBuf),
    /// Compiles in the current process. For tests of this crate, whose executable lacks the sub-command.
    #[cfg(test)]
    InProcess,
}

impl Program {
    /// Returns the running program.
    pub fn own() -> io::Result<Program> {
        let own = Path::new(OWN_PROGRAM);
        Ok(Program::File(if own.exists() { own.to_owned() } else { std::env::current_exe()? }))
    }
}

/// Input of a compilation.
pub struct Job {
    pub plugin: Arc<str>,
    pub component: Bytes,
    pub paths: CompilePaths,
    /// Lists the plugin while its compilation holds a permit.
    pub progress: Compiling,
}

/// Files of one compilation.
pub struct CompilePaths {
    /// Path for the code. The file does not exist yet, and is removed with the [`CompiledFile`].
    pub code: PathBuf,
    /// Machine code from an earlier compilation of the plugin. This compilation replaces it. The file need not exist.
    pub functions: PathBuf,
    /// Path for the machine code of this component's functions. The file does not exist yet.
    pub new_functions: PathBuf,
}

/// Compiled code in a file of its own, which is removed when the value is dropped.
#[derive(Debug)]
pub struct CompiledFile {
    pub path: PathBuf,
    /// Hex SHA-256 of its content, as the child process computed it.
    pub digest: String,
}

#[cfg(test)]
impl CompiledFile {
    /// Compiles in this process.
    pub fn of_test(paths: CompilePaths, component: &[u8]) -> CompiledFile {
        let compiler = Compiler::of_test();
        let job =
            Job { plugin: "notes".into(), component: component.to_vec().into(), paths, progress: Compiling::default() };
        let report = child::perform(&compiler.request(&job), component);
        let Report::Compiled { digest, .. } = report else { panic!("{report:?}") };
        CompiledFile { path: job.paths.code, digest }
    }
}

impl Drop for CompiledFile {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Runs compilations. Cheap to clone.
#[derive(Clone)]
pub struct Compiler {
    program: Program,
    settings: CompileConfig,
    metrics: CompileMetrics,
    permits: Arc<Semaphore>,
    /// A permit for each plugin.
    plugins: Arc<Mutex<HashMap<Arc<str>, Arc<Semaphore>>>>,
}

impl Compiler {
    pub fn new(program: Program, settings: CompileConfig, metrics: CompileMetrics) -> Compiler {
        let permits = Arc::new(Semaphore::new(settings.concurrent));
        Compiler { program, settings, metrics, permits, plugins: Arc::default() }
    }

    /// Creates a compiler that compiles in this process, for tests of this crate.
    #[cfg(test)]
    pub fn of_test() -> Compiler {
        let metrics = crate::metrics::Metrics::new().unwrap().compile();
        Compiler::new(Program::InProcess, CompileConfig::default(), metrics)
    }

    /// Waits for a permit and compiles. Dropping the future kills the process.
    pub async fn compile(&self, job: Job) -> Result<CompiledFile, CompileError> {
        let (alive, abandoned) = oneshot::channel::<()>();
        let compiler = self.clone();
        let task = tokio::spawn(async move { compiler.run(job, abandoned).await });
        let result = task.await.unwrap_or_else(|error| Err(CompileError::Process(error.to_string())));
        drop(alive);
        result
    }

    async fn run(&self, job: Job, mut abandoned: oneshot::Receiver<()>) -> Result<CompiledFile, CompileError> {
        let plugin = self.semaphore_of(&job.plugin);
        let permits = async { (plugin.acquire().await, self.permits.acquire().await) };
        let _permits = tokio::select! {
            permits = permits => permits,
            _ = &mut abandoned => return Err(CompileError::Cancelled),
        };
        let (_running, _compilation) = (self.metrics.begin(), job.progress.begin(&job.plugin));
        let began = Instant::now();
        let result = self.perform(job, abandoned).await;
        let outcome = result.as_ref().map_or_else(CompileError::outcome, |_| CompileOutcome::Compiled);
        self.metrics.observe(outcome, began.elapsed().as_secs_f64());
        result
    }

    /// Returns the semaphore of a plugin. Removes those of plugins that are not being compiled.
    fn semaphore_of(&self, plugin: &Arc<str>) -> Arc<Semaphore> {
        let mut plugins = self.plugins.lock();
        plugins.retain(|_, permit| Arc::strong_count(permit) > 1);
        plugins.entry(plugin.clone()).or_insert_with(|| Arc::new(Semaphore::new(1))).clone()
    }

    async fn perform(&self, job: Job, abandoned: oneshot::Receiver<()>) -> Result<CompiledFile, CompileError> {
        let request = self.request(&job);
        // Removes the file that the process wrote, unless this function returns it.
        let mut file = CompiledFile { path: request.code.clone(), digest: String::new() };
        let result_of_process = self.start(&request, &job.component, abandoned).await;
        let result = match result_of_process {
            ProcessResult::Reported(Report::Compiled { digest, reused, compiled }) => {
                tracing::debug!(plugin = &*job.plugin, reused, compiled, "compiled the functions of a component");
                keep_functions(&request.functions_after, &request.functions_before);
                file.digest = digest;
                Ok(file)
            }
            ProcessResult::Reported(Report::Refused { reason }) => Err(CompileError::Invalid(reason)),
            ProcessResult::Memory => Err(CompileError::Memory(request.memory_bytes)),
            ProcessResult::Time => Err(CompileError::Time(self.settings.time_ms)),
            ProcessResult::Computing => Err(CompileError::Computing(request.cpu_seconds)),
            ProcessResult::Abandoned => Err(CompileError::Cancelled),
            ProcessResult::Crashed(reason) => Err(CompileError::Crashed(reason)),
            ProcessResult::Failed(reason) | ProcessResult::Reported(Report::Failed { reason }) => {
                Err(CompileError::Process(reason))
            }
        };
        remove(&request.functions_after);
        result
    }

    async fn start(
        &self,
        request: &CompileRequest,
        component: &Bytes,
        abandoned: oneshot::Receiver<()>,
    ) -> ProcessResult {
        match &self.program {
            Program::File(program) => {
                let time = Duration::from_millis(self.settings.time_ms);
                process::run(program, request, component, (time, abandoned)).await
            }
            #[cfg(test)]
            Program::InProcess => run_in_process(request.clone(), component.clone()).await,
        }
    }

    fn request(&self, job: &Job) -> CompileRequest {
        CompileRequest {
            component_bytes: job.component.len() as u64,
            code: job.paths.code.clone(),
            functions_before: job.paths.functions.clone(),
            functions_after: job.paths.new_functions.clone(),
            memory_bytes: memory_bytes(self.settings.memory_bytes, job.component.len() as u64),
            cpu_seconds: cpu_seconds(self.settings.time_ms, job.component.len() as u64),
            threads: limits::COMPILE_THREADS,
        }
    }
}

/// Returns the memory limit: half of the maximum or `COMPILE_MEMORY_BYTES`, whichever is greater, plus an amount
/// proportional to the size of the component, but at most the maximum.
fn memory_bytes(bytes_max: u64, component_bytes: u64) -> u64 {
    let base = (bytes_max / 2).max(limits::COMPILE_MEMORY_BYTES);
    base.saturating_add(component_bytes.saturating_mul(limits::COMPILE_MEMORY_FACTOR)).min(bytes_max)
}

/// Returns the limit of the processor time of all threads of a compilation together. The limit grows with the
/// component, because a small component that compiles for long was probably built to do so.
fn cpu_seconds(time_ms: u64, component_bytes: u64) -> u64 {
    let part_ms = time_ms / limits::COMPILE_TIME_DIVISOR;
    let more_ms = u128::from(part_ms) * u128::from(component_bytes) / u128::from(limits::COMPILE_STEP_BYTES);
    part_ms.saturating_add(u64::try_from(more_ms).unwrap_or(u64::MAX)).div_ceil(1_000)
}

#[cfg(test)]
async fn run_in_process(request: CompileRequest, component: Bytes) -> ProcessResult {
    let report = tokio::task::spawn_blocking(move || child::perform(&request, &component)).await;
    ProcessResult::Reported(report.unwrap())
}

/// Stores the machine code of functions. An error is only logged, because it only slows down the next compilation.
fn keep_functions(written: &Path, path: &Path) {
    if let Err(error) = fs::rename(written, path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(file = %path.display(), %error, "failed to store the machine code of functions");
    }
}

fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(file = %path.display(), %error, "failed to remove a file of a compilation");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_grows_with_the_component() {
        let max = CompileConfig::default().memory_bytes;
        assert!(memory_bytes(max, 3 << 20) <= 512 << 20, "a bomb of the usual size");
        assert_eq!(memory_bytes(max, 18 << 20), max, "an interpreter, which needs 0.6 GB");
        assert_eq!((memory_bytes(64 << 20, 0), memory_bytes(2 << 30, 0)), (64 << 20, 1 << 30));
    }

    #[test]
    fn computing_time_grows_with_the_component() {
        let time_ms = CompileConfig::default().time_ms;
        assert_eq!(cpu_seconds(time_ms, 2_000), 7);
        assert_eq!(cpu_seconds(time_ms, 2_600_000), 10, "a bomb of the usual size");
        assert_eq!(cpu_seconds(time_ms, 18 << 20), 33, "an interpreter, which needs 13");
        assert_eq!(cpu_seconds(1_000, 0), 1);
    }
}
