//! Numbers of the pages that show OpenAPI documents: what a document says is a plugin's, and its reader is anybody.

/// Bytes of HTML for one interface; what does not fit is in the document itself.
pub const DOCS_BYTES_MAX: usize = 4 << 20;
/// Schemas that are looked at for one interface.
pub const DOCS_STEPS_MAX: usize = 100_000;
/// Fields that one table shows.
pub const DOCS_FIELDS_MAX: usize = 200;
/// How deep the fields of one table lie within each other.
pub const DOCS_DEPTH_MAX: usize = 4;
/// Alternatives (`oneOf`, `enum`, `security`) that are named; the rest is "…".
pub const DOCS_ALTERNATIVES_MAX: usize = 16;
/// References that lead to another one.
pub const DOCS_REFERENCES_MAX: usize = 8;
/// Characters of one text, and of a name within it.
pub const DOCS_TEXT_CHARS_MAX: usize = 2_000;
pub const DOCS_NAME_CHARS_MAX: usize = 200;
/// Bytes of an example in a command.
pub const DOCS_EXAMPLE_BYTES_MAX: usize = 16 << 10;
