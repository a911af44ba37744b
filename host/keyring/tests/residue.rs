//! After use, the memory of the process contains no secrets, neither on the heap nor in dead stack frames.
//!
//! Reads the process's own memory like a debugger. The secrets of one phrase are masked in this file (each byte xor
//! 0xa5), so that the search does not find its own constants. Other libraries computed them. There is only one test,
//! because a concurrent test would use the same memory.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{
    collections::BTreeSet,
    fs::{self, File},
    hint::black_box,
    os::unix::fs::FileExt,
    sync::Barrier,
    thread,
};

use tenon_keyring::{Family, Seed, SeedPhrase, ed25519, evm, secp256k1, solana};
use zeroize::Zeroizing;

const MASK: u8 = 0xa5;

const ENTROPY: &str = "cd9d0d10680af996ab37735ae32dd4c4011207103340a047028e44bdf2948561";

/// The secrets that are derived from this entropy for signatures.
const SECRETS: [(&str, &str); 19] = [
    ("entropy", ENTROPY),
    ("first half of the seed", "267670326951fde9891e9deb7d719b266b5ada37bb943f0c5f7331fdd39743d9"),
    ("second half of the seed", "ad4dc1a1c99a187c62e206c61aa73bd87418b3fe05eee9e61fc7f5c57f749eb8"),
    ("key m", "882070042faf06c0e15150e92f04b67837fee53f802a9a911f328aada9c33c5d"),
    ("chain code m", "e4dcfcd6a74fdb8f5cbdc5b11c32ff775ae7c1fb2858cf5c74bec56959dee838"),
    ("key m/44'/60'/0'", "f57294053d974c9ec337f3430b4eca9768fdaddb2c0738d0f403b4b2bd3a03aa"),
    ("chain code m/44'/60'/0'", "8efd6656fb701bded584408e0ee1aaf04c2ba5161a8084881103ea6a2f272f28"),
    ("key m/44'/60'/0'/0", "1d5d680857aa30e83270a9bb1527849986346f8d21e0e3750b79fe0a172ec99b"),
    ("chain code m/44'/60'/0'/0", "7679c204bf6ba7af5ff2030c30f9f909352a21027a30a05ba7036325f8493c42"),
    ("key m/44'/60'/0'/0/0", "14f5470f8e655bf4bc7972dc2ae077d23bfaa9aca833b1dd2f969262eb7da0e1"),
    ("chain code m/44'/60'/0'/0/0", "3c1fd266c9c3ff049a14df51600d1ef61d0e606bfbff61ea1991431a0d37056d"),
    ("Ed25519 key m/44'", "2d1c7761d45e780bd756691d1488e343f7a334ce2a168b95986c61d6c75ab42f"),
    ("Ed25519 chain code m/44'", "ffca615ea773d18109f9cce3213622caaef11cb020d545c52a8a77a9aaad375e"),
    ("Ed25519 key m/44'/501'/0'/0'", "fe797dc3ceb052e87eb07ea9b6f57ab8ef79edf2d14e4395a068bebe452a5a6b"),
    ("Ed25519 chain code m/44'/501'/0'/0'", "07e331221286815c6bda47e1135aedf01312af6d4b5e51cf7d2340c3ff3ab722"),
    ("Ed25519 nonce prefix", "bbd09631a6f068595baaa6adeee03ffaa178dd51ab2f9501a7156733fc01140a"),
    (
        "EVM key as text",
        "c7949095c097c4c497c7c695c3c09094949cc1c6c192929c9dc39190c19792929cc090c395c6959c95c19c939491929d9dc496969692c69291c0c19d95909191",
    ),
    (
        "Solana key as text",
        "97d4fdf7f5ebdce3f3d5fdcad7edd7ffe7ff9791f492cedcd5c2edefd2ebf7c3e4e890efe9c190cdc8c190f3f7cf94f7d7d3d7f2ccd09293f4dfd6c19ce4e6d29cc3c891fc94d7dd93d0e393dcfcf5d0d0c4e294fdfdf4c4",
    ),
    ("the first words", "cdc4c7ccd185d6cdc0c185c6cacccb85cad5c0d7c485d3cac9d0c8c085c7cac"),
];

/// Operations on the secrets.
const USES: [(&str, fn()); 10] = [
    ("a phrase from entropy", || drop(SeedPhrase::from_entropy(&unmasked(ENTROPY)).unwrap())),
    ("a parsed phrase", || drop(new_phrase())),
    ("entropy of a phrase", || assert_eq!(new_phrase().entropy().len(), 32)),
    ("a seed", || drop(new_seed())),
    ("an EVM key", || drop(evm_key())),
    ("an exported EVM key", || assert_eq!(exported(Family::Evm).len(), 66)),
    ("an EVM signature", || assert!(evm::sign_message(&evm_key(), b"hello").is_ok())),
    ("a Solana key", || drop(solana_key())),
    ("an exported Solana key", || assert_eq!(exported(Family::Solana).len(), 88)),
    ("a Solana signature", || assert!(solana::sign_message(&solana_key(), b"hello").is_ok())),
];

