use std::os::unix::fs::PermissionsExt;

use parking_lot::Mutex;

use super::*;
use crate::{limits::PRIVATE_FILE_BYTES_MAX, regular_file};

const OLD: &str = "0000000000000000000000000000000000000000000000000000000000000001";
const NEW: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAI=";

fn name(tenant: &str) -> SecretName {
    SecretName { tenant: tenant.into(), purpose: "webhook".into(), name: "wh_1".into() }
}

#[test]
fn sealed_secret_opens_only_under_its_name() {
    let keys = MasterKeys::parse(OLD).unwrap();
    let sealed = keys.seal(&name("acme/test"), b"swordfish").unwrap();
    assert_eq!(keys.open(&name("acme/test"), &sealed).unwrap().as_slice(), b"swordfish");
    assert!(matches!(keys.open(&name("acme/live"), &sealed), Err(SecretError::CannotOpen)));
    let other = SecretName { purpose: "seed".into(), ..name("acme/test") };
    assert!(matches!(keys.open(&other, &sealed), Err(SecretError::CannotOpen)));
}

#[test]
fn changed_or_truncated_bytes_do_not_open() {
    let keys = MasterKeys::parse(OLD).unwrap();
    let sealed = keys.seal(&name("acme/test"), b"swordfish").unwrap();
    for index in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[index] ^= 1;
        assert!(keys.open(&name("acme/test"), &changed).is_err(), "byte {index}");
        assert!(keys.open(&name("acme/test"), &sealed[..index]).is_err(), "cut at {index}");
    }
}

#[test]
fn older_key_opens_until_it_is_removed() {
    let sealed = MasterKeys::parse(OLD).unwrap().seal(&name("acme/test"), b"swordfish").unwrap();
    let both = MasterKeys::parse(&format!("{NEW},{OLD}")).unwrap();
    assert_eq!(both.open(&name("acme/test"), &sealed).unwrap().as_slice(), b"swordfish");
    let only_new = MasterKeys::parse(NEW).unwrap();
    let error = only_new.open(&name("acme/test"), &sealed).unwrap_err().to_string();
    assert!(error.contains(&MasterKeys::parse(OLD).unwrap().current_id()), "{error}");
}

#[derive(Default)]
struct Rows(Mutex<Vec<SealedRow>>);

impl SealedRows for Rows {
    async fn list(&self) -> Result<Vec<SealedRow>, SecretError> {
        Ok(self.0.lock().clone())
    }

    async fn replace(&self, row: &SealedRow, sealed: &[u8]) -> Result<(), SecretError> {
        self.0
            .lock()
            .iter_mut()
            .filter(|known| known.name == row.name)
            .for_each(|known| known.sealed = sealed.to_vec());
        Ok(())
    }
}

#[tokio::test]
async fn older_key_is_not_needed_after_a_rotation() {
    let old = MasterKeys::parse(OLD).unwrap();
    let foreign = MasterKeys::parse(&"ff".repeat(32)).unwrap();
    let rows = Rows::default();
    for (keys, tenant) in [(&old, "acme/test"), (&old, "acme/live"), (&foreign, "lost/live")] {
        rows.0
            .lock()
            .push(SealedRow { name: name(tenant), sealed: keys.seal(&name(tenant), tenant.as_bytes()).unwrap() });
    }
    let both = MasterKeys::parse(&format!("{NEW}\n{OLD}\n")).unwrap();
    let first = rotate(&both, &rows).await.unwrap();
    assert_eq!((first.sealed_again, first.current), (2, 0));
    assert_eq!(first.left, [name("lost/live").row_key()]);
    assert_eq!(rotate(&both, &rows).await.unwrap().current, 2);
    let new = MasterKeys::parse(NEW).unwrap();
    assert_eq!(new.open(&name("acme/live"), &rows.0.lock()[1].sealed).unwrap().as_slice(), b"acme/live");
}

#[test]
fn row_keys_are_parsed_back() {
    let odd = SecretName { tenant: "a\",\"b/test".into(), ..name("x") };
    assert_eq!(SecretName::from_row_key(&odd.row_key()), Some(odd));
    assert_eq!(SecretName::from_row_key("nonsense"), None);
}

#[test]
fn invalid_keys_are_rejected_without_being_repeated() {
    for (text, expected) in
        [("", "holds 0"), ("swordfish", "key 1 is not one"), (&format!("{OLD},ab"), "key 2 is not one")]
    {
        let error = MasterKeys::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("swordfish"), "{error}");
    }
}

#[test]
fn missing_key_is_created_in_development_and_fails_in_production() {
    let folder = tempfile::tempdir().unwrap();
    let missing = MasterKeys::load(None, folder.path(), MissingKey::Fail);
    assert!(matches!(missing, Err(SecretError::NoKey(_))));
    let created = MasterKeys::load(None, folder.path(), MissingKey::Create).unwrap();
    let read = MasterKeys::load(None, folder.path(), MissingKey::Fail).unwrap();
    assert_eq!(created.current_id(), read.current_id());
    let mode = std::fs::metadata(folder.path().join(MASTER_KEY_FILE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn key_file_that_others_can_read_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(MASTER_KEY_FILE);
    private_file::create(&path, OLD).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let error = MasterKeys::load(None, folder.path(), MissingKey::Create).unwrap_err();
    assert!(error.to_string().contains("chmod 600"), "{error}");
}

#[test]
fn private_file_that_is_too_long_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.token");
    let longest = "x".repeat(usize::try_from(PRIVATE_FILE_BYTES_MAX).unwrap());
    private_file::create(&path, &longest).unwrap();
    assert_eq!(private_file::read(&path).unwrap().unwrap().len(), longest.len());
    private_file::create(&path, &(longest + "x")).unwrap();
    let error = private_file::read(&path).unwrap_err().to_string();
    assert!(error.ends_with("it has more than 65536 bytes"), "{error}");
}

#[test]
fn file_without_keys_is_named_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(MASTER_KEY_FILE);
    private_file::create(&path, "swordfish").unwrap();
    let error = MasterKeys::load(None, folder.path(), MissingKey::Fail).unwrap_err().to_string();
    assert_eq!(error.matches(&path.display().to_string()).count(), 1, "{error}");
    assert!(error.contains("key 1 is not one") && !error.contains("swordfish"), "{error}");
}

#[test]
fn fifo_instead_of_a_key_file_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(MASTER_KEY_FILE);
    regular_file::make_fifo(&path);
    let error = MasterKeys::load(None, folder.path(), MissingKey::Create).unwrap_err();
    assert!(error.to_string().ends_with("it is a FIFO, not a regular file"), "{error}");
}

#[test]
fn idempotency_record_opens_only_for_its_key_and_owner() {
    let context = AnswerContext { plugin: "notes", tenant: "acme/test", owner: "key_1" };
    let sealed = seal_answer("k-1", context, b"201").unwrap();
    assert_eq!(open_answer("k-1", context, &sealed).unwrap().as_slice(), b"201");
    assert!(open_answer("k-2", context, &sealed).is_err());
    assert!(open_answer("k-1", AnswerContext { owner: "key_2", ..context }, &sealed).is_err());
    assert!(open_answer("k-1", AnswerContext { tenant: "acme/live", ..context }, &sealed).is_err());
    assert!(open_answer("k-1", context, &[]).is_err());
}

#[test]
fn debug_output_has_no_secret() {
    assert_eq!(format!("{:?}", SecretText::new("swordfish".into())), "[secret]");
    assert!(!format!("{:?}", MasterKeys::parse(OLD).unwrap()).contains(OLD));
}
