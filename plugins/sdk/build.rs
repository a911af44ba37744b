//! Passes the name of the Cargo profile to the manifest, so that `tenon plugin list` shows how a component was built.

#![expect(clippy::disallowed_methods, reason = "Cargo passes its settings to a build script in variables")]

use std::{env, path::PathBuf};

fn main() {
    // No variable names the profile: `PROFILE` is "release" for every profile that inherits from it. The layout of the
    // path is PROFILE/build/PACKAGE/out.
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let profile = out.ancestors().nth(3).and_then(|folder| folder.file_name()).unwrap_or_default();
    println!("cargo::rustc-env=TENON_BUILD_PROFILE={}", profile.to_string_lossy());
    println!("cargo::rerun-if-changed=build.rs");
}
