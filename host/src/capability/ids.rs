//! `ids`: identifiers and random bytes from the call's seed, so that a call can be replayed exactly. Also the next
//! number of a named sequence, which the draft reserves.

use tenon_bindings::tenon::plugin::ids::Host;

use super::trap;
use crate::{
    capability::CallState,
    limits::{ID_PREFIX_BYTES_MAX, PUBLIC_ID_SUFFIX_CHARS, RANDOM_BYTES_MAX},
};

const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

impl Host for CallState {
    async fn uuid(&mut self) -> wasmtime::Result<String> {
        self.count(0)?;
        let random: [u8; 10] = self.random_array();
        Ok(uuid::Builder::from_unix_timestamp_millis(self.now(), &random).into_uuid().to_string())
    }

    async fn public_id(&mut self, prefix: String) -> wasmtime::Result<String> {
        self.count(prefix.len())?;
        if prefix.is_empty() || prefix.len() > ID_PREFIX_BYTES_MAX {
            wasmtime::bail!(
                "the prefix of public-id must have 1 to {ID_PREFIX_BYTES_MAX} bytes, but has {}",
                prefix.len()
            );
        }
        let mut id = prefix;
        id.push('_');
        let length = id.len() + PUBLIC_ID_SUFFIX_CHARS;
        while id.len() < length {
            let [byte] = self.random_array();
            // 252 is the largest multiple of 36 in a byte. The other bytes would favour the first letters.
            if let (true, Some(&letter)) = (byte < 252, ALPHABET.get(usize::from(byte % 36))) {
                id.push(char::from(letter));
            }
        }
        Ok(id)
    }

    async fn random(&mut self, length: u32) -> wasmtime::Result<Vec<u8>> {
        let length = usize::try_from(length)?;
        self.count(length)?;
        if length > RANDOM_BYTES_MAX {
            wasmtime::bail!("random returns at most {RANDOM_BYTES_MAX} bytes a call, not {length}");
        }
        let mut bytes = vec![0; length];
        self.fill_random(&mut bytes);
        Ok(bytes)
    }

    async fn next(&mut self, name: String) -> wasmtime::Result<u64> {
        let wait_started = self.meter(name.len())?;
        let done = self.draft().next(&name).await.map_err(trap);
        self.end_wait(wait_started).await;
        done
    }
}