#[test]
fn no_secret_of_a_used_key_remains_in_memory() {
    let nothing = BTreeSet::new();
    for (name, work) in USES {
        assert_eq!(found_after(work), nothing, "after {name}");
    }
    // Checks that the search works: it finds a key that is still held, and its seed.
    let seed = new_seed();
    let key = seed.secp256k1_key(&Family::Evm.path(0).unwrap()).unwrap();
    let texts = [exported(Family::Evm), exported(Family::Solana)];
    let found = found_in_memory();
    black_box((&seed, &key, &texts));
    let expected = [
        "EVM key as text",
        "Solana key as text",
        "first half of the seed",
        "key m/44'/60'/0'/0/0",
        "second half of the seed",
    ];
    assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
}

/// Runs `work` on a thread that then waits, so that no other code uses its stack before the search.
fn found_after(work: fn()) -> BTreeSet<&'static str> {
    let (done, searched) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            work();
            done.wait();
            searched.wait();
        });
        done.wait();
        let found = found_in_memory();
        searched.wait();
        found
    })
}

fn new_phrase() -> SeedPhrase {
    let phrase = SeedPhrase::from_entropy(&unmasked(ENTROPY)).unwrap();
    SeedPhrase::parse(&phrase.expose()).unwrap()
}

fn new_seed() -> Seed {
    Seed::from_bytes(new_phrase().seed("").expose()).unwrap()
}

fn evm_key() -> secp256k1::Key {
    new_seed().secp256k1_key(&Family::Evm.path(0).unwrap()).unwrap()
}

fn solana_key() -> ed25519::Key {
    new_seed().ed25519_key(&Family::Solana.path(0).unwrap()).unwrap()
}

fn exported(family: Family) -> Zeroizing<String> {
    family.show_private_key(&new_seed(), &family.path(0).unwrap()).unwrap()
}

fn unmasked(digits: &str) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(hex::decode(digits).unwrap());
    bytes.iter_mut().for_each(|byte| *byte ^= MASK);
    bytes
}

/// Returns the name of each secret that has a piece of eight bytes, forwards or backwards, anywhere in writable memory.
/// Processors spill eight bytes at a time, and numbers are stored in little-endian order.
fn found_in_memory() -> BTreeSet<&'static str> {
    let pieces = masked_pieces();
    let memory = File::open("/proc/self/mem").unwrap();
    let mut found = BTreeSet::new();
    // Wiped, so that the next search does not find the bytes that this search read.
    let mut buffer = Zeroizing::new(vec![0; 1 << 12]);
    let untouched = vec![0; buffer.len()];
    for (start, end) in writable_regions() {
        let mut at = start;
        while at < end {
            let length = buffer.len().min((end - at) as usize);
            // Kernel regions cannot be read and contain no secrets of the process.
            let Ok(read) = memory.read_at(&mut buffer[..length], at) else { break };
            // Skips unused memory, such as most of a stack.
            if buffer[..read] != untouched[..read] {
                search(&buffer[..read], &pieces, &mut found);
            }
            // Overlaps the next read, so that a piece across the boundary is found.
            at += if read < buffer.len() { read as u64 } else { read as u64 - 7 };
        }
    }
    found
}

/// Searches for the pieces. Does not unmask them: the read bytes are masked one by one for the comparison.
fn search(read: &[u8], pieces: &[Vec<([u8; 8], &'static str)>], found: &mut BTreeSet<&'static str>) {
    for (at, first) in read.iter().enumerate() {
        for (piece, name) in &pieces[usize::from(first ^ MASK)] {
            if read.len() - at >= piece.len()
                && piece.iter().zip(&read[at..]).all(|(masked, byte)| *masked == byte ^ MASK)
            {
                found.insert(name);
            }
        }
    }
}

/// Returns all pieces by their first byte.
fn masked_pieces() -> Vec<Vec<([u8; 8], &'static str)>> {
    let mut pieces = vec![Vec::new(); 256];
    for (name, digits) in SECRETS {
        let secret = hex::decode(&digits[..digits.len() & !15]).unwrap();
        for piece in secret.chunks_exact(8) {
            let forwards: [u8; 8] = piece.try_into().unwrap();
            let mut backwards = forwards;
            backwards.reverse();
            pieces[usize::from(forwards[0])].push((forwards, name));
            pieces[usize::from(backwards[0])].push((backwards, name));
        }
    }
    pieces
}

/// Returns start and end of the writable memory regions, including stacks and heaps.
fn writable_regions() -> Vec<(u64, u64)> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let regions = maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|rights| rights.starts_with("rw")));
    regions
        .map(|line| {
            let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
            (u64::from_str_radix(start, 16).unwrap(), u64::from_str_radix(end, 16).unwrap())
        })
        .collect()
}
