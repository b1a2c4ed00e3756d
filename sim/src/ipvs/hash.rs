//! The kernel's hash functions that decide where a connection goes, bit for bit.

use std::net::IpAddr;

/// Hashes 32 bits to the given number of them, by multiplication with the golden ratio
/// (`include/linux/hash.h`, `hash_32`). No bits or more than 32 give 0.
#[must_use]
pub fn hash_32(value: u32, bits: u32) -> u32 {
    const GOLDEN_RATIO_32: u32 = 0x61C8_8647;
    let shift = 32_u32.saturating_sub(bits);
    value.wrapping_mul(GOLDEN_RATIO_32).checked_shr(shift).unwrap_or(0)
}

/// Returns an address as the one number that all schedulers hash: an IPv4 address itself, of an
/// IPv6 address the exclusive or of its four words.
#[must_use]
pub fn folded(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(address) => address.to_bits(),
        IpAddr::V6(address) => {
            let mut words = [[0; 4]; 4];
            words.as_flattened_mut().copy_from_slice(&address.octets());
            words.into_iter().map(u32::from_be_bytes).fold(0, |folded, word| folded ^ word)
        }
    }
}

/// A key of [`hsiphash`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HsiphashKey(pub [u64; 2]);

/// Hashes four bytes as the kernel does on 64-bit machines: SipHash-1-3, folded to 32 bits
/// (`lib/siphash.c`, `__hsiphash_unaligned`; on 32-bit machines it is `HalfSipHash`, and maglev tables
/// differ).
#[must_use]
pub fn hsiphash(value: u32, key: HsiphashKey) -> u32 {
    let [k0, k1] = key.0;
    let mut v = [
        0x736f_6d65_7073_6575 ^ k0,
        0x646f_7261_6e64_6f6d ^ k1,
        0x6c79_6765_6e65_7261 ^ k0,
        0x7465_6462_7974_6573 ^ k1,
    ];
    let block = (4 << 56) | u64::from(value);
    v[3] ^= block;
    round(&mut v);
    v[0] ^= block;
    v[2] ^= 0xff;
    (0..3).for_each(|_| round(&mut v));
    let [v0, v1, v2, v3] = v;
    let [low @ .., _, _, _, _] = (v0 ^ v1 ^ v2 ^ v3).to_le_bytes();
    u32::from_le_bytes(low)
}

/// One `SipRound` (Aumasson and Bernstein, "`SipHash`: a fast short-input PRF", 2012).
fn round(v: &mut [u64; 4]) {
    let [v0, v1, v2, v3] = *v;
    let ((v0, v1), (v2, v3)) = (mixed(v0, v1, 13), mixed(v2, v3, 16));
    let ((v0, v3), (v2, v1)) = (mixed(v0.rotate_left(32), v3, 21), mixed(v2, v1, 17));
    *v = [v0, v1, v2.rotate_left(32), v3];
}

/// Adds a word to another, and rotates and mixes it.
fn mixed(to: u64, word: u64, rotation: u32) -> (u64, u64) {
    let sum = to.wrapping_add(word);
    (sum, word.rotate_left(rotation) ^ sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_32_takes_the_high_bits_of_the_product() {
        assert_eq!(hash_32(1, 8), 0x61);
        assert_eq!(hash_32(1, 32), 0x61C8_8647);
        assert_eq!(hash_32(0x0A60_0001, 0), 0);
        assert_eq!(hash_32(3, 8), 0x25);
    }

    #[test]
    fn ipv6_folds_to_one_word() {
        assert_eq!(folded([10, 96, 0, 1].into()), 0x0A60_0001);
        let address: IpAddr = "2001:db8::1:0:0:2".parse().unwrap();
        assert_eq!(folded(address), 0x2001_0db8 ^ 0x0001_0000 ^ 2);
    }
}
