//! Certificate files that plugins.toml names: those of the listener, and additional roots for outgoing calls.
//!
//! Invariant: named files are read, unless the configuration is only inspected. Each invalid file is reported as a
//! mistake of its own.

use std::path::PathBuf;

use super::{
    Environment,
    file::Source,
    keys::{self, ConfigKey},
    section::{Located, Section},
};
use crate::{
    outbound::Roots,
    secrets::{
        certificate::{Certificate, CertificateFiles, read_chain, read_key},
        private_file::is_open_to_all,
    },
};

/// Reads the certificate files of the listener. Returns `None` for plain HTTP.
pub fn read_listener(
    section: &mut Section<'_>,
    source: &Source<'_>,
    environment: Environment,
) -> Option<CertificateFiles> {
    let certificate = take_file(section, &keys::TLS_CERTIFICATE, source);
    let key = take_file(section, &keys::TLS_KEY, source);
    if source.purpose.requires_files() {
        check_pair(section, certificate.as_ref(), key.as_ref());
        check_key_mode(section, key.as_ref(), environment);
    }
    match (certificate, key) {
        (Some(certificate), Some(key)) => Some(CertificateFiles { certificate: certificate.value, key: key.value }),
        (None, None) => None,
        (Some(given), None) => report_unpaired(section, &given, (&keys::TLS_CERTIFICATE, &keys::TLS_KEY)),
        (None, Some(given)) => report_unpaired(section, &given, (&keys::TLS_KEY, &keys::TLS_CERTIFICATE)),
    }
}

/// Reads the files of `[outbound] roots`.
pub fn read_roots(section: &mut Section<'_>, source: &Source<'_>) -> Vec<PathBuf> {
    let path = section.path(keys::ROOTS.name);
    let mut files = Vec::new();
    for file in section.take_strings(&keys::ROOTS) {
        let location = source.folder().join(file.value);
        if source.purpose.requires_files()
            && let Err(error) = Roots::built_in().add_file(&location)
        {
            section.mistakes().at(&file.span, format!("`{path}`: {error}."));
        }
        files.push(location);
    }
    files
}

/// Takes a path. An empty string counts as absent.
fn take_file(section: &mut Section<'_>, key: &ConfigKey, source: &Source<'_>) -> Option<Located<PathBuf>> {
    let text = section.take_string(key).filter(|text| !text.value.is_empty())?;
    Some(Located { value: source.folder().join(text.value), span: text.span })
}

fn report_unpaired(
    section: &Section<'_>,
    given: &Located<PathBuf>,
    (present, missing): (&ConfigKey, &ConfigKey),
) -> Option<CertificateFiles> {
    let (present, missing) = (section.path(present.name), section.path(missing.name));
    section.mistakes().at(&given.span, format!("`{present}` requires `{missing}`: set both or neither."));
    None
}

/// Checks the mode of the key file: every user who can read it can impersonate this host.
fn check_key_mode(section: &Section<'_>, key: Option<&Located<PathBuf>>, environment: Environment) {
    let Some(file) = key.filter(|file| is_open_to_all(&file.value)) else { return };
    let (path, location) = (section.path(keys::TLS_KEY.name), file.value.display());
    let text = format!("`{path}`: every user of this machine can read {location}; `chmod o-r` it.");
    match environment {
        Environment::Production => section.mistakes().at(&file.span, text),
        Environment::Development => section.mistakes().warn_at(&file.span, text),
    }
}

fn check_pair(section: &Section<'_>, certificate: Option<&Located<PathBuf>>, key: Option<&Located<PathBuf>>) {
    let report = |key: &ConfigKey, file: &Located<PathBuf>, error| {
        section.mistakes().at(&file.span, format!("`{}`: {error}.", section.path(key.name)));
    };
    let chain = certificate
        .and_then(|file| read_chain(&file.value).map_err(|error| report(&keys::TLS_CERTIFICATE, file, error)).ok());
    let Some(file) = key else { return };
    let key = read_key(&file.value).map_err(|error| report(&keys::TLS_KEY, file, error)).ok();
    if let (Some(chain), Some(key)) = (chain, key)
        && let Err(error) = (Certificate { chain, key }).certified_key()
    {
        report(&keys::TLS_KEY, file, error);
    }
}
