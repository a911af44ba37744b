use super::*;

fn key(name: &str) -> Key {
    let scope = Scope::new("notes".into(), "acme/test".into()).unwrap();
    Key { scope, space: Space::Guard, name: name.into() }
}

fn overlay(cache_bytes_max: usize, pinned_bytes_max: usize) -> Overlay {
    Overlay::new(0, OverlayLimits { cache_bytes_max, pinned_bytes_max })
}

fn write(overlay: &mut Overlay, name: &str) -> Version {
    overlay.accept(vec![(key(name), Content::Mark)]).0
}

#[test]
fn entries_that_are_not_durable_are_never_evicted() {
    let mut overlay = overlay(0, usize::MAX);
    for round in 0..100 {
        write(&mut overlay, &round.to_string());
    }
    assert_eq!(overlay.len(), 100);
    overlay.settle(100);
    for _ in 0..100 {
        write(&mut overlay, "other");
    }
    assert_eq!(overlay.len(), 1);
}

#[test]
fn writes_since_the_oldest_running_call_are_never_evicted() {
    let mut overlay = overlay(0, usize::MAX);
    let began = overlay.begin();
    for round in 0..100 {
        let version = write(&mut overlay, &round.to_string());
        overlay.settle(version);
    }
    assert_eq!(overlay.len(), 100);
    overlay.end(&began);
    write(&mut overlay, "other");
    assert!(overlay.len() < 100);
}

#[test]
fn call_that_pins_too_much_is_outdated() {
    let mut overlay = overlay(0, 10_000);
    let long = overlay.begin();
    for round in 0..1_000 {
        let version = write(&mut overlay, &round.to_string());
        overlay.settle(version);
    }
    assert!(!overlay.is_current(&long));
    assert!(overlay.bytes() < 100_000, "{}", overlay.bytes());
    let fresh = overlay.begin();
    assert!(overlay.is_current(&fresh));
}

#[test]
fn loaded_value_never_replaces_an_entry() {
    let mut overlay = overlay(usize::MAX, usize::MAX);
    let began = overlay.begin();
    let version = write(&mut overlay, "name");
    let (seen, _) = overlay.fill(&began, &key("name"), 0, Content::Absent);
    assert_eq!((seen.version, seen.content), (version, Content::Mark));
}

#[test]
fn call_of_an_older_epoch_fills_nothing() {
    let mut overlay = overlay(usize::MAX, usize::MAX);
    let began = overlay.begin();
    write(&mut overlay, "name");
    let _ = overlay.begin_epoch();
    let _ = overlay.fill(&began, &key("name"), 0, Content::Absent);
    assert!(overlay.is_empty());
    assert!(!overlay.is_current(&began));
}

/// Returns the bytes of one entry that `write` adds.
fn entry_bytes() -> usize {
    let mut overlay = overlay(usize::MAX, usize::MAX);
    write(&mut overlay, "0000");
    overlay.bytes()
}

#[test]
fn cold_reads_do_not_let_a_long_call_pin_more_than_the_limit() {
    let (cache, pins) = (20 * entry_bytes(), 100 * entry_bytes());
    let mut overlay = overlay(cache, pins);
    let long = overlay.begin();
    for round in 0..5_000 {
        let version = write(&mut overlay, &format!("w{round:04}"));
        overlay.settle(version);
        // Each loaded entry is evictable at once, so that an eviction always succeeds.
        let reader = overlay.begin();
        let _ = overlay.fill(&reader, &key(&format!("r{round:04}")), 0, Content::Absent);
        overlay.end(&reader);
        assert!(overlay.pinned_bytes() <= pins + entry_bytes(), "round {round}: {} pinned", overlay.pinned_bytes());
        assert!(overlay.bytes() <= 2 * (cache + pins), "round {round}: {}", overlay.bytes());
    }
    assert!(!overlay.is_current(&long));
}

#[test]
fn only_the_oldest_calls_are_outdated_when_too_much_is_pinned() {
    let mut overlay = overlay(0, 100 * entry_bytes());
    let long = overlay.begin();
    let mut recent = None;
    for round in 0..110 {
        if round == 95 {
            recent = Some(overlay.begin());
        }
        let version = write(&mut overlay, &format!("{round:04}"));
        overlay.settle(version);
    }
    assert!(!overlay.is_current(&long));
    assert!(overlay.is_current(&recent.unwrap()));
}

