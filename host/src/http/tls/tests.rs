//! The two files: what is taken, what is refused, and what callers are shown while they change. Time stands still here
//! and jumps from one look to the next.

use std::fs;

use tempfile::TempDir;

use super::*;

/// A certificate for localhost, and the key that belongs to it, as PEM.
pub(in crate::http) struct Pair {
    pub certificate: String,
    pub key: String,
}

impl Pair {
    pub fn new() -> Pair {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        Pair { certificate: made.cert.pem(), key: made.signing_key.serialize_pem() }
    }

    pub fn write(&self, folder: &TempDir) -> CertificateFiles {
        let files = CertificateFiles { certificate: folder.path().join("tls.crt"), key: folder.path().join("tls.key") };
        fs::write(&files.certificate, &self.certificate).unwrap();
        fs::write(&files.key, &self.key).unwrap();
        files
    }

    fn is_shown_by(&self, tls: &Tls) -> bool {
        let folder = tempfile::tempdir().unwrap();
        tls.shown.0.load().cert == self.write(&folder).read().unwrap().chain
    }
}

/// Lets the worker look at the files while the test goes through `steps`.
async fn beside(tls: &Tls, steps: impl AsyncFnOnce()) {
    tokio::select! {
        () = tls.keep_fresh(std::future::pending()) => {}
        () = steps() => {}
    }
}

/// Until changes have been looked at twice, and once more.
async fn three_looks() {
    tokio::time::sleep(Duration::from_millis(3 * CERTIFICATE_LOOK_MS + CERTIFICATE_LOOK_MS / 2)).await;
}

#[tokio::test(start_paused = true)]
async fn a_new_certificate_is_shown_once_both_files_are_there() {
    let (folder, old, new) = (tempfile::tempdir().unwrap(), Pair::new(), Pair::new());
    let tls = Tls::load(&old.write(&folder)).unwrap();
    beside(&tls, async || {
        fs::write(&tls.files.certificate, &new.certificate).unwrap();
        three_looks().await;
        assert!(old.is_shown_by(&tls), "its key is still missing");
        fs::write(&tls.files.key, &new.key).unwrap();
        three_looks().await;
        assert!(new.is_shown_by(&tls));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn whatever_becomes_of_the_files_the_certificate_before_is_shown() {
    let (folder, old) = (tempfile::tempdir().unwrap(), Pair::new());
    let tls = Tls::load(&old.write(&folder)).unwrap();
    beside(&tls, async || {
        fs::write(&tls.files.certificate, "no PEM").unwrap();
        three_looks().await;
        assert!(old.is_shown_by(&tls), "after something else was written");
        fs::remove_file(&tls.files.key).unwrap();
        three_looks().await;
        assert!(old.is_shown_by(&tls), "after a file was removed");
        let new = Pair::new();
        new.write(&folder);
        three_looks().await;
        assert!(new.is_shown_by(&tls), "a good one is taken again");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn files_behind_links_are_followed_to_where_the_links_lead_now() {
    let (folder, old, new) = (tempfile::tempdir().unwrap(), Pair::new(), Pair::new());
    let (first, second) = (tempfile::tempdir_in(&folder).unwrap(), tempfile::tempdir_in(&folder).unwrap());
    old.write(&first);
    new.write(&second);
    let link = folder.path().join("current");
    std::os::unix::fs::symlink(first.path(), &link).unwrap();
    let files = CertificateFiles { certificate: link.join("tls.crt"), key: link.join("tls.key") };
    let tls = Tls::load(&files).unwrap();
    beside(&tls, async || {
        let aside = folder.path().join("aside");
        std::os::unix::fs::symlink(second.path(), &aside).unwrap();
        fs::rename(aside, &link).unwrap();
        three_looks().await;
        assert!(new.is_shown_by(&tls));
    })
    .await;
}

#[test]
fn a_start_without_a_sound_certificate_is_refused_and_it_is_said_why() {
    let (one, other) = (Pair::new(), Pair::new());
    let refusal = |certificate: &str, key: &str| {
        let folder = tempfile::tempdir().unwrap();
        let files = Pair { certificate: certificate.to_owned(), key: key.to_owned() }.write(&folder);
        Tls::load(&files).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(refusal(&one.certificate, &one.key), "");
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (certificate, key, words) in [
        (&*one.certificate, &*other.key, "does not belong to the first certificate"),
        ("", &one.key, "tls.crt holds no certificate in PEM"),
        (&one.key, &one.key, "tls.crt holds no certificate in PEM"),
        (&one.certificate, &one.certificate, "tls.key holds no private key in PEM"),
        (broken, &one.key, "cannot be used"),
    ] {
        let error = refusal(certificate, key);
        assert!(error.contains(words) && error.contains("http.tls-key"), "{error}");
    }
}
