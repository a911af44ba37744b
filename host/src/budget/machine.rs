//! The memory of the machine or of the control group of the process, on Linux only, and the limit of open files.

use std::{fs, path::Path};

use rustix::process::{Resource, getrlimit};

/// Returns the number of files that the process may have open after `serve` has raised its limit. `None` if there is no
/// limit.
pub fn open_files_max() -> Option<u64> {
    getrlimit(Resource::Nofile).maximum
}

/// Returns the bytes that the process may use. `None` if they are not known.
pub fn memory_bytes() -> Option<u64> {
    let physical = fs::read_to_string("/proc/meminfo").ok().and_then(|text| parse_total(&text));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    physical.into_iter().chain(group_limits(Path::new("/sys/fs/cgroup"), &groups)).min()
}

fn parse_total(meminfo: &str) -> Option<u64> {
    find_kib(meminfo, "MemTotal:")
}

fn find_kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1_024)
}

/// Returns the limits of the group and of its ancestors. "max" means no limit.
fn group_limits(root: &Path, groups: &str) -> Vec<u64> {
    let mut limits = Vec::new();
    for line in groups.lines() {
        let (file, base, path) = match line.split_once("::") {
            Some((_, path)) => ("memory.max", root.to_owned(), path),
            None => match line.splitn(3, ':').collect::<Vec<_>>().as_slice() {
                [_, "memory", path] => ("memory.limit_in_bytes", root.join("memory"), *path),
                _ => continue,
            },
        };
        let group = base.join(path.trim_start_matches('/'));
        let ancestors = group.ancestors().take_while(|folder| folder.starts_with(&base));
        let read = |folder: &Path| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
        limits.extend(ancestors.filter_map(read));
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_limit_of_the_process_groups_applies() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("outer/inner");
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("memory.max"), "max\n").unwrap();
        fs::write(root.path().join("outer/memory.max"), "1073741824\n").unwrap();
        assert_eq!(group_limits(root.path(), "0::/outer/inner\n"), [1 << 30]);
    }

    #[test]
    fn version_1_groups_are_read() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("memory/tenon");
        fs::create_dir_all(&group).unwrap();
        fs::write(group.join("memory.limit_in_bytes"), "536870912\n").unwrap();
        assert_eq!(group_limits(root.path(), "5:cpu:/tenon\n4:memory:/tenon\n"), [512 << 20]);
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(memory_bytes().unwrap() > 64 << 20);
    }
}
