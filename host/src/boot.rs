//! Builds the host top to bottom, stops it in reverse.
//!
//! Gap: the rooms are not connected yet; both functions say so and do nothing.

use tokio::net::TcpListener;

use crate::{
    admin::wire::CheckReport,
    config::{Config, ConfigError},
};

/// What the command line has prepared.
pub struct Start {
    pub config: Config,
    /// Bound already, so that a taken port is named together with its flag.
    pub interfaces: TcpListener,
    pub operators: TcpListener,
    /// Reads plugins.toml again, with the same flags and variables.
    pub reload: Box<dyn Fn() -> Result<Config, ConfigError> + Send + Sync>,
}

/// Runs until the process is told to stop.
pub async fn serve(start: Start) -> anyhow::Result<()> {
    drop(start);
    anyhow::bail!("this build serves nothing: the engine is not connected yet")
}

/// Everything up to *publish* for one component, without a server.
pub async fn check_component(
    _config: &Config,
    plugin: &str,
    _component: Vec<u8>,
) -> anyhow::Result<CheckReport> {
    anyhow::bail!("this build cannot check {plugin}: the engine is not connected yet")
}
