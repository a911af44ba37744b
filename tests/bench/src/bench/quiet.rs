//! Waits until nothing else runs on the machine: a build right before a run would be in its figures.

use std::fs;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Up to this load average nothing else runs.
pub const LOAD_MAX: f64 = 0.3;
/// A machine that is still busy then is measured as it is; the report names its load.
const WAIT_MAX: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_secs(5);

/// The load average of the last minute.
pub fn load_average() -> anyhow::Result<f64> {
    let text = fs::read_to_string("/proc/loadavg")?;
    Ok(text.split(' ').next().unwrap_or_default().parse()?)
}

pub async fn wait() -> anyhow::Result<()> {
    let until = Instant::now() + WAIT_MAX;
    if load_average()? > LOAD_MAX {
        eprintln!("waiting until the load average is at most {LOAD_MAX}, {} s at most …", WAIT_MAX.as_secs());
    }
    while load_average()? > LOAD_MAX && Instant::now() < until {
        sleep(POLL).await;
    }
    Ok(())
}
