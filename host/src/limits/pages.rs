//! Limits of the pages that render OpenAPI documents. A document comes from a plugin, and any client may request the
//! page.

/// Bytes of HTML for one interface. The document itself contains the rest.
pub const DOCS_BYTES_MAX: usize = 4 << 20;
/// Schemas that are examined for one interface.
pub const DOCS_STEPS_MAX: usize = 100_000;
/// Fields in one table.
pub const DOCS_FIELDS_MAX: usize = 200;
/// Nesting levels of the fields of one table.
pub const DOCS_DEPTH_MAX: usize = 4;
/// Alternatives (`oneOf`, `enum`, `security`) that are listed. "…" stands for the rest.
pub const DOCS_ALTERNATIVES_MAX: usize = 16;
/// Chained references that are followed.
pub const DOCS_REFERENCES_MAX: usize = 8;
/// Characters of one description, and of a name.
pub const DOCS_TEXT_CHARS_MAX: usize = 2_000;
pub const DOCS_NAME_CHARS_MAX: usize = 200;
/// Bytes of an example in a command.
pub const DOCS_EXAMPLE_BYTES_MAX: usize = 16 << 10;
