//! Tests of the folders of components: damage, concurrent writers, pruning.

use super::*;
use crate::plugin::guest::Guest;

struct Fixture {
    _folder: tempfile::TempDir,
    store: ComponentStore,
    engine: ServingEngine,
}

fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let store = ComponentStore::open(folder.path()).unwrap();
    Fixture { _folder: folder, store, engine: ServingEngine::start(1).unwrap() }
}

impl Fixture {
    fn compile(&self, bytes: &[u8]) -> CompiledFile {
        let paths = self.store.compile_paths(&self.engine, "notes", &hash(bytes)).unwrap();
        CompiledFile::of_test(paths, bytes)
    }
}

#[test]
fn folders_are_accessible_only_to_their_owner() {
    let fixture = fixture();
    let mode = fs::metadata(&fixture.store.compiled).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn stored_bytes_are_found_unless_they_are_damaged() {
    let fixture = fixture();
    let hash = hash(b"bytes");
    fixture.store.keep(&hash, b"bytes").unwrap();
    assert_eq!(fixture.store.find(&hash).unwrap(), b"bytes");
    fs::write(fixture.store.components.join(format!("{hash}.wasm")), b"bits").unwrap();
    assert_eq!(fixture.store.find(&hash), None);
}

#[test]
fn damaged_component_is_replaced_when_it_is_stored_again() {
    let fixture = fixture();
    let hash = hash(b"bytes");
    fixture.store.keep(&hash, b"bytes").unwrap();
    fs::write(fixture.store.path_of(&hash), b"byt").unwrap();
    assert!(!fixture.store.has(&hash));
    fixture.store.keep(&hash, b"bytes").unwrap();
    assert_eq!(fixture.store.find(&hash).unwrap(), b"bytes");
}

#[test]
fn damaged_code_never_reaches_the_engine() {
    let fixture = fixture();
    let bytes = Guest::notes("0.1.0").build();
    let hash = hash(&bytes);
    assert!(fixture.store.find_compiled(&fixture.engine, &hash).is_none());
    drop(fixture.store.keep_compiled(&fixture.engine, &hash, fixture.compile(&bytes)).unwrap());
    assert!(fixture.store.find_compiled(&fixture.engine, &hash).is_some());

    let path = fixture.store.compiled_path(&fixture.engine, &hash);
    let mut code = fs::read(&path).unwrap();
    let last = code.len() - 1;
    code[last] ^= 1;
    fs::write(&path, code).unwrap();
    assert!(fixture.store.find_compiled(&fixture.engine, &hash).is_none());
}

#[test]
fn fifos_and_devices_are_replaced_without_blocking() {
    let fixture = fixture();
    let bytes = Guest::notes("0.1.0").build();
    let hash = hash(&bytes);
    let code = fixture.store.compiled_path(&fixture.engine, &hash);
    let make_endless = |path: &Path| std::os::unix::fs::symlink("/dev/zero", path).unwrap();
    let obstacles: [&dyn Fn(&Path); 2] = [&regular_file::make_fifo, &make_endless];
    for (make_obstacle, path) in
        obstacles.iter().flat_map(|make_obstacle| [(make_obstacle, code.clone()), (make_obstacle, digest_path(&code))])
    {
        drop(fixture.store.keep_compiled(&fixture.engine, &hash, fixture.compile(&bytes)).unwrap());
        fs::remove_file(&path).unwrap();
        make_obstacle(path.as_path());
        assert!(fixture.store.find_compiled(&fixture.engine, &hash).is_none(), "{}", path.display());
    }
    drop(fixture.store.keep_compiled(&fixture.engine, &hash, fixture.compile(&bytes)).unwrap());
    assert!(fixture.store.find_compiled(&fixture.engine, &hash).is_some());
    for make_obstacle in obstacles {
        make_obstacle(fixture.store.path_of(&hash).as_path());
        assert_eq!(fixture.store.find(&hash), None);
        fixture.store.keep(&hash, &bytes).unwrap();
        assert_eq!(fixture.store.find(&hash).as_deref(), Some(&*bytes));
        fs::remove_file(fixture.store.path_of(&hash)).unwrap();
    }
}

#[test]
fn code_that_differs_from_its_report_is_not_stored() {
    let fixture = fixture();
    let mut code = fixture.compile(&Guest::notes("0.1.0").build());
    code.digest = hash(b"other").to_string();
    let error = fixture.store.keep_compiled(&fixture.engine, "abc", code).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
}

#[test]
fn deleted_folders_are_created_again() {
    let fixture = fixture();
    let bytes = Guest::notes("0.1.0").build();
    let hash = hash(&bytes);
    for folder in [&fixture.store.components, &fixture.store.compiled] {
        fs::remove_dir_all(folder).unwrap();
    }
    fixture.store.prune(&fixture.engine, &HashSet::new(), &HashSet::new()).unwrap();
    fixture.store.keep(&hash, &bytes).unwrap();
    drop(fixture.store.keep_compiled(&fixture.engine, &hash, fixture.compile(&bytes)).unwrap());
    assert!(fixture.store.find(&hash).is_some() && fixture.store.find_compiled(&fixture.engine, &hash).is_some());
    let mode = fs::metadata(&fixture.store.compiled).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn unfinished_files_stay_as_long_as_their_writer_runs() {
    let fixture = fixture();
    let mut ended = std::process::Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let write = |process: u32, run: &str| {
        let file = fixture.store.compiled.join(format!("abc.cwasm.{process}-{run}-0.part"));
        fs::write(&file, b"half").unwrap();
        file
    };
    let this = std::process::id();
    let (own, other_process) = (write(this, RUN.as_str()), write(1, "0123456789abcdef"));
    let (ended_process, earlier_run) = (write(ended.id(), "0123"), write(this, "0123456789abcdef"));
    fixture.store.prune(&fixture.engine, &HashSet::new(), &HashSet::new()).unwrap();
    assert!(own.exists() && other_process.exists());
    assert!(!ended_process.exists() && !earlier_run.exists());
}

#[test]
fn folders_among_the_files_do_not_end_pruning() {
    let fixture = fixture();
    for folder in [&fixture.store.components, &fixture.store.compiled] {
        fs::create_dir(folder.join("0")).unwrap();
        for name in ["1", "2", "z"] {
            fs::write(folder.join(name), "not needed").unwrap();
        }
    }
    fixture.store.prune(&fixture.engine, &HashSet::new(), &HashSet::new()).unwrap();
    for folder in [&fixture.store.components, &fixture.store.compiled] {
        assert_eq!(list(folder).unwrap(), [folder.join("0")]);
    }
}

#[test]
fn error_names_a_folder_in_the_place_of_a_component() {
    let fixture = fixture();
    let hash = hash(b"bytes");
    let path = fixture.store.path_of(&hash);
    fs::create_dir(&path).unwrap();
    let error = fixture.store.keep(&hash, b"bytes").unwrap_err().to_string();
    assert!(error.contains(&path.display().to_string()), "{error}");
}

#[test]
fn pruning_keeps_only_needed_files() {
    let fixture = fixture();
    let (old, new) = (hash(b"old"), hash(b"new"));
    fixture.store.keep(&old, b"old").unwrap();
    fixture.store.keep(&new, b"new").unwrap();
    fs::write(fixture.store.compiled.join(format!("{new}-0000000000000000.cwasm")), b"of another engine").unwrap();
    let functions = |plugin| fixture.store.compile_paths(&fixture.engine, plugin, &new).unwrap().functions;
    fs::write(functions("gone"), b"of a plugin that is gone").unwrap();
    fs::write(functions("notes"), b"of a plugin").unwrap();
    fixture.store.prune(&fixture.engine, &HashSet::from([new.clone()]), &HashSet::from(["notes".into()])).unwrap();
    assert!(fixture.store.find(&old).is_none() && fixture.store.find(&new).is_some());
    assert_eq!(list(&fixture.store.compiled).unwrap(), [functions("notes")]);
}
