use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::check_public;

#[track_caller]
fn check(address: &str, expect: Result<(), &str>) {
    let found = check_public(address.parse().unwrap()).map_err(|what| what.to_string());
    assert_eq!(found, expect.map_err(str::to_owned), "{address}");
}

#[test]
fn public_addresses_are_public() {
    for address in [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2606:4700:4700::1111",
        "2a00:1450::200e",
        "2001:200::1",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2002:808:808::1",
    ] {
        check(address, Ok(()));
    }
}

#[test]
fn every_other_class_of_address_is_refused_with_its_name() {
    for (addresses, what) in [
        ("127.0.0.1 127.255.255.255 ::1", "a loopback address"),
        ("10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 fc00::1 fdff::1 fec0::1", "a private address"),
        ("169.254.0.1 169.254.170.2 fe80::1 febf::1", "a link-local address"),
        (
            "169.254.169.254 100.100.100.200 192.0.0.192 168.63.129.16 fd00:ec2::254",
            "an address of cloud metadata",
        ),
        ("100.64.0.1 100.127.255.255", "an address shared by the customers of a network"),
        ("0.0.0.0 0.1.2.3 ::", "an unspecified address"),
        ("224.0.0.1 239.255.255.255 ff02::1", "a multicast address"),
        ("192.0.2.1 198.51.100.1 203.0.113.1 2001:db8::1 3fff::1", "an address for documentation"),
        ("198.18.0.1 198.19.255.255 2001:2::1", "an address for benchmarks"),
        ("192.0.0.1 192.88.99.1 240.0.0.1 255.255.255.255 2001::1 2001:1ff::1", "a reserved address"),
        (
            "::8.8.8.8 64:ff9b:1::1 100::1 4000::1 1fff::1 ::fffe:8.8.8.8 ::ffff:0:8.8.8.8",
            "a reserved address",
        ),
    ] {
        for address in addresses.split(' ') {
            check(address, Err(what));
        }
    }
}

#[test]
fn an_ipv4_address_inside_an_ipv6_address_is_checked() {
    for address in [
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "64:ff9b::127.0.0.1",
        "2002:7f00:1::",
        "2002:7f00:1:1::5",
        "2606:4700::5efe:127.0.0.1",
        "2606:4700::200:5efe:127.0.0.1",
    ] {
        check(address, Err("a loopback address"));
    }
    check("::ffff:169.254.169.254", Err("an address of cloud metadata"));
    check("64:ff9b::10.0.0.1", Err("a private address"));
}

fn with_low(high: u128, low: Ipv4Addr) -> IpAddr {
    Ipv6Addr::from_bits(high | u128::from(low.to_bits())).into()
}

proptest! {
    #[test]
    fn no_form_of_ipv6_hides_an_ipv4_address(bits: u32) {
        let address = Ipv4Addr::from_bits(bits);
        let verdict = check_public(address.into());
        prop_assert_eq!(check_public(address.to_ipv6_mapped().into()), verdict);
        prop_assert_eq!(check_public(with_low(0x0064_ff9b << 96, address)), verdict);
        let six_to_four = Ipv6Addr::from_bits((0x2002 << 112) | (u128::from(bits) << 80) | 1);
        prop_assert_eq!(check_public(six_to_four.into()), verdict);
        prop_assert!(check_public(address.to_ipv6_compatible().into()).is_err());
    }

    #[test]
    fn special_addresses_of_the_standard_library_are_never_public(bits: u32, wide: u128) {
        let address = Ipv4Addr::from_bits(bits);
        let special = address.is_private() || address.is_loopback() || address.is_link_local()
            || address.is_multicast() || address.is_documentation() || address.is_broadcast()
            || address.is_unspecified();
        prop_assert!(!special || check_public(address.into()).is_err());
        let address = Ipv6Addr::from_bits(wide);
        let special = address.is_loopback() || address.is_multicast() || address.is_unicast_link_local()
            || address.is_unique_local() || address.is_unspecified();
        prop_assert!(!special || check_public(address.into()).is_err());
    }
}
