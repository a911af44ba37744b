//! The files of certificates that plugins.toml names: the listener's own, and roots that calls trust besides.
//!
//! Invariant: what is named is read, unless nothing is going to be started; each file that will not do is a mistake of
//! its own.

use std::path::PathBuf;

use super::{
    Environment,
    file::Source,
    keys::{self, Word},
    section::{Placed, Section},
};
use crate::{
    outbound::Roots,
    secrets::{
        certificate::{Certificate, CertificateFiles, read_chain, read_key},
        private_file::is_open_to_all,
    },
};

/// `None`: plain HTTP.
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
        (Some(given), None) => complain_of_half(section, &given, (&keys::TLS_CERTIFICATE, &keys::TLS_KEY)),
        (None, Some(given)) => complain_of_half(section, &given, (&keys::TLS_KEY, &keys::TLS_CERTIFICATE)),
    }
}

/// The files of `[outbound] roots`.
pub fn read_roots(section: &mut Section<'_>, source: &Source<'_>) -> Vec<PathBuf> {
    let path = section.path(keys::ROOTS.name);
    let mut files = Vec::new();
    for file in section.take_texts(&keys::ROOTS) {
        let place = source.folder().join(file.value);
        if source.purpose.requires_files()
            && let Err(error) = Roots::built_in().add_file(&place)
        {
            section.mistakes().at(&file.span, format!("`{path}`: {error}."));
        }
        files.push(place);
    }
    files
}

/// An empty text is the same as none.
fn take_file(section: &mut Section<'_>, key: &Word, source: &Source<'_>) -> Option<Placed<PathBuf>> {
    let text = section.take_text(key).filter(|text| !text.value.is_empty())?;
    Some(Placed { value: source.folder().join(text.value), span: text.span })
}

fn complain_of_half(
    section: &Section<'_>,
    given: &Placed<PathBuf>,
    (alone, missing): (&Word, &Word),
) -> Option<CertificateFiles> {
    let (alone, missing) = (section.path(alone.name), section.path(missing.name));
    section.mistakes().at(&given.span, format!("`{alone}` says nothing without `{missing}`: give both, or neither."));
    None
}

/// Checks the mode of the key: every user who can read it can pose as this host.
fn check_key_mode(section: &Section<'_>, key: Option<&Placed<PathBuf>>, environment: Environment) {
    let Some(file) = key.filter(|file| is_open_to_all(&file.value)) else { return };
    let (path, place) = (section.path(keys::TLS_KEY.name), file.value.display());
    let text = format!("`{path}`: every user of this machine can read {place}; `chmod o-r` it.");
    match environment {
        Environment::Production => section.mistakes().at(&file.span, text),
        Environment::Development => section.mistakes().warn_at(&file.span, text),
    }
}

fn check_pair(section: &Section<'_>, certificate: Option<&Placed<PathBuf>>, key: Option<&Placed<PathBuf>>) {
    let complain = |key: &Word, file: &Placed<PathBuf>, error| {
        section.mistakes().at(&file.span, format!("`{}`: {error}.", section.path(key.name)));
    };
    let chain = certificate
        .and_then(|file| read_chain(&file.value).map_err(|error| complain(&keys::TLS_CERTIFICATE, file, error)).ok());
    let Some(file) = key else { return };
    let key = read_key(&file.value).map_err(|error| complain(&keys::TLS_KEY, file, error)).ok();
    if let (Some(chain), Some(key)) = (chain, key)
        && let Err(error) = (Certificate { chain, key }).certified_key()
    {
        complain(&keys::TLS_KEY, file, error);
    }
}
