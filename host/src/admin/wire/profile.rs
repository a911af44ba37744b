//! Profiles of plugins, as operators and their programs read them.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A profile of the generation that served when it began.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProfileReport {
    pub plugin: String,
    pub version: String,
    pub hash: String,
    pub generation: u64,
    /// How long samples were taken.
    pub milliseconds: u64,
    pub samples: u64,
    pub ended: ProfileEnd,
    /// Why it ended early, or has no samples.
    pub notes: Vec<String>,
    /// Functions with the most samples of their own, the most first.
    pub functions: Vec<FunctionStatus>,
    /// The file that the Firefox profiler opens.
    pub profile: Box<RawValue>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileEnd {
    /// The requested time passed.
    Time,
    /// Another generation serves.
    Swapped,
    /// There was no room for more samples.
    Full,
    /// The host stops.
    Stopping,
}

/// A function in a profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionStatus {
    pub name: String,
    /// Samples in which it is the innermost function.
    pub self_samples: u64,
    /// These, and the samples in functions that it called.
    pub total_samples: u64,
}
