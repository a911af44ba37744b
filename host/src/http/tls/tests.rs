//! The two files: valid and invalid content, and the certificate that is served while they change. Time is paused here
//! and advances from one poll to the next.

use std::fs;

use tempfile::TempDir;

use super::*;

/// A certificate for localhost and its key, as PEM.
pub(in crate::http) struct Pair {
    pub certificate: String,
    pub key: String,
}

impl Pair {
    pub fn new() -> Pair {
        let generated = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        Pair { certificate: generated.cert.pem(), key: generated.signing_key.serialize_pem() }
    }

    pub fn write(&self, folder: &TempDir) -> CertificateFiles {
        let files = CertificateFiles { certificate: folder.path().join("tls.crt"), key: folder.path().join("tls.key") };
        fs::write(&files.certificate, &self.certificate).unwrap();
        fs::write(&files.key, &self.key).unwrap();
        files
    }

    fn is_served_by(&self, tls: &Tls) -> bool {
        let folder = tempfile::tempdir().unwrap();
        tls.current.0.load().cert == self.write(&folder).read().unwrap().chain
    }
}

/// Runs the worker while the test performs `steps`.
async fn with_worker(tls: &Tls, steps: impl AsyncFnOnce()) {
    tokio::select! {
        () = tls.reload_on_change(std::future::pending()) => {}
        () = steps() => {}
    }
}

/// Waits until the worker has read a change twice, and one more interval.
async fn three_polls() {
    tokio::time::sleep(Duration::from_millis(3 * CERTIFICATE_POLL_MS + CERTIFICATE_POLL_MS / 2)).await;
}

#[tokio::test(start_paused = true)]
async fn new_certificate_is_served_once_both_files_are_written() {
    let (folder, old, new) = (tempfile::tempdir().unwrap(), Pair::new(), Pair::new());
    let tls = Tls::load(&old.write(&folder)).unwrap();
    with_worker(&tls, async || {
        fs::write(&tls.files.certificate, &new.certificate).unwrap();
        three_polls().await;
        assert!(old.is_served_by(&tls), "its key is still missing");
        fs::write(&tls.files.key, &new.key).unwrap();
        three_polls().await;
        assert!(new.is_served_by(&tls));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn previous_certificate_is_served_while_the_files_are_invalid() {
    let (folder, old) = (tempfile::tempdir().unwrap(), Pair::new());
    let tls = Tls::load(&old.write(&folder)).unwrap();
    with_worker(&tls, async || {
        fs::write(&tls.files.certificate, "no PEM").unwrap();
        three_polls().await;
        assert!(old.is_served_by(&tls), "after something else was written");
        fs::remove_file(&tls.files.key).unwrap();
        three_polls().await;
        assert!(old.is_served_by(&tls), "after a file was removed");
        let new = Pair::new();
        new.write(&folder);
        three_polls().await;
        assert!(new.is_served_by(&tls), "a valid one is used again");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn symlinked_files_are_reloaded_when_the_link_changes() {
    let (folder, old, new) = (tempfile::tempdir().unwrap(), Pair::new(), Pair::new());
    let (first, second) = (tempfile::tempdir_in(&folder).unwrap(), tempfile::tempdir_in(&folder).unwrap());
    old.write(&first);
    new.write(&second);
    let link = folder.path().join("current");
    std::os::unix::fs::symlink(first.path(), &link).unwrap();
    let files = CertificateFiles { certificate: link.join("tls.crt"), key: link.join("tls.key") };
    let tls = Tls::load(&files).unwrap();
    with_worker(&tls, async || {
        let aside = folder.path().join("aside");
        std::os::unix::fs::symlink(second.path(), &aside).unwrap();
        fs::rename(aside, &link).unwrap();
        three_polls().await;
        assert!(new.is_served_by(&tls));
    })
    .await;
}

#[test]
fn load_fails_without_a_valid_certificate_and_names_the_reason() {
    let (one, other) = (Pair::new(), Pair::new());
    let load_error = |certificate: &str, key: &str| {
        let folder = tempfile::tempdir().unwrap();
        let files = Pair { certificate: certificate.to_owned(), key: key.to_owned() }.write(&folder);
        Tls::load(&files).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(load_error(&one.certificate, &one.key), "");
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (certificate, key, message) in [
        (&*one.certificate, &*other.key, "does not belong to the first certificate"),
        ("", &one.key, "tls.crt holds no certificate in PEM"),
        (&one.key, &one.key, "tls.crt holds no certificate in PEM"),
        (&one.certificate, &one.certificate, "tls.key holds no private key in PEM"),
        (broken, &one.key, "cannot be used"),
    ] {
        let error = load_error(certificate, key);
        assert!(error.contains(message) && error.contains("http.tls-key"), "{error}");
    }
}
