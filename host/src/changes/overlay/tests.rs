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
fn what_is_not_durable_is_never_evicted() {
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
fn what_a_running_call_may_have_missed_is_never_evicted() {
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
fn a_call_that_holds_back_too_much_begins_again() {
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
fn an_older_value_never_replaces_a_newer_one() {
    let mut overlay = overlay(usize::MAX, usize::MAX);
    let began = overlay.begin();
    let version = write(&mut overlay, "name");
    let (seen, _) = overlay.fill(&began, &key("name"), 0, Content::Absent);
    assert_eq!((seen.version, seen.content), (version, Content::Mark));
}

#[test]
fn a_call_of_an_older_epoch_fills_nothing() {
    let mut overlay = overlay(usize::MAX, usize::MAX);
    let began = overlay.begin();
    write(&mut overlay, "name");
    let _ = overlay.begin_epoch();
    let _ = overlay.fill(&began, &key("name"), 0, Content::Absent);
    assert!(overlay.is_empty());
    assert!(!overlay.is_current(&began));
}