#[test]
fn pinned_bytes_are_exact() {
    let mut overlay = overlay(usize::MAX, usize::MAX);
    let sum = size_of::<usize>();
    write(&mut overlay, "0000");
    write(&mut overlay, "0000");
    assert_eq!(overlay.pinned_bytes(), entry_bytes() + 2 * sum, "a replaced entry is not counted");
    overlay.settle(2);
    assert_eq!(overlay.pinned_bytes(), 0, "durable");
    let began = overlay.begin();
    let version = write(&mut overlay, "0001");
    overlay.settle(version);
    assert_eq!(overlay.pinned_bytes(), entry_bytes() + sum, "written since a call began");
    overlay.end(&began);
    overlay.settle(version);
    assert_eq!(overlay.pinned_bytes(), 0);
    write(&mut overlay, "0002");
    let _ = overlay.begin_epoch();
    assert_eq!(overlay.pinned_bytes(), 0);
}

#[test]
fn hot_record_does_not_pin_versions_without_a_limit() {
    let mut overlay = overlay(usize::MAX, 10_000);
    let long = overlay.begin();
    for _ in 0..10_000 {
        let version = write(&mut overlay, "0000");
        overlay.settle(version);
        assert!(overlay.pinned_bytes() <= 10_000 + entry_bytes());
    }
    assert!(!overlay.is_current(&long));
}

#[test]
fn recently_read_entries_do_not_let_the_cache_exceed_its_limit() {
    let cache = 10_000 * entry_bytes();
    let mut overlay = overlay(cache, usize::MAX);
    let call = overlay.begin();
    for _ in 0..4 {
        for name in 0..30_000 {
            let key = key(&format!("{name:05}"));
            if overlay.get(&key).is_none() {
                let _ = overlay.fill(&call, &key, 0, Content::Absent);
            }
        }
    }
    assert!(overlay.bytes() <= cache + cache / 4, "{} of {cache}", overlay.bytes());
}

fn record_key(collection: &str, name: &str) -> Key {
    let scope = Scope::new("notes".into(), "acme/test".into()).unwrap();
    Key { scope, space: Space::Record(collection.into()), name: name.into() }
}

fn search(overlay: &Overlay, collection: &str) -> CollectionSearch {
    let scope = Scope::new("notes".into(), "acme/test".into()).unwrap();
    CollectionSearch { scope, collection: collection.into(), since: overlay.latest() }
}

/// A read set, with the version of each part when it was read.
struct RegisteredSet {
    set: ReadSet,
    reads: Vec<(Key, Version)>,
    searched: Option<(String, Version)>,
}

/// The last write to each key, and to each collection.
#[derive(Default)]
struct Written {
    keys: HashMap<Key, Version>,
    collections: HashMap<String, Version>,
}

impl Written {
    fn is_unchanged(&self, registered: &RegisteredSet) -> bool {
        let version = |key| self.keys.get(key).copied().unwrap_or(0);
        registered.reads.iter().all(|(key, seen)| version(key) == *seen)
            && registered
                .searched
                .iter()
                .all(|(name, since)| self.collections.get(name).copied().unwrap_or(0) <= *since)
    }
}

proptest::proptest! {
    /// For any order of writes, settling and eviction, a set is unchanged exactly while no key or collection in it is
    /// written.
    #[test]
    fn read_sets_are_unchanged_exactly_until_a_contained_key_is_written(
        steps in proptest::collection::vec((0..7_u8, 0..6_usize, 0..3_usize), 1..200),
    ) {
        let collections = ["apples", "pears", "plums"];
        let mut overlay = overlay(0, usize::MAX);
        let (mut written, mut registered): (Written, Vec<RegisteredSet>) = Default::default();
        for (step, name, collection) in steps {
            let collection = collections[collection];
            let key = record_key(collection, &name.to_string());
            match step {
                0..3 => {
                    let (version, _) = overlay.accept(vec![(key.clone(), Content::Mark)]);
                    written.keys.insert(key, version);
                    written.collections.insert(collection.to_owned(), version);
                }
                3 => overlay.settle(overlay.latest()),
                4 | 5 => {
                    let began = overlay.begin();
                    let seen = written.keys.get(&key).copied().unwrap_or(0);
                    let searches: Vec<CollectionSearch> =
                        (step == 5).then(|| search(&overlay, collection)).into_iter().collect();
                    let searched = searches.first().map(|search| (collection.to_owned(), search.since));
                    let reads = vec![Read { key: key.clone(), seen }];
                    let set = overlay.register(&began, &reads, &searches).unwrap();
                    overlay.end(&began);
                    registered.push(RegisteredSet { set, reads: vec![(key, seen)], searched });
                }
                _ if registered.len() > 3 => overlay.unregister(&registered.swap_remove(name % 4).set),
                _ => {}
            }
            for registered in &registered {
                proptest::prop_assert_eq!(overlay.are_unchanged(&registered.set), written.is_unchanged(registered));
            }
        }
        registered.iter().for_each(|registered| overlay.unregister(&registered.set));
        proptest::prop_assert!(overlay.read_sets.is_empty());
    }
}
