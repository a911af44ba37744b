//! Starts that cannot be: the program ends, says why, and what to do.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;
use tenon_bench::program::{free_address, sibling_binary};

use crate::support::{TestCertificate, eventually};

/// The program that cargo built beside the tests.
pub fn tenon() -> PathBuf {
    sibling_binary("tenon").expect("`cargo build -p tenon` comes first, as in `make test`")
}

/// Its exit code and everything that it printed.
pub async fn end_of(mut command: Command) -> (i32, String) {
    for variable in ["TENON_CONFIG", "TENON_DATA_DIR", "TENON_ADMIN", "TENON_MASTER_KEY", "TENON_DATABASE"] {
        if !command.get_envs().any(|(name, _)| name == variable) {
            command.env_remove(variable);
        }
    }
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the end of the program", async || child.try_wait().unwrap()).await;
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
}

struct Place {
    folder: TempDir,
}

impl Place {
    fn new(config: &str) -> Place {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("plugins.toml"), config).unwrap();
        Place { folder }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// `tenon serve` on free ports, unless the flags say otherwise; what it says before it ends.
    async fn serve(&self, flags: &[&str]) -> String {
        let mut command = Command::new(tenon());
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
        let (code, text) = end_of(command).await;
        assert_eq!(code, 1, "{text}");
        text
    }
}

#[tokio::test]
async fn a_taken_port_is_named_with_the_flag_that_changes_it() {
    let place = Place::new("");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for flag in ["--listen", "--admin"] {
        let text = place.serve(&[flag, &address]).await;
        assert!(text.contains(&address) && text.contains("taken") && text.contains(flag), "{text}");
    }
}

#[tokio::test]
async fn postgresql_is_refused_with_a_sentence() {
    let text = Place::new("").serve(&["--database", "postgres://localhost/tenon"]).await;
    assert!(text.contains("--database names PostgreSQL, which is not built into this version; use sqlite:PATH."));
}

#[tokio::test]
async fn a_second_process_on_the_same_file_is_refused() {
    let place = Place::new("");
    let first = crate::support::TestHost::builder().start().await;
    let database = format!("sqlite:{}", first.database().display());
    let text = place.serve(&["--database", &database]).await;
    assert!(text.contains("is in use by another Tenon") && text.contains("--database"), "{text}");
    first.stop().await;
}

#[tokio::test]
async fn a_data_folder_that_cannot_be_is_told_once() {
    let place = Place::new("");
    let file = place.folder.path().join("plugins.toml/data").display().to_string();
    let text = place.serve(&["--data-dir", &file]).await;
    assert_eq!(text.matches("Not a directory").count(), 1, "{text}");
}

#[tokio::test]
async fn a_token_that_others_can_read_is_refused_at_the_start() {
    let place = Place::new("");
    fs::create_dir_all(place.data()).unwrap();
    fs::write(place.data().join("admin.token"), "ta_0123456789abcdef0123456789abcdef").unwrap();
    fs::set_permissions(place.data().join("admin.token"), fs::Permissions::from_mode(0o644)).unwrap();
    let text = place.serve(&[]).await;
    assert!(text.contains("admin.token can be read by others") && !text.contains("is ready"), "{text}");
}

#[tokio::test]
async fn master_key_that_others_can_read_is_refused_and_its_path_is_printed_once() {
    let place = Place::new("");
    let key = place.data().join("master.key");
    fs::create_dir_all(place.data()).unwrap();
    fs::write(&key, "ab".repeat(32)).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let text = place.serve(&[]).await;
    assert!(text.contains("master.key can be read by others"), "{text}");
    assert_eq!(text.matches("master.key").count(), 1, "{text}");
}

#[tokio::test]
async fn production_without_a_master_key_is_refused() {
    let text = Place::new("environment = \"production\"").serve(&[]).await;
    assert!(text.contains("production needs a master key") && text.contains("tenon secrets new-key"), "{text}");
}

#[tokio::test]
async fn a_key_of_another_certificate_is_refused_before_anything_is_made() {
    let place = Place::new("[http]\ntls-certificate = \"tls.crt\"\ntls-key = \"other/tls.key\"\n");
    fs::create_dir(place.folder.path().join("other")).unwrap();
    TestCertificate::new().write(place.folder.path());
    TestCertificate::new().write(&place.folder.path().join("other"));
    let text = place.serve(&[]).await;
    assert!(text.contains("line 3: `http.tls-key`: the private key does not belong"), "{text}");
    assert!(!place.data().exists(), "nothing was made");
}

#[tokio::test]
async fn mistakes_of_the_configuration_are_told_all_at_once_with_their_lines() {
    let config = "environment = \"prod\"\nlisten = \"nowhere\"\ncolour = 1\n[http]\nbody-timeout-ms = 1\n\
                  [plugins.fleet]\ngrants = [\"recrods\"]\n[plugins.Fleet]\ncomponent = \"a.wasm\"\n";
    let place = Place::new(config);
    let text = place.serve(&[]).await;
    let mistakes = [
        ("1", "environment"),
        ("2", "`listen`"),
        ("3", "colour"),
        ("5", "body-timeout-ms"),
        ("6", "`plugins.fleet.component` is missing"),
        ("7", "records"),
        ("8", "`Fleet` cannot be the name of a plugin"),
    ];
    for (line, named) in mistakes {
        let found = text.lines().any(|said| said.contains(named) && said.contains(&format!("line {line}:")));
        assert!(found, "line {line}, {named}: {text}");
    }
    assert!(!Path::new(&place.data()).exists(), "nothing was made");
}
