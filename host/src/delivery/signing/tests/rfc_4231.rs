//! The test vectors of RFC 4231 for HMAC-SHA256 and HMAC-SHA512. Case 5 is omitted, because it truncates the result.

use super::*;

struct Vector {
    key: &'static [u8],
    data: &'static [u8],
    sha256: &'static str,
    sha512: &'static str,
}

const COUNTING: [u8; 25] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25];

const VECTORS: &[Vector] = &[
    Vector {
        key: &[0x0b; 20],
        data: b"Hi There",
        sha256: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
        sha512: "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cdedaa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854",
    },
    Vector {
        key: b"Jefe",
        data: b"what do ya want for nothing?",
        sha256: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        sha512: "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
    },
    Vector {
        key: &[0xaa; 20],
        data: &[0xdd; 50],
        sha256: "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
        sha512: "fa73b0089d56a284efb0f0756c890be9b1b5dbdd8ee81a3655f83e33b2279d39bf3e848279a722c806b485a47e67c807b946a337bee8942674278859e13292fb",
    },
    Vector {
        key: &COUNTING,
        data: &[0xcd; 50],
        sha256: "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
        sha512: "b0ba465637458c6990e5a8c5f61d4af7e576d97ff94b872de76f8050361ee3dba91ca5c11aa25eb4d679275cc5788063a5f19741120c4f2de2adebeb10a298dd",
    },
    Vector {
        key: &[0xaa; 131],
        data: b"Test Using Larger Than Block-Size Key - Hash Key First",
        sha256: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
        sha512: "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f3526b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598",
    },
    Vector {
        key: &[0xaa; 131],
        data: b"This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being used by the HMAC algorithm.",
        sha256: "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
        sha512: "e37b6a775dc87dbaa4dfa9f96e5e3ffddebd71f8867289865df5a32d20cdc944b6022cac3c4982b10d5eeb55c3e4de15134676fb6de0446065c97440fa8c6a58",
    },
];

#[test]
fn custom_header_agrees_with_the_vectors_of_the_rfc() {
    for vector in VECTORS {
        for (algorithm, expected) in [(Algorithm::HmacSha256, vector.sha256), (Algorithm::HmacSha512, vector.sha512)] {
            let own = CustomHeader::new("x-signature", "", algorithm).unwrap();
            assert_eq!(own.sign(vector.key, vector.data).unwrap().1, expected);
        }
    }
}
