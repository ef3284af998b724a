//! The check that an IP address is public, which means that it belongs to the same host from everywhere on the
//! Internet.
//!
//! Every other address is refused with its class: addresses of this machine or network (loopback, private networks, the
//! link, cloud metadata), unassigned addresses, and every form of IPv6 that contains such an IPv4 address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ibeam_protocol::{Sentence, sentence_text};

/// The class of an address that is not public. `Display` prints a noun phrase, such as "a loopback address".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NonPublicAddress(&'static str);

impl NonPublicAddress {
    pub(crate) fn sentence(&self) -> Sentence {
        self.0.into()
    }
}

/// A block of addresses: its first address, the length of its prefix in bits, its class.
type Block<Address> = (Address, u32, &'static str);

const PRIVATE: &str = sentence_text!("a private address");
const LOOPBACK: &str = sentence_text!("a loopback address");
const LINK_LOCAL: &str = sentence_text!("a link-local address");
const MULTICAST: &str = sentence_text!("a multicast address");
const DOCUMENTATION: &str = sentence_text!("an address for documentation");
const BENCHMARKING: &str = sentence_text!("an address for benchmarks");
const SHARED: &str = sentence_text!("an address shared by the customers of a network");
const METADATA: &str = sentence_text!("an address of cloud metadata");
const UNSPECIFIED: &str = sentence_text!("an unspecified address");
const RESERVED: &str = sentence_text!("a reserved address");

/// The special-purpose registry of IPv4. The first block that covers an address gives its class.
const IPV4: &[Block<Ipv4Addr>] = &[
    (Ipv4Addr::new(169, 254, 169, 254), 32, METADATA),
    (Ipv4Addr::new(100, 100, 100, 200), 32, METADATA),
    (Ipv4Addr::new(192, 0, 0, 192), 32, METADATA),
    // A public address, but one large cloud uses it for the services of the host.
    (Ipv4Addr::new(168, 63, 129, 16), 32, METADATA),
    (Ipv4Addr::new(0, 0, 0, 0), 8, UNSPECIFIED),
    (Ipv4Addr::new(10, 0, 0, 0), 8, PRIVATE),
    (Ipv4Addr::new(100, 64, 0, 0), 10, SHARED),
    (Ipv4Addr::new(127, 0, 0, 0), 8, LOOPBACK),
    (Ipv4Addr::new(169, 254, 0, 0), 16, LINK_LOCAL),
    (Ipv4Addr::new(172, 16, 0, 0), 12, PRIVATE),
    (Ipv4Addr::new(192, 0, 0, 0), 24, RESERVED),
    (Ipv4Addr::new(192, 0, 2, 0), 24, DOCUMENTATION),
    (Ipv4Addr::new(192, 88, 99, 0), 24, RESERVED),
    (Ipv4Addr::new(192, 168, 0, 0), 16, PRIVATE),
    (Ipv4Addr::new(198, 18, 0, 0), 15, BENCHMARKING),
    (Ipv4Addr::new(198, 51, 100, 0), 24, DOCUMENTATION),
    (Ipv4Addr::new(203, 0, 113, 0), 24, DOCUMENTATION),
    (Ipv4Addr::new(224, 0, 0, 0), 4, MULTICAST),
    (Ipv4Addr::new(240, 0, 0, 0), 4, RESERVED),
];

/// The special-purpose registry of IPv6. Every other address outside `IPV6_PUBLIC` is reserved.
const IPV6: &[Block<Ipv6Addr>] = &[
    (Ipv6Addr::UNSPECIFIED, 128, UNSPECIFIED),
    (Ipv6Addr::LOCALHOST, 128, LOOPBACK),
    (Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254), 128, METADATA),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, PRIVATE),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, LINK_LOCAL),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, PRIVATE),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, MULTICAST),
    (Ipv6Addr::new(0x2001, 0x0002, 0, 0, 0, 0, 0, 0), 48, BENCHMARKING),
    // Teredo and other protocols.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, RESERVED),
    (Ipv6Addr::new(0x2001, 0x0db8, 0, 0, 0, 0, 0, 0), 32, DOCUMENTATION),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, DOCUMENTATION),
];
/// The block 2000::/3 of public addresses.
const IPV6_PUBLIC: Block<Ipv6Addr> = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3, "");

/// Checks that `address` is public.
///
/// # Errors
/// The class of the address, if it is not public.
pub fn check_public(address: IpAddr) -> Result<(), NonPublicAddress> {
    match address {
        IpAddr::V4(address) => check_v4(address),
        IpAddr::V6(address) => check_v6(address),
    }
}

fn check_v4(address: Ipv4Addr) -> Result<(), NonPublicAddress> {
    let covers = |block: &&Block<Ipv4Addr>| {
        let (first, bits, _) = **block;
        let shift = u32::BITS - bits;
        address.to_bits() >> shift == first.to_bits() >> shift
    };
    IPV4.iter().find(covers).map_or(Ok(()), |(.., what)| Err(NonPublicAddress(what)))
}

fn check_v6(address: Ipv6Addr) -> Result<(), NonPublicAddress> {
    let covers = |block: &&Block<Ipv6Addr>| {
        let (first, bits, _) = **block;
        let shift = u128::BITS - bits;
        address.to_bits() >> shift == first.to_bits() >> shift
    };
    if let Some((.., what)) = IPV6.iter().find(covers) {
        return Err(NonPublicAddress(what));
    }
    match embedded_ipv4(address) {
        EmbeddedIpv4::Destination(inside) => check_v4(inside),
        EmbeddedIpv4::PossibleRoute(inside) if check_v4(inside).is_err() => check_v4(inside),
        EmbeddedIpv4::PossibleRoute(_) | EmbeddedIpv4::None if covers(&&IPV6_PUBLIC) => Ok(()),
        EmbeddedIpv4::PossibleRoute(_) | EmbeddedIpv4::None => Err(NonPublicAddress(RESERVED)),
    }
}

/// The IPv4 address inside an IPv6 address.
enum EmbeddedIpv4 {
    /// Packets go to the IPv4 address: mapped addresses, and NAT64 with the well-known prefix.
    Destination(Ipv4Addr),
    /// Packets may be routed to the IPv4 address: 6to4, ISATAP, IPv4-compatible addresses.
    PossibleRoute(Ipv4Addr),
    None,
}

fn embedded_ipv4(address: Ipv6Addr) -> EmbeddedIpv4 {
    let [a, b, c, d, e, f, ..] = address.segments();
    let low = Ipv4Addr::from_bits((address.to_bits() & u128::from(u32::MAX)) as u32);
    match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0, 0xffff) | (0x64, 0xff9b, 0, 0, 0, 0) => EmbeddedIpv4::Destination(low),
        (0x2002, ..) => EmbeddedIpv4::PossibleRoute(Ipv4Addr::from_bits((u32::from(b) << 16) | u32::from(c))),
        (0, 0, 0, 0, 0, 0) | (.., 0 | 0x0200, 0x5efe) => EmbeddedIpv4::PossibleRoute(low),
        _ => EmbeddedIpv4::None,
    }
}

#[cfg(test)]
#[path = "public_address_test.rs"]
mod tests;
