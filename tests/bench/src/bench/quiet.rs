//! Waits until the machine is idle: the load of a preceding build would distort the results.

use std::fs;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Up to this load average the machine counts as idle.
pub const LOAD_MAX: f64 = 0.3;
/// A machine that is still busy after this time is measured anyway. The report contains its load.
const WAIT_MAX: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_secs(5);

/// Returns the load average of the last minute.
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
