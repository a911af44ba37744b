//! Import cycles between files of the host.
//!
//! A use of a file's own folder is not an import: `foo.rs` owns the files of `foo/`. A path through a re-export counts
//! as a use of the file that re-exports. Tests are ignored.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use super::source::Source;

/// The path of a module below `host/src`: `["plugin", "call"]` for `plugin/call.rs`.
type Module = Vec<String>;

/// Returns the groups of two or more files that reach each other. Each group is sorted.
pub fn find(root: &Path, files: &[PathBuf]) -> Vec<Vec<Module>> {
    let modules: BTreeMap<Module, &PathBuf> =
        files.iter().filter_map(|file| Some((module_of(root, file)?, file))).collect();
    let imports: BTreeMap<&Module, BTreeSet<&Module>> =
        modules.iter().map(|(module, file)| (module, imports_of(module, &Source::read(file), &modules))).collect();
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        modules.keys().map(|module| (module, reachable(module, &imports))).collect();
    let group = |module: &Module| -> Vec<Module> {
        let mutual = reached[module].iter().filter(|other| reached[*other].contains(module));
        mutual.map(|other| (*other).clone()).collect()
    };
    let groups: BTreeSet<Vec<Module>> = modules.keys().map(group).filter(|group| group.len() > 1).collect();
    groups.into_iter().collect()
}

/// Returns the module path of a file, or `None` for a test or for a file outside `root`.
fn module_of(root: &Path, file: &Path) -> Option<Module> {
    let inside = file.strip_prefix(root).ok()?.with_extension("");
    let module: Module = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    (!module.iter().any(|part| part == "tests" || part == "testing")).then_some(module)
}

fn imports_of<'m>(module: &Module, source: &Source, modules: &'m BTreeMap<Module, &PathBuf>) -> BTreeSet<&'m Module> {
    let targets = source.paths().into_iter().filter_map(|path| target(module, &path, modules));
    targets.filter(|target| !target.starts_with(module)).collect()
}

/// Returns the module that `path` names if it is written in `module`.
fn target<'m>(module: &Module, path: &[String], modules: &'m BTreeMap<Module, &PathBuf>) -> Option<&'m Module> {
    let ups = path.iter().take_while(|part| *part == "super").count();
    let absolute: Module = match path.first().map(String::as_str)? {
        "crate" => path[1..].to_vec(),
        "super" => module[..module.len().checked_sub(ups)?].iter().chain(&path[ups..]).cloned().collect(),
        _ => return None,
    };
    let prefixes = (1..=absolute.len()).rev().map(|length| &absolute[..length]);
    prefixes.into_iter().find_map(|prefix| modules.get_key_value(prefix)).map(|(found, _)| found)
}

fn reachable<'m>(start: &'m Module, imports: &BTreeMap<&'m Module, BTreeSet<&'m Module>>) -> BTreeSet<&'m Module> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
    while let Some(module) = open.pop() {
        open.extend(imports[module].iter().filter(|next| seen.insert(**next)));
    }
    seen
}

#[test]
fn import_cycles_are_found_and_a_files_own_folder_is_exempt() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        file
    };
    let files = [
        write("a.rs", "use crate::b::Thing;\nmod part;\nuse part::Part;"),
        write("a/part.rs", "use super::Whole;"),
        write("b.rs", "use crate::c::{Other, Thing};\n#[cfg(test)]\nmod tests { use crate::d::Helper; }"),
        write("c.rs", "fn f() { crate::a::g() }"),
        write("d.rs", "use crate::b;"),
    ];
    let name = |module: &Module| module.join("/");
    let groups: Vec<Vec<String>> =
        find(folder.path(), &files).iter().map(|group| group.iter().map(name).collect()).collect();
    assert_eq!(groups, [["a", "b", "c"]]);
}
