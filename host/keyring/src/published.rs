//! Reads test vectors published by standards (`tests/published/`).

use serde::{Deserialize, de::DeserializeOwned};

pub fn vectors<T: DeserializeOwned>(file: &str) -> Vec<T> {
    #[derive(Deserialize)]
    struct File<T> {
        vectors: Vec<T>,
    }
    let read = serde_json::from_str::<File<T>>(file).unwrap().vectors;
    assert!(!read.is_empty(), "the file has no vectors");
    read
}

pub fn bytes<const N: usize>(digits: &str) -> [u8; N] {
    hex::decode(digits).unwrap().try_into().unwrap()
}
