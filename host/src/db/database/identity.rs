//! Detects a lost or exchanged database: `FILE.id` contains the identity of the database and the version that it had
//! reached.
//!
//! The identity is a row that is written when the database is created. A database that was removed, replaced by another
//! one, or replaced by an older copy of itself no longer matches `FILE.id`. Invariant: a version is durable before it
//! is recorded.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use sqlx::SqliteConnection;

use super::options::DbOptions;
use crate::changes::change_set::Version;
use crate::db::files::{Survey, beside, location_flags, marker_path, restore_command};
use crate::db::records::unsigned;
use crate::db::{DbError, migrations};
use crate::regular_file;

const TEXT_BYTES_MAX: u64 = 256;

/// The content of `FILE.id`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Marker {
    pub id: String,
    pub version: Version,
}

impl Marker {
    /// Reads the identity and the version from the tables of the database.
    pub async fn of(connection: &mut SqliteConnection) -> Result<Marker, DbError> {
        let id: Option<String> = sqlx::query_scalar("SELECT id FROM identity").fetch_optional(&mut *connection).await?;
        let id = id.ok_or_else(|| DbError::Corrupt("the database has lost its identity".into()))?;
        Ok(Marker { id, version: version_of(connection).await? })
    }

    /// Like `of`, but returns `None` if the schema is so old that it has no identity.
    pub async fn find(connection: &mut SqliteConnection) -> Result<Option<Marker>, DbError> {
        if !migrations::has_identity(connection).await? {
            return Ok(None);
        }
        Marker::of(connection).await.map(Some)
    }

    /// Reads `FILE.id`. Returns `None` if it is absent or not valid, for example truncated by a power failure.
    fn read(database: &Path) -> Result<Option<Marker>, DbError> {
        let path = marker_path(database);
        let mut text = String::new();
        match regular_file::open(&path) {
            Ok(file) => file.take(TEXT_BYTES_MAX).read_to_string(&mut text).map_err(DbError::file(&path))?,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(DbError::file(&path)(error)),
        };
        Ok(Marker::parse(&text))
    }

    fn parse(text: &str) -> Option<Marker> {
        let mut parts = text.split_whitespace();
        let (id, version) = (parts.next()?, parts.next()?.parse().ok()?);
        (id.len() == 32).then(|| Marker { id: id.to_owned(), version })
    }

    /// Formats the content of `FILE.id`. Its length is constant, because `record` overwrites it in place.
    fn text(&self) -> String {
        format!("{} {:020}\n", self.id, self.version)
    }

    /// Replaces `FILE.id`. The new content is durable when this returns.
    pub fn write(&self, database: &Path) -> Result<(), DbError> {
        let path = marker_path(database);
        let aside = beside(&path, ".new");
        let write = || {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600);
            let mut file = regular_file::open_with(&mut options, &aside)?;
            file.write_all(self.text().as_bytes())?;
            file.sync_all()?;
            fs::rename(&aside, &path)
        };
        write().map_err(DbError::file(&path))
    }

    /// Overwrites the version in an existing `FILE.id`, without waiting for the disk.
    ///
    /// # Errors
    /// `Precondition` if the file names another database or a later version. Then it is not changed.
    pub fn record(&self, database: &Path) -> Result<(), DbError> {
        refuse_other(database, Some(self))?;
        let path = marker_path(database);
        let written = regular_file::open_with(OpenOptions::new().write(true), &path)
            .and_then(|file| file.write_all_at(self.text().as_bytes(), 0));
        match written {
            // `FILE.id` was removed while the host ran. The next start writes it.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            written => written.map_err(DbError::file(&path)),
        }
    }
}

/// Returns the version of the last batch.
pub(super) async fn version_of(connection: &mut SqliteConnection) -> Result<Version, DbError> {
    let sql = "SELECT last_version FROM batches ORDER BY seq DESC LIMIT 1";
    let version: Option<i64> = sqlx::query_scalar(sql).fetch_optional(connection).await?;
    unsigned(version.unwrap_or(0))
}

/// Fails if the file is absent or empty although a database existed, so that no empty database replaces it.
pub(super) fn refuse_lost(database: &Path, survey: &Survey, options: &DbOptions) -> Result<(), DbError> {
    let Survey::Nothing { exists, log_bytes } = survey else { return Ok(()) };
    refuse_beside_traces(database, if *exists { "is empty" } else { "is missing" }, *log_bytes, options)
}

