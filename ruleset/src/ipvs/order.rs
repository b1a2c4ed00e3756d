//! The order in which `ipvsadm` lists virtual and real servers.
//!
//! The tool subtracts 32-bit words and takes the difference for a signed number, so addresses from
//! 128.0.0.0 on may come before lower ones. That is no order in the strict sense, so the result also
//! depends on the way of sorting, which is that of the C library: a merge sort.

use std::cmp::Ordering;
use std::net::{IpAddr, Ipv6Addr};

use super::ast::{RealServer, ServiceId};
use crate::protocol::Protocol;

/// Sorts virtual servers as the tool lists them.
pub(super) fn sort_services<T>(services: &mut Vec<(ServiceId, T)>) {
    merge_sort(services, &|(a, _), (b, _)| compare_services(a, b));
}

/// Sorts real servers as the tool lists them.
pub(super) fn sort_real_servers(servers: &mut Vec<&RealServer>) {
    merge_sort(servers, &|a, b| {
        compare_addresses(a.address, b.address).then_with(|| a.port.cmp(&b.port))
    });
}

fn compare_services(a: &ServiceId, b: &ServiceId) -> Ordering {
    let mark = |id: &ServiceId| match id {
        ServiceId::Mark { mark, .. } => *mark,
        ServiceId::Address { .. } => 0,
    };
    let marks = difference(mark(a), mark(b)).then_with(|| a.is_ipv6().cmp(&b.is_ipv6()));
    marks.then_with(|| match (socket(a), socket(b)) {
        (Some((protocol, address, port)), Some((other, to, last))) => protocol
            .cmp(&other)
            .then_with(|| compare_addresses(address, to))
            .then_with(|| port.cmp(&last)),
        _ => Ordering::Equal,
    })
}

fn socket(id: &ServiceId) -> Option<(Protocol, IpAddr, u16)> {
    match *id {
        ServiceId::Address { protocol, address, port } => Some((protocol, address, port)),
        ServiceId::Mark { .. } => None,
    }
}

fn compare_addresses(a: IpAddr, b: IpAddr) -> Ordering {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => difference(a.into(), b.into()),
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            let pairs = words(a).into_iter().zip(words(b));
            pairs.map(|(a, b)| difference(a, b)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        }
        (a, b) => a.is_ipv6().cmp(&b.is_ipv6()),
    }
}

/// Returns an address as four words.
fn words(address: Ipv6Addr) -> [u32; 4] {
    let segments = address.segments().map(u32::from);
    [0, 2, 4, 6].map(|i| segments[i] << 16 | segments[i + 1])
}

fn difference(a: u32, b: u32) -> Ordering {
    a.wrapping_sub(b).cast_signed().cmp(&0)
}

/// Sorts like `qsort` of the GNU C library: halves, the smaller one first, ties to the left. Unlike
/// the standard sort it may be given a comparison that is no order.
fn merge_sort<T>(items: &mut Vec<T>, compare: &impl Fn(&T, &T) -> Ordering) {
    if items.len() < 2 {
        return;
    }
    let mut right = items.split_off(items.len() / 2);
    merge_sort(items, compare);
    merge_sort(&mut right, compare);
    let mut left = std::mem::take(items).into_iter().peekable();
    let mut right = right.into_iter().peekable();
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if compare(a, b).is_le() { left.next() } else { right.next() };
        items.extend(next);
    }
    items.extend(left);
    items.extend(right);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(addresses: &[&str]) -> Vec<String> {
        let id = |text: &&str| ServiceId::Address {
            protocol: Protocol::TCP,
            address: text.parse().unwrap(),
            port: 80,
        };
        let mut services: Vec<_> = addresses.iter().map(|text| (id(text), ())).collect();
        sort_services(&mut services);
        let address = |(id, ()): &(ServiceId, ())| match id {
            ServiceId::Address { address, .. } => address.to_string(),
            ServiceId::Mark { .. } => String::new(),
        };
        services.iter().map(address).collect()
    }

    #[test]
    fn high_addresses_come_first() {
        assert_eq!(
            sorted(&["10.96.0.1", "203.0.113.1", "192.0.2.1"]),
            ["192.0.2.1", "203.0.113.1", "10.96.0.1"]
        );
        assert_eq!(
            sorted(&["2001:db8::1", "10.0.0.1", "fd00::2", "fd00::1"]),
            ["10.0.0.1", "fd00::1", "fd00::2", "2001:db8::1"]
        );
    }

    #[test]
    fn a_circle_does_no_harm() {
        assert_eq!(sorted(&["10.0.0.1", "100.0.0.1", "200.0.0.1"]).len(), 3);
    }
}
