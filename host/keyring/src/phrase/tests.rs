use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::published;

const JUNK: &str = "test test test test test test test test test test test junk";

#[derive(Deserialize)]
struct Published {
    entropy: String,
    phrase: String,
    seed: String,
}

#[test]
fn phrases_and_seeds_match_bip_39_vectors() {
    for vector in published::vectors::<Published>(include_str!("../../tests/published/bip39.json")) {
        let phrase = SeedPhrase::from_entropy(&hex::decode(&vector.entropy).unwrap()).unwrap();
        assert_eq!(*phrase.expose(), vector.phrase);
        assert_eq!(hex::encode(phrase.seed("TREZOR").expose()), vector.seed);
        let read = SeedPhrase::parse(&vector.phrase).unwrap();
        assert_eq!(hex::encode(read.seed("TREZOR").expose()), vector.seed);
        assert_eq!(hex::encode(&*read.entropy()), vector.entropy);
    }
}

#[test]
fn entropy_length_determines_the_number_of_words() {
    for (bytes, words) in [(16, 12), (20, 15), (24, 18), (28, 21), (32, 24)] {
        let phrase = SeedPhrase::from_entropy(&vec![0x5a; bytes]).unwrap();
        assert_eq!(phrase.expose().split(' ').count(), words);
    }
}

#[test]
fn entropy_of_invalid_length_is_rejected() {
    for length in [0, 1, 12, 15, 17, 31, 33, 36, 64, 1_000] {
        let error = SeedPhrase::from_entropy(&vec![1; length]).err();
        assert_eq!(error, Some(KeyringError::EntropyLength(length)));
    }
}

#[test]
fn mistyped_phrase_is_rejected_with_the_position_of_the_word() {
    let cases = [
        (JUNK.replace("junk", "jung"), KeyringError::PhraseWord(12)),
        (JUNK.replacen("test", "Test", 1), KeyringError::PhraseWord(1)),
        (JUNK.replacen("test", "ｔｅｓｔ", 1), KeyringError::PhraseWord(1)),
        (JUNK.replace("junk", "test"), KeyringError::PhraseChecksum),
        (JUNK.replace(" junk", ""), KeyringError::PhraseLength),
        (format!("{JUNK} junk"), KeyringError::PhraseLength),
        (format!("{JUNK} {JUNK} test"), KeyringError::PhraseLength),
        (String::new(), KeyringError::PhraseLength),
        ("test ".repeat(100_000), KeyringError::PhraseLength),
    ];
    for (text, expected) in cases {
        assert_eq!(SeedPhrase::parse(&text).err(), Some(expected));
    }
}

#[test]
fn white_space_around_words_is_ignored() {
    let spaced = format!("\n  {}\t\n", JUNK.replace(' ', " \n "));
    assert_eq!(*SeedPhrase::parse(&spaced).unwrap().expose(), JUNK);
}

#[test]
fn passphrase_changes_the_seed_independent_of_unicode_composition() {
    let phrase = SeedPhrase::parse(JUNK).unwrap();
    assert_ne!(phrase.seed("").expose(), phrase.seed("é").expose());
    assert_eq!(phrase.seed("\u{e9}").expose(), phrase.seed("e\u{301}").expose(), "é as one and as two characters");
}

#[test]
fn debug_output_hides_the_phrase() {
    assert_eq!(format!("{:?}", SeedPhrase::parse(JUNK).unwrap()), "SeedPhrase([secret])");
}

proptest! {
    #[test]
    fn phrase_round_trips(entropy: [u8; 32], is_short: bool) {
        let entropy = if is_short { &entropy[..16] } else { &entropy[..] };
        let phrase = SeedPhrase::from_entropy(entropy).unwrap();
        let read = SeedPhrase::parse(&phrase.expose()).unwrap();
        prop_assert_eq!(read.expose(), phrase.expose());
        prop_assert_eq!(&**read.entropy(), entropy);
    }

    #[test]
    fn parsed_phrase_formats_to_its_input(text in "(test |abandon |zoo ){11,13}[a-z]{0,5}") {
        if let Ok(phrase) = SeedPhrase::parse(&text) {
            prop_assert_eq!(&*phrase.expose(), text.trim());
        }
    }
}