/// Like `refuse_lost`, for a file without tables.
pub(super) fn refuse_blank(database: &Path, options: &DbOptions) -> Result<(), DbError> {
    refuse_beside_traces(database, "holds no table", 0, options)
}

fn refuse_beside_traces(database: &Path, state: &str, log_bytes: u64, options: &DbOptions) -> Result<(), DbError> {
    let marker = marker_path(database);
    let log = (log_bytes > 0).then(|| beside(database, "-wal"));
    let trace = Some(marker).filter(|marker| marker.exists()).or(log).or_else(|| options.trace.clone());
    let Some(trace) = trace else { return Ok(()) };
    // `tenon db create` replaces a file with content only with `--replace`.
    let replace = if fs::metadata(database).is_ok_and(|data| data.len() > 0) { " --replace" } else { "" };
    Err(DbError::Precondition(format!(
        "{} {state}, but {} shows that there was a database. No empty database was created. Put the file back, restore a \
         backup (`{}`), or start over with an empty database (`tenon db create {}{replace}`)",
        database.display(),
        trace.display(),
        restore_command(database),
        location_flags(database)
    )))
}

/// Fails if the database or its version does not match `FILE.id`. Writes `FILE.id` if it is absent or not valid.
pub(super) fn confirm(database: &Path, found: &Marker) -> Result<(), DbError> {
    match Marker::read(database)? {
        None => found.write(database),
        Some(_) => refuse_other(database, Some(found)),
    }
}

/// Like `confirm`, but never writes `FILE.id`. `None`: the database has no identity.
pub(super) fn refuse_other(database: &Path, found: Option<&Marker>) -> Result<(), DbError> {
    let Some(difference) = difference(database, found)? else { return Ok(()) };
    Err(DbError::Precondition(format!(
        "{} is not what {} describes: {difference}. Put the right file back, restore a backup (`{}`), or accept the database in its \
         current state (`tenon db accept {}`)",
        database.display(),
        marker_path(database).display(),
        restore_command(database),
        location_flags(database)
    )))
}

/// Describes how the database differs from `FILE.id`. Returns `None` if it does not differ, or if `FILE.id` is absent.
pub(super) fn difference(database: &Path, found: Option<&Marker>) -> Result<Option<String>, DbError> {
    let Some(recorded) = Marker::read(database)? else { return Ok(None) };
    let Some(found) = found else {
        return Ok(Some(format!(
            "it is from before an upgrade of Tenon and has no identity, but the recorded database ({}) had reached version {}",
            recorded.id, recorded.version
        )));
    };
    Ok(match recorded {
        recorded if recorded.id != found.id => {
            Some(format!("it is another database ({}) than the recorded one ({})", found.id, recorded.id))
        }
        recorded if recorded.version > found.version => Some(format!(
            "it is at version {}, but had reached {}: changes that were acknowledged are lost. Its log may be missing, \
             or an older copy replaced it",
            found.version, recorded.version
        )),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marker_is_read_back_after_write_and_record() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.db");
        let first = Marker { id: "ab".repeat(16), version: 7 };
        first.write(&file).unwrap();
        assert_eq!(Marker::read(&file).unwrap(), Some(first.clone()));
        let second = Marker { version: u64::MAX, ..first };
        second.record(&file).unwrap();
        assert_eq!(Marker::read(&file).unwrap(), Some(second));
    }

    #[test]
    fn another_database_or_an_older_version_is_not_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.db");
        let first = Marker { id: "ab".repeat(16), version: 7 };
        first.write(&file).unwrap();
        for other in [Marker { version: 6, ..first.clone() }, Marker { id: "cd".repeat(16), version: 8 }] {
            assert!(other.record(&file).is_err(), "{other:?}");
            assert_eq!(Marker::read(&file).unwrap(), Some(first.clone()));
        }
    }

    #[test]
    fn suggested_create_command_replaces_a_file_with_content() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tenon.db");
        Marker { id: "ab".repeat(16), version: 7 }.write(&file).unwrap();
        let command = |content: &str| {
            fs::write(&file, content).unwrap();
            let message = refuse_blank(&file, &DbOptions::default()).unwrap_err().to_string();
            message.split("`tenon db create ").nth(1).map(|rest| rest.contains("--replace`)"))
        };
        assert_eq!(command("content"), Some(true));
        assert_eq!(command(""), Some(false));
    }

    #[test]
    fn truncated_marker_is_ignored() {
        for text in ["", "abc", "abababababababababababababababab", "abababababababababababababababab x"] {
            assert_eq!(Marker::parse(text), None, "{text}");
        }
    }
}
