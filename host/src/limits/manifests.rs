//! Limits on the manifest of a component. The host keeps a manifest and its routes in memory for each generation, and
//! sends error bodies to callers without a key.

/// Bytes of the text that `describe` returns.
pub const MANIFEST_BYTES_MAX: usize = 4 << 20;
/// Bytes of the version of a plugin. Each line of the journal repeats it.
pub const VERSION_BYTES_MAX: usize = 128;
/// Values in the JSON of a manifest. A parsed value takes up to a hundred times the bytes of its text. The OpenAPI
/// document of `fleet`, the largest of the included plugins, has 16 000.
pub const MANIFEST_VALUES_MAX: usize = 100_000;
/// Routes of a plugin. Each publication compares the routes of all plugins.
pub const ROUTES_MAX: usize = 2_000;
/// Bytes, segments and parameters of the path of a route. The route table has an entry for each prefix of a path, and
/// its library panics at 26 parameters.
pub const PATH_BYTES_MAX: usize = 1_024;
pub const PATH_SEGMENTS_MAX: usize = 32;
pub const PATH_PARAMETERS_MAX: usize = 16;
/// Bytes of an error body, and of its headers together.
pub const ERROR_BODY_BYTES_MAX: usize = 16 << 10;
pub const ERROR_HEADER_BYTES_MAX: usize = 8 << 10;
/// Headers of an error response.
pub const ERROR_HEADERS_MAX: usize = 32;
/// Occurrences of the request id in an error body.
pub const ERROR_REQUEST_IDS_MAX: usize = 8;
