//! Starts that fail: the program exits with the reason and the remedy.

use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt, path::PathBuf, process::Command};

use tempfile::TempDir;
use tenon_bench::program::free_address;

use super::command_line::{run_to_end, tenon_binary};
use crate::support::TestCertificate;

/// A folder with a plugins.toml and without data.
struct StartFolder {
    folder: TempDir,
}

impl StartFolder {
    fn new(config: &str) -> StartFolder {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("plugins.toml"), config).unwrap();
        StartFolder { folder }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Runs `tenon serve`, on free ports unless the flags set others. Returns the output of the failed start.
    async fn serve(&self, flags: &[&str]) -> String {
        let mut command = Command::new(tenon_binary());
        command.args(["serve", "--config"]).arg(self.folder.path().join("plugins.toml"));
        for (flag, value) in [
            ("--data-dir", self.data().display().to_string()),
            ("--listen", free_address().unwrap().to_string()),
            ("--admin", free_address().unwrap().to_string()),
        ] {
            if !flags.contains(&flag) {
                command.args([flag, &value]);
            }
        }
        command.args(flags);
        let (code, text) = run_to_end(command).await;
        assert_eq!(code, 1, "{text}");
        text
    }
}

#[tokio::test]
async fn used_port_is_reported_with_its_flag() {
    let start = StartFolder::new("");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for flag in ["--listen", "--admin"] {
        let text = start.serve(&[flag, &address]).await;
        assert!(
            text.contains(&address) && text.contains("is used by another program") && text.contains(flag),
            "{text}"
        );
    }
}

#[tokio::test]
async fn postgresql_is_rejected() {
    let text = StartFolder::new("").serve(&["--database", "postgres://localhost/tenon"]).await;
    assert!(text.contains("--database names PostgreSQL, which is not built into this version; use sqlite:PATH."));
}

#[tokio::test]
async fn second_process_on_the_same_database_is_rejected() {
    let start = StartFolder::new("");
    let first = crate::support::TestHost::builder().start().await;
    let database = format!("sqlite:{}", first.database().display());
    let text = start.serve(&["--database", &database]).await;
    assert!(text.contains("is in use by another Tenon") && text.contains("--database"), "{text}");
    first.stop().await;
}

#[tokio::test]
async fn impossible_data_folder_is_reported_once() {
    let start = StartFolder::new("");
    let file = start.folder.path().join("plugins.toml/data").display().to_string();
    let text = start.serve(&["--data-dir", &file]).await;
    assert_eq!(text.matches("Not a directory").count(), 1, "{text}");
}

#[tokio::test]
async fn admin_token_readable_by_others_is_rejected() {
    let start = StartFolder::new("");
    fs::create_dir_all(start.data()).unwrap();
    fs::write(start.data().join("admin.token"), "ta_0123456789abcdef0123456789abcdef").unwrap();
    fs::set_permissions(start.data().join("admin.token"), fs::Permissions::from_mode(0o644)).unwrap();
    let text = start.serve(&[]).await;
    assert!(text.contains("admin.token can be read by others") && !text.contains("is ready"), "{text}");
}

#[tokio::test]
async fn master_key_readable_by_others_is_rejected_and_its_path_is_printed_once() {
    let start = StartFolder::new("");
    let key = start.data().join("master.key");
    fs::create_dir_all(start.data()).unwrap();
    fs::write(&key, "ab".repeat(32)).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let text = start.serve(&[]).await;
    assert!(text.contains("master.key can be read by others"), "{text}");
    assert_eq!(text.matches("master.key").count(), 1, "{text}");
}

#[tokio::test]
async fn production_without_a_master_key_is_rejected() {
    let text = StartFolder::new("environment = \"production\"").serve(&[]).await;
    assert!(text.contains("production requires a master key") && text.contains("tenon secrets new-key"), "{text}");
}

#[tokio::test]
async fn private_key_of_another_certificate_is_rejected_before_data_is_created() {
    let start = StartFolder::new("[http]\ntls-certificate = \"tls.crt\"\ntls-key = \"other/tls.key\"\n");
    fs::create_dir(start.folder.path().join("other")).unwrap();
    TestCertificate::new().write(start.folder.path());
    TestCertificate::new().write(&start.folder.path().join("other"));
    let text = start.serve(&[]).await;
    assert!(text.contains("line 3: `http.tls-key`: the private key does not belong"), "{text}");
    assert!(!start.data().exists(), "no data folder was created");
}

#[tokio::test]
async fn all_configuration_errors_are_reported_with_their_lines() {
    let config = "environment = \"prod\"\nlisten = \"nowhere\"\ncolour = 1\n[http]\nbody-timeout-ms = 1\n\
                  [plugins.fleet]\ngrants = [\"recrods\"]\n[plugins.Fleet]\ncomponent = \"a.wasm\"\n";
    let start = StartFolder::new(config);
    let text = start.serve(&[]).await;
    let errors = [
        ("1", "environment"),
        ("2", "`listen`"),
        ("3", "colour"),
        ("5", "body-timeout-ms"),
        ("6", "`plugins.fleet.component` is missing"),
        ("7", "records"),
        ("8", "`Fleet` is not a valid plugin name"),
    ];
    for (line, part) in errors {
        let found = text.lines().any(|message| message.contains(part) && message.contains(&format!("line {line}:")));
        assert!(found, "line {line}, {part}: {text}");
    }
    assert!(!start.data().exists(), "no data folder was created");
}
