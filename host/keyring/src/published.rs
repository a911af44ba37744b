//! Reads the vectors that standards publish (`tests/published/`).

use serde::{Deserialize, de::DeserializeOwned};

pub fn vectors<T: DeserializeOwned>(file: &str) -> Vec<T> {
    #[derive(Deserialize)]
    struct File<T> {
        vectors: Vec<T>,
    }
    let read = serde_json::from_str::<File<T>>(file).unwrap().vectors;
    assert!(!read.is_empty(), "a file without vectors shows nothing");
    read
}

pub fn bytes<const N: usize>(digits: &str) -> [u8; N] {
    hex::decode(digits).unwrap().try_into().unwrap()
}
