//! Addresses that may be called: public ones, and the networks that the operator allows. Pure.
//!
//! Owns the table of special addresses: the registries of special-purpose IPv4 and IPv6 addresses, and the metadata
//! addresses of clouds. An IPv4-mapped, NAT64 or ISATAP address is checked as the IPv4 address that it embeds.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Allows public addresses and the networks in `allow`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressRule {
    pub allow: Vec<IpNet>,
}

/// Why an address may not be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("an unspecified address")]
    Unspecified,
    #[error("a loopback address")]
    Loopback,
    #[error("a private address")]
    Private,
    #[error("a link-local address")]
    LinkLocal,
    #[error("an address inside a carrier's network")]
    Carrier,
    #[error("an address where a cloud hands out credentials")]
    Metadata,
    #[error("a multicast or broadcast address")]
    Multicast,
    #[error("an address for documentation")]
    Documentation,
    #[error("an address for benchmarks")]
    Benchmarking,
    #[error("an address of a tunnel or a translator")]
    Transition,
    #[error("a reserved address")]
    Reserved,
}

/// Special IPv4 networks. The first entry that contains an address applies.
const SPECIAL_V4: &[(Ipv4Net, AddressError)] = &[
    (v4([0, 0, 0, 0], 32), AddressError::Unspecified),
    (v4([0, 0, 0, 0], 8), AddressError::Reserved),
    (v4([10, 0, 0, 0], 8), AddressError::Private),
    (v4([100, 100, 100, 200], 32), AddressError::Metadata),
    (v4([100, 64, 0, 0], 10), AddressError::Carrier),
    (v4([127, 0, 0, 0], 8), AddressError::Loopback),
    (v4([168, 63, 129, 16], 32), AddressError::Metadata),
    (v4([169, 254, 169, 254], 32), AddressError::Metadata),
    (v4([169, 254, 170, 2], 32), AddressError::Metadata),
    (v4([169, 254, 0, 0], 16), AddressError::LinkLocal),
    (v4([172, 16, 0, 0], 12), AddressError::Private),
    (v4([192, 0, 0, 192], 32), AddressError::Metadata),
    (v4([192, 0, 0, 0], 24), AddressError::Reserved),
    (v4([192, 0, 2, 0], 24), AddressError::Documentation),
    (v4([192, 31, 196, 0], 24), AddressError::Reserved),
    (v4([192, 52, 193, 0], 24), AddressError::Reserved),
    (v4([192, 88, 99, 0], 24), AddressError::Transition),
    (v4([192, 168, 0, 0], 16), AddressError::Private),
    (v4([192, 175, 48, 0], 24), AddressError::Reserved),
    (v4([198, 18, 0, 0], 15), AddressError::Benchmarking),
    (v4([198, 51, 100, 0], 24), AddressError::Documentation),
    (v4([203, 0, 113, 0], 24), AddressError::Documentation),
    (v4([224, 0, 0, 0], 4), AddressError::Multicast),
    (v4([255, 255, 255, 255], 32), AddressError::Multicast),
    (v4([240, 0, 0, 0], 4), AddressError::Reserved),
];

/// Special IPv6 networks. The first entry that contains an address applies. An address outside of this table, `NAT64`
/// and `GLOBAL_V6` is reserved.
const SPECIAL_V6: &[(Ipv6Net, AddressError)] = &[
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 128), AddressError::Unspecified),
    (v6([0, 0, 0, 0, 0, 0, 0, 1], 128), AddressError::Loopback),
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 96), AddressError::Transition),
    (v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96), AddressError::Transition),
    (v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48), AddressError::Transition),
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32), AddressError::Transition),
    (v6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48), AddressError::Benchmarking),
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), AddressError::Reserved),
    (v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), AddressError::Documentation),
    (v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), AddressError::Transition),
    (v6([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48), AddressError::Reserved),
    (v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), AddressError::Documentation),
    (v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128), AddressError::Metadata),
    (v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128), AddressError::Metadata),
    (v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), AddressError::Private),
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), AddressError::LinkLocal),
    (v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), AddressError::Private),
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), AddressError::Multicast),
];

/// All unicast addresses that were ever allocated for the Internet.
const GLOBAL_V6: Ipv6Net = v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);
/// Prefix of NAT64: a translator behind it connects to the IPv4 address in the last 32 bits.
const NAT64: Ipv6Net = v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96);

impl AddressRule {
    /// Returns a rule without limits, for addresses that an operator configured: an operator may reach all networks.
    pub fn everywhere() -> AddressRule {
        AddressRule { allow: vec![v4([0; 4], 0).into(), v6([0; 8], 0).into()] }
    }

    /// Returns `Ok` if a socket may be opened to `ip`.
    pub fn check(&self, ip: IpAddr) -> Result<(), AddressError> {
        // The kernel connects a mapped address over IPv4.
        let ip = ip.to_canonical();
        if self.allow.iter().any(|network| network.contains(&ip)) {
            return Ok(());
        }
        match ip {
            IpAddr::V4(ip) => check_v4(ip),
            IpAddr::V6(ip) => check_v6(ip),
        }
    }
}

fn check_v4(ip: Ipv4Addr) -> Result<(), AddressError> {
    SPECIAL_V4.iter().find(|(network, _)| network.contains(&ip)).map_or(Ok(()), |(_, kind)| Err(*kind))
}

fn check_v6(ip: Ipv6Addr) -> Result<(), AddressError> {
    if NAT64.contains(&ip) {
        return check_v4(last_v4(ip));
    }
    if let Some((_, kind)) = SPECIAL_V6.iter().find(|(network, _)| network.contains(&ip)) {
        return Err(*kind);
    }
    if !GLOBAL_V6.contains(&ip) {
        return Err(AddressError::Reserved);
    }
    // ISATAP: a router with such an interface unpacks the packet and sends it to the IPv4 address inside.
    let [.., high, low, _, _] = ip.segments();
    if matches!((high, low), (0 | 0x200, 0x5efe)) { check_v4(last_v4(ip)) } else { Ok(()) }
}

fn last_v4(ip: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = ip.octets();
    Ipv4Addr::new(a, b, c, d)
}

const fn v4([a, b, c, d]: [u8; 4], bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), bits)
}

const fn v6([a, b, c, d, e, f, g, h]: [u16; 8], bits: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), bits)
}
