//! Table of addresses.

use super::*;
use AddressError::*;

pub const FORBIDDEN: &[(&str, AddressError)] = &[
    ("0.0.0.0", Unspecified),
    ("0.1.2.3", Reserved),
    ("10.0.0.1", Private),
    ("10.255.255.255", Private),
    ("100.64.0.1", Carrier),
    ("100.127.255.255", Carrier),
    ("100.100.100.200", Metadata),
    ("127.0.0.1", Loopback),
    ("127.255.255.254", Loopback),
    ("168.63.129.16", Metadata),
    ("169.254.0.1", LinkLocal),
    ("169.254.169.254", Metadata),
    ("169.254.170.2", Metadata),
    ("172.16.0.1", Private),
    ("172.31.255.255", Private),
    ("192.0.0.8", Reserved),
    ("192.0.0.192", Metadata),
    ("192.0.2.1", Documentation),
    ("192.31.196.1", Reserved),
    ("192.52.193.1", Reserved),
    ("192.88.99.1", Transition),
    ("192.168.0.1", Private),
    ("192.175.48.1", Reserved),
    ("198.18.0.1", Benchmarking),
    ("198.19.255.255", Benchmarking),
    ("198.51.100.1", Documentation),
    ("203.0.113.1", Documentation),
    ("224.0.0.1", Multicast),
    ("239.255.255.255", Multicast),
    ("240.0.0.1", Reserved),
    ("255.255.255.255", Multicast),
    ("::", Unspecified),
    ("::1", Loopback),
    ("::127.0.0.1", Transition),
    ("::8.8.8.8", Transition),
    ("::ffff:0.0.0.0", Unspecified),
    ("::ffff:127.0.0.1", Loopback),
    ("::ffff:7f00:1", Loopback),
    ("::ffff:10.0.0.1", Private),
    ("::ffff:169.254.169.254", Metadata),
    ("::ffff:0:127.0.0.1", Transition),
    ("64:ff9b::127.0.0.1", Loopback),
    ("64:ff9b::10.0.0.1", Private),
    ("64:ff9b::a9fe:a9fe", Metadata),
    ("64:ff9b:1::8.8.8.8", Transition),
    ("100::1", Reserved),
    ("2001::1", Transition),
    ("2001:0:4136:e378:8000:63bf:f5ff:fffe", Transition),
    ("2001:2::1", Benchmarking),
    ("2001:20::1", Reserved),
    ("2001:db8::1", Documentation),
    ("2002:7f00:1::", Transition),
    ("2002:808:808::1", Transition),
    ("2620:4f:8000::1", Reserved),
    ("2a00:1450:4001::5efe:10.0.0.1", Private),
    ("2a00:1450:4001:0:200:5efe:127.0.0.1", Loopback),
    ("3fff::1", Documentation),
    ("4000::1", Reserved),
    ("5f00::1", Reserved),
    ("fc00::1", Private),
    ("fd00:ec2::254", Metadata),
    ("fd20:ce::254", Metadata),
    ("fd12:3456:789a::1", Private),
    ("fe80::1", LinkLocal),
    ("febf::1", LinkLocal),
    ("fec0::1", Private),
    ("ff02::1", Multicast),
    ("ffff::1", Multicast),
];

pub const PUBLIC: &[&str] = &[
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "168.63.129.17",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2003::1",
    "2606:4700:4700::1111",
    "2a00:1450:4001::5efe:8.8.8.8",
    "3ffe:ffff::1",
];

#[test]
fn special_addresses_are_rejected_with_their_kind() {
    for (address, kind) in FORBIDDEN {
        assert_eq!(AddressRule::default().check(address.parse().unwrap()), Err(*kind), "{address}");
    }
}

#[test]
fn public_addresses_next_to_special_ones_are_allowed() {
    for address in PUBLIC {
        assert_eq!(AddressRule::default().check(address.parse().unwrap()), Ok(()), "{address}");
    }
}

#[test]
fn only_networks_of_the_rule_are_allowed_in_addition() {
    let rule = allow(&["127.0.0.0/8", "10.1.0.0/16", "fd12::/16"]);
    for address in ["127.0.0.1", "::ffff:127.0.0.1", "10.1.2.3", "fd12::1", "8.8.8.8"] {
        assert_eq!(rule.check(address.parse().unwrap()), Ok(()), "{address}");
    }
    for address in ["::1", "10.2.0.1", "fd13::1", "64:ff9b::10.1.2.3", "::10.1.2.3"] {
        assert!(rule.check(address.parse().unwrap()).is_err(), "{address}");
    }
}

#[test]
fn addresses_that_the_standard_library_classifies_as_local_are_rejected() {
    proptest::proptest!(|(ip: IpAddr)| {
        let local = match ip.to_canonical() {
            IpAddr::V4(ip) => ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_multicast()
                || ip.is_documentation() || ip.is_broadcast() || ip.is_unspecified(),
            IpAddr::V6(ip) => ip.is_loopback() || ip.is_unspecified() || ip.is_multicast()
                || ip.is_unique_local() || ip.is_unicast_link_local(),
        };
        proptest::prop_assert!(!local || AddressRule::default().check(ip).is_err(), "{ip}");
    });
}
