//! The peer as a program: plain axum and sqlx, one transaction for each request.

use std::{net::SocketAddr, path::PathBuf};

use clap::Parser;
use tenon_bench::native::Native;

/// Serves the same routes as the plugin, written by hand, for comparison.
#[derive(Parser)]
struct Arguments {
    #[arg(long)]
    listen: SocketAddr,
    #[arg(long)]
    database: PathBuf,
    /// The only valid API key.
    #[arg(long, env = "BENCH_KEY", hide_env_values = true)]
    key: String,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let native = Native::open(&arguments.database, &arguments.key).await?;
    let listener = tokio::net::TcpListener::bind(arguments.listen).await?;
    axum::serve(listener, native.router()).await?;
    Ok(())
}
