//! Passes the name of the Cargo profile to the manifest: `tenon plugin list` shows how a component was built.

#![expect(clippy::disallowed_methods, reason = "Cargo says in the environment where a build script writes")]

use std::{env, path::PathBuf};

fn main() {
    // Cargo names the profile nowhere else: `PROFILE` is "release" for every profile that inherits from it. The layout is
    // PROFILE/build/PACKAGE/out.
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let profile = out.ancestors().nth(3).and_then(|folder| folder.file_name()).unwrap_or_default();
    println!("cargo::rustc-env=TENON_BUILD_PROFILE={}", profile.to_string_lossy());
    println!("cargo::rerun-if-changed=build.rs");
}
