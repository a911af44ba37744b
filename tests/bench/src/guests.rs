//! Components of the test guests as bytes: their paths, and variants made from one build.
//!
//! Owns the markers and sections that are changed. It never compiles. Every change keeps the component valid, or
//! breaks only the named part.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use anyhow::{Context, ensure};
use serde_json::Value;

pub mod bombs;
pub mod invalid_manifests;

/// The Cargo profile whose components this process uses.
static PROFILE: OnceLock<&str> = OnceLock::new();

/// Makes this process use the optimised components of `make plugins-release`. Must be called before any path is
/// requested.
pub fn use_optimised() {
    // An error means that an earlier call of this function chose the profile.
    let _chosen = PROFILE.set("plugin-release");
}

fn profile() -> &'static str {
    PROFILE.get_or_init(|| "plugin")
}

/// Returns the output path of `make plugins`, `make guests` and `make plugins-release` for a component.
pub fn component_path(name: &str) -> PathBuf {
    workspace_root().join(format!("target-plugins/wasm32-wasip2/{}/{name}.wasm", profile()))
}

pub fn workspace_root() -> PathBuf {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR"));
    bench.ancestors().nth(2).unwrap_or(bench).to_path_buf()
}

/// Reads a component. An error contains the command that builds it.
pub fn component(name: &str) -> anyhow::Result<Vec<u8>> {
    let path = component_path(name);
    std::fs::read(&path).with_context(|| {
        let command = match (profile(), name) {
            ("plugin", _) => "make plugins guests",
            // `make bench` alone builds the peer for `wasmtime serve`.
            (_, "greeter") => "make bench",
            _ => "make plugins-release",
        };
        format!("{} is missing: run `{command}`", path.display())
    })
}

/// Returns the manifest that `chameleon` is built with, for a test to change.
pub fn chameleon_manifest() -> Value {
    serde_json::from_str(include_str!("../../guests/chameleon/manifest.json")).unwrap_or(Value::Null)
}

/// Returns `chameleon` with this version: it answers `{"version":"…"}` at `GET /v1/version`.
pub fn chameleon_version(version: &str) -> anyhow::Result<Vec<u8>> {
    let mut manifest = chameleon_manifest();
    if let Some(members) = manifest.as_object_mut() {
        members.insert("version".to_owned(), version.into());
    }
    chameleon(&manifest.to_string())
}

const MARKER: &[u8] = b"TENON-GUEST-MANIFEST:";
/// Size of marker and manifest together, as in the guest.
const REGION_BYTES: usize = 32 * 1024;

/// Returns `chameleon` with this string as its manifest. A string that begins with "!" makes `describe` misbehave:
/// "!panic", "!trap", "!loop", "!allocate", "!recurse", "!huge", "!import".
pub fn chameleon(manifest: &str) -> anyhow::Result<Vec<u8>> {
    let mut bytes = component("chameleon")?;
    let at = bytes.windows(MARKER.len()).position(|window| window == MARKER).context("chameleon contains no marker")?;
    let room = REGION_BYTES - MARKER.len();
    ensure!(manifest.len() <= room, "a manifest of {} bytes; chameleon has room for {room}", manifest.len());
    let from = at + MARKER.len();
    let region = bytes.get_mut(from..from + room).context("chameleon ends within its region")?;
    region.fill(b' ');
    region.iter_mut().zip(manifest.bytes()).for_each(|(target, byte)| *target = byte);
    Ok(bytes)
}

/// Returns an equivalent component with other bytes and therefore another hash: a custom section is appended.
pub fn stamped(component: &[u8], note: &str) -> Vec<u8> {
    let mut section = vec![5];
    section.extend_from_slice(b"stamp");
    section.extend_from_slice(note.as_bytes());
    let mut bytes = component.to_vec();
    push_section(&mut bytes, 0, &section);
    bytes
}

fn push_section(bytes: &mut Vec<u8>, id: u8, content: &[u8]) {
    bytes.push(id);
    push_number(bytes, content.len());
    bytes.extend_from_slice(content);
}

/// Encodes a length as WebAssembly does: seven bits in a byte, the lowest first.
fn push_number(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Returns the component as if it had been built for contract 0.2: every name of the contract has that version.
pub fn for_contract_0_2(component: &[u8]) -> Vec<u8> {
    renamed(component, b"@0.1.0", b"@0.2.0")
}

/// Returns the component with a renamed records interface: it imports an interface that no host provides.
pub fn importing_unknown(component: &[u8]) -> Vec<u8> {
    renamed(component, b"tenon:plugin/records@", b"tenon:plugin/recalls@")
}

/// Replaces all occurrences. Both names have the same length, so nothing else moves.
fn renamed<const N: usize>(component: &[u8], from: &[u8; N], to: &[u8; N]) -> Vec<u8> {
    let mut bytes = component.to_vec();
    let mut at = 0;
    while let Some(window) = bytes.get_mut(at..at + N) {
        if *window == *from {
            window.copy_from_slice(to);
        }
        at += 1;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamp_of_any_length_is_one_section() {
        for length in [0_usize, 3, 200, 20_000] {
            let bytes = stamped(b"\0asm", &"n".repeat(length));
            let sized: usize = if length + 6 < 0x80 {
                1
            } else if length + 6 < 0x4000 {
                2
            } else {
                3
            };
            assert_eq!(bytes.len(), 4 + 1 + sized + 6 + length);
        }
    }

    #[test]
    fn renaming_keeps_all_offsets() {
        let before = b"x tenon:plugin/records@0.1.0 y tenon:plugin/handler@0.1.0 z";
        let after = for_contract_0_2(before);
        assert_eq!(after, b"x tenon:plugin/records@0.2.0 y tenon:plugin/handler@0.2.0 z");
    }
}
