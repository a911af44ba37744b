//! Coverage rows that tests claim (`covers(&[…])` in their sources, where `*` matches any string), compared with the
//! rows that exist and with the rows that were observed.
//!
//! Owns the comparison and the mapping from requests to operations. The `coverage` module of each interface lists the
//! rows.

use std::{collections::BTreeSet, fs};

use tenon_bench::guests::workspace_root;
use tenon_plugin::Route;

/// Returns the operation of a request by the routes of a plugin. A literal path segment takes precedence over a
/// variable.
pub fn operation_of(routes: &'static [Route], method: &str, path: &str) -> Option<&'static str> {
    let path = path.split('?').next().unwrap_or_default();
    let matches_path = |pattern: &str| {
        let (pattern, path): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), path.split('/').collect());
        pattern.len() == path.len() && pattern.iter().zip(&path).all(|(part, own)| part.starts_with('{') || part == own)
    };
    let candidates = routes.iter().filter(|route| route.method == method && matches_path(route.path));
    candidates.min_by_key(|route| route.path.matches('{').count()).map(|route| route.operation)
}

/// Fails if a claim matches no row, or matches a row that was not observed.
pub fn check_claims(rows: &BTreeSet<String>, seen: &BTreeSet<String>, claims: &[&str]) {
    for claim in claims {
        let claimed: Vec<&String> = rows.iter().filter(|row| matches(claim, row)).collect();
        assert!(!claimed.is_empty(), "no row matches {claim:?}");
        let unseen: Vec<&&String> = claimed.iter().filter(|row| !seen.contains(row.as_str())).collect();
        assert!(unseen.is_empty(), "claimed but not observed: {unseen:#?}\nobserved: {seen:#?}");
    }
}

/// Fails if a row is claimed by no test in the folder, or if a claim matches no row.
pub fn check_folder(rows: &BTreeSet<String>, folder: &str) {
    let claims = claims(folder);
    let unclaimed: Vec<&String> = rows.iter().filter(|row| !claims.iter().any(|claim| matches(claim, row))).collect();
    assert!(unclaimed.is_empty(), "{} of {} rows are covered by no test: {unclaimed:#?}", unclaimed.len(), rows.len());
    let idle: Vec<&String> = claims.iter().filter(|claim| !rows.iter().any(|row| matches(claim, row))).collect();
    assert!(idle.is_empty(), "claims without a row: {idle:#?}");
}

/// Returns whether a claim matches a row. `*` matches any string.
fn matches(claim: &str, row: &str) -> bool {
    let mut parts = claim.split('*');
    let Some(mut rest) = row.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut is_open = false;
    for part in parts {
        is_open = true;
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        if part.is_empty() {
            rest = "";
        }
    }
    rest.is_empty() || is_open && claim.ends_with('*')
}

/// Returns the strings of all `covers(&[…])` in the files of a test folder, except `coverage.rs`.
fn claims(folder: &str) -> Vec<String> {
    let files = fs::read_dir(workspace_root().join(folder)).expect(folder).flatten().map(|file| file.path());
    let sources = files.filter(|file| file.is_file() && !file.ends_with("coverage.rs"));
    let sources = sources.map(|file| fs::read_to_string(file).expect("a source"));
    let lists = sources.flat_map(|source| {
        let lists =
            source.split("covers(&[").skip(1).map(|rest| rest.split("])").next().unwrap_or_default().to_owned());
        lists.collect::<Vec<_>>()
    });
    lists.flat_map(|list| list.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[test]
fn claim_matches_rows_with_wildcards() {
    assert!(matches("credit-transfer: 202", "credit-transfer: 202"));
    assert!(
        matches("*: 401", "credit-transfer: 401") && matches("edge * to *, the partner", "edge a to b, the partner")
    );
    assert!(matches("event *", "event a, feed of the platform"));
    for (claim, row) in [("credit-transfer: 20", "credit-transfer: 202"), ("*: 401", "a: 4012"), ("b*", "a: 401")] {
        assert!(!matches(claim, row), "{claim} {row}");
    }
}
