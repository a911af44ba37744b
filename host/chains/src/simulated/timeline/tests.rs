use proptest::prelude::*;

use super::*;

fn timeline() -> Timeline {
    Timeline { label: "a".to_owned(), base_height: 10, base_time_ms: 1_000, block_time_ms: 250, forks: Vec::new() }
}

#[test]
fn blocks_come_one_every_block_time() {
    for (now_ms, height) in [(0, 10), (1_000, 10), (1_249, 10), (1_250, 11), (2_000, 14)] {
        assert_eq!(timeline().height(now_ms), height);
    }
    assert_eq!(timeline().moved(5).height(1_250), 16);
    assert_eq!((timeline().time_ms(14), timeline().time_ms(8)), (2_000, 500));
}

#[test]
fn reorganisation_changes_hashes_from_its_height_on() {
    let before = timeline();
    let after = Timeline { forks: vec![7], ..before.clone() };
    assert_eq!(before.hash(6), after.hash(6));
    assert_ne!(before.hash(7), after.hash(7));
    assert_eq!(after.find_hash(&before.hash(8), 20, 100), None);
    assert_eq!(after.find_hash(&after.hash(8), 20, 100), Some(8));
    assert_eq!(after.find_hash(&after.hash(8), 20, 11), None, "too deep");
    assert_eq!(after.find_hash(&after.hash(8), 7, 100), None, "above the head");
}

proptest! {
    #[test]
    fn extreme_numbers_do_not_overflow(height: u64, now_ms: u64, hash: [u8; 32], block_time_ms: u64) {
        let timeline = Timeline { block_time_ms, ..timeline() };
        timeline.height(now_ms);
        timeline.time_ms(height);
        prop_assert_eq!(timeline.find_hash(&hash, now_ms, height), None);
    }
}
