//! JSON types of plugin profiles.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A profile of the generation that served when the profile began.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProfileReport {
    pub plugin: String,
    pub version: String,
    pub hash: String,
    pub generation: u64,
    /// Duration of the sampling.
    pub milliseconds: u64,
    pub samples: u64,
    pub ended: ProfileEnd,
    /// Reasons why it ended early or has no samples.
    pub notes: Vec<String>,
    /// Functions with the most self samples, in descending order.
    pub functions: Vec<FunctionStatus>,
    /// The document for the Firefox profiler.
    pub profile: Box<RawValue>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileEnd {
    /// The requested time passed.
    Time,
    /// Another generation was published.
    Swapped,
    /// The profile reached its maximum number of samples or stacks, or its maximum size of names.
    Full,
    /// The host is stopping.
    Stopping,
}

/// A function in a profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionStatus {
    pub name: String,
    /// Samples in which it is the innermost function.
    pub self_samples: u64,
    /// Self samples plus the samples in functions that it called.
    pub total_samples: u64,
}
