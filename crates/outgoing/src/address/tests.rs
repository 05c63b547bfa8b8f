//! Tests of the address table against lists written by hand, and of its edges with random addresses.

use proptest::prelude::*;

use super::*;

fn purpose(text: &str) -> Option<&'static str> {
    special_purpose(text.parse().unwrap())
}

#[test]
fn only_the_public_internet_is_public() {
    let refused = [
        "0.0.0.0",
        "0.1.2.3",
        "127.0.0.1",
        "127.255.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "100.127.255.255",
        "192.0.0.170",
        "192.0.2.1",
        "192.88.99.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.7",
        "224.0.0.1",
        "239.1.1.1",
        "240.0.0.1",
        "254.1.2.3",
        "255.255.255.255",
        "::",
        "::1",
        "::2",
        "::127.0.0.1",
        "::8.8.8.8",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:198.18.0.1",
        "::ffff:240.0.0.1",
        "::ffff:0:127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a00:1",
        "64:ff9b::c612:1",
        "64:ff9b:1::1",
        "64:ff9b:1::8.8.8.8",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "2002:f000:1::1",
        "2001::1",
        "2001:0:808:808::1",
        "2001:2::1",
        "2001:10::1",
        "2001:1ff::1",
        "2001:db8::1",
        "3fff::1",
        "3fff:fff::1",
        "fc00::1",
        "fd12::1",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "ff02::1",
        "100::1",
        "4000::1",
        "5f00::1",
        "e000::1",
    ];
    for text in refused {
        assert!(purpose(text).is_some(), "{text} must not be public");
    }
    let public = [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "128.0.0.0",
        "126.255.255.255",
        "172.15.0.1",
        "172.32.0.1",
        "100.63.255.255",
        "100.128.0.1",
        "169.253.255.255",
        "192.1.2.3",
        "192.0.1.1",
        "192.0.3.1",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.1",
        "223.255.255.255",
        "2606:4700::1111",
        "2001:200::1",
        "2001:4860:4860::8888",
        "3fff:1000::1",
        "3ffe::1",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2002:808:808::1",
    ];
    for text in public {
        assert_eq!(purpose(text), None, "{text} is public");
    }
}

#[test]
fn purposes_have_names() {
    let cases = [
        ("169.254.169.254", "link-local"),
        ("100.64.0.1", "carrier-grade NAT"),
        ("198.18.0.1", "benchmarking"),
        ("255.255.255.255", "broadcast"),
        ("240.0.0.1", "reserved"),
        ("::1", "loopback"),
        ("fd00::1", "private"),
        ("2001::1", "a Teredo tunnel"),
        ("::ffff:192.168.0.1", "private"),
    ];
    for (text, expected) in cases {
        assert_eq!(purpose(text), Some(expected), "{text}");
    }
}

#[test]
fn every_row_covers_its_first_and_its_last_address_and_begins_where_it_says() {
    for range in V4 {
        let host_bits = u32::MAX.checked_shr(range.prefix).unwrap_or(0);
        assert_eq!(range.network & host_bits, 0, "{} is no network", Ipv4Addr::from_bits(range.network));
        for bits in [range.network, range.network | host_bits] {
            assert!(purpose_v4(Ipv4Addr::from_bits(bits)).is_some(), "{}", Ipv4Addr::from_bits(bits));
        }
    }
    for range in V6 {
        let host_bits = u128::MAX.checked_shr(range.prefix).unwrap_or(0);
        assert_eq!(range.network & host_bits, 0, "{} is no network", Ipv6Addr::from_bits(range.network));
        for bits in [range.network, range.network | host_bits] {
            assert!(purpose_v6(Ipv6Addr::from_bits(bits)).is_some(), "{}", Ipv6Addr::from_bits(bits));
        }
    }
}

/// The same question, answered by the standard library as far as it can, and by plain comparisons.
fn is_public_by_hand(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(a == 0
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast()
        || address.is_broadcast()
        || a >= 240
        || (a == 100 && b & 0xc0 == 64)
        || (a == 198 && b & 0xfe == 18)
        || (a, b, c) == (192, 0, 0)
        || (a, b, c) == (192, 88, 99))
}

/// Addresses near the edges of rows, which chance alone would seldom meet, and any others.
fn addresses_v4() -> impl Strategy<Value = u32> {
    let near = (0..V4.len(), any::<bool>(), 0u32..3).prop_map(|(row, at_end, off)| {
        let range = &V4[row];
        let end = range.network | u32::MAX.checked_shr(range.prefix).unwrap_or(0);
        if at_end {
            end.wrapping_add(off).wrapping_sub(1)
        } else {
            range.network.wrapping_add(off).wrapping_sub(1)
        }
    });
    prop_oneof![any::<u32>(), near]
}

proptest! {
    #[test]
    fn ipv4_is_judged_as_by_hand(bits in addresses_v4()) {
        let address = Ipv4Addr::from_bits(bits);
        prop_assert_eq!(purpose_v4(address).is_none(), is_public_by_hand(address), "{}", address);
    }

    #[test]
    fn an_address_is_not_more_public_in_other_clothes(bits in addresses_v4()) {
        let address = Ipv4Addr::from_bits(bits);
        let expected = purpose_v4(address);
        let [high, low] = [(bits >> 16) as u16, bits as u16];
        let same = [
            address.to_ipv6_mapped(),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
        ];
        for dressed in same {
            prop_assert_eq!(special_purpose(dressed.into()), expected, "{}", dressed);
        }
        let never = [
            Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
            Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low),
            Ipv6Addr::new(0x2001, 0, high, low, 0, 0, !high, !low),
        ];
        for dressed in never {
            prop_assert!(special_purpose(dressed.into()).is_some(), "{}", dressed);
        }
    }

    #[test]
    fn ipv6_outside_of_global_unicast_is_never_public(bits in any::<u128>()) {
        let address = Ipv6Addr::from_bits(bits);
        let global = address.segments()[0] & 0xe000 == 0x2000;
        prop_assert!(global || embedded(address).is_some() || purpose_v6(address).is_some(), "{}", address);
    }
}
