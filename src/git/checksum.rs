//! The checksum at the end of an index file (gitformat-index(5)). Git writes it and, when it reads an index, does
//! not look at it: an index that was cut short is then read as one with other entries.

use std::fs;
use std::path::Path;

use memchr::memmem;

use super::index_file::Index;

/// Whether an index file is there and is what git wrote; `oid` is the length of an object id in bytes. Without a
/// checksum (`index.skipHash`) nothing speaks against it.
#[must_use]
pub fn is_intact(index: &Path, oid: usize) -> bool {
    fs::read(index).is_ok_and(|bytes| is_whole(&bytes, oid))
}

/// Whether these bytes end with their own checksum, or with zeros in its place.
fn is_whole(bytes: &[u8], oid: usize) -> bool {
    let Some((body, sum)) = bytes.split_at_checked(bytes.len().saturating_sub(oid)) else {
        return false;
    };
    if sum.iter().all(|byte| *byte == 0) {
        // A file can be cut behind zeros too. What only git can read has one of these extensions.
        let only_git = [&b"link\0\0"[..], b"sdir\0\0\0\0"];
        return Index::parse(bytes, oid).is_some()
            || only_git.iter().any(|name| memmem::find(body, name).is_some());
    }
    match oid {
        20 => sha1(body) == sum,
        32 => sha256(body) == sum,
        _ => true,
    }
}

/// The message in blocks of 64 bytes, padded as both algorithms want it.
fn blocks(message: &[u8], mut each: impl FnMut(&[u8])) {
    let whole = message.chunks_exact(64);
    let mut last = whole.remainder().to_vec();
    whole.for_each(&mut each);
    last.push(0x80);
    let zeros = (120 - last.len() % 64) % 64;
    last.resize(last.len() + zeros, 0);
    let bits = u64::try_from(message.len()).unwrap_or(u64::MAX).wrapping_mul(8);
    last.extend(bits.to_be_bytes());
    last.chunks_exact(64).for_each(each);
}

fn words(block: &[u8]) -> impl Iterator<Item = u32> {
    let fold = |bytes: &[u8]| bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
    block.chunks_exact(4).map(fold)
}

fn bytes_of(state: &[u32]) -> Vec<u8> {
    state.iter().flat_map(|word| word.to_be_bytes()).collect()
}

#[expect(clippy::many_single_char_names, reason = "the names of FIPS 180-4")]
fn sha1(message: &[u8]) -> Vec<u8> {
    let mut state: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    blocks(message, |block| {
        let mut w = [0_u32; 80];
        w.iter_mut().zip(words(block)).for_each(|(w, word)| *w = word);
        for t in 16..80 {
            w[t] = (w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16]).rotate_left(1);
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (t, word) in w.iter().enumerate() {
            let (f, k) = match t / 20 {
                0 => ((b & c) | (!b & d), 0x5a82_7999),
                1 => (b ^ c ^ d, 0x6ed9_eba1),
                2 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6_u32),
            };
            let next = a.rotate_left(5).wrapping_add(f).wrapping_add(e);
            let next = next.wrapping_add(k).wrapping_add(*word);
            (a, b, c, d, e) = (next, a, b.rotate_left(30), c, d);
        }
        for (old, new) in state.iter_mut().zip([a, b, c, d, e]) {
            *old = old.wrapping_add(new);
        }
    });
    bytes_of(&state)
}

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
const K: [u32; 64] = [
    0x428a_2f98,
    0x7137_4491,
    0xb5c0_fbcf,
    0xe9b5_dba5,
    0x3956_c25b,
    0x59f1_11f1,
    0x923f_82a4,
    0xab1c_5ed5,
    0xd807_aa98,
    0x1283_5b01,
    0x2431_85be,
    0x550c_7dc3,
    0x72be_5d74,
    0x80de_b1fe,
    0x9bdc_06a7,
    0xc19b_f174,
    0xe49b_69c1,
    0xefbe_4786,
    0x0fc1_9dc6,
    0x240c_a1cc,
    0x2de9_2c6f,
    0x4a74_84aa,
    0x5cb0_a9dc,
    0x76f9_88da,
    0x983e_5152,
    0xa831_c66d,
    0xb003_27c8,
    0xbf59_7fc7,
    0xc6e0_0bf3,
    0xd5a7_9147,
    0x06ca_6351,
    0x1429_2967,
    0x27b7_0a85,
    0x2e1b_2138,
    0x4d2c_6dfc,
    0x5338_0d13,
    0x650a_7354,
    0x766a_0abb,
    0x81c2_c92e,
    0x9272_2c85,
    0xa2bf_e8a1,
    0xa81a_664b,
    0xc24b_8b70,
    0xc76c_51a3,
    0xd192_e819,
    0xd699_0624,
    0xf40e_3585,
    0x106a_a070,
    0x19a4_c116,
    0x1e37_6c08,
    0x2748_774c,
    0x34b0_bcb5,
    0x391c_0cb3,
    0x4ed8_aa4a,
    0x5b9c_ca4f,
    0x682e_6ff3,
    0x748f_82ee,
    0x78a5_636f,
    0x84c8_7814,
    0x8cc7_0208,
    0x90be_fffa,
    0xa450_6ceb,
    0xbef9_a3f7,
    0xc671_78f2,
];

#[expect(clippy::many_single_char_names, reason = "the names of FIPS 180-4")]
fn sha256(message: &[u8]) -> Vec<u8> {
    let mut state: [u32; 8] = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];
    blocks(message, |block| {
        let mut w = [0_u32; 64];
        w.iter_mut().zip(words(block)).for_each(|(w, word)| *w = word);
        for t in 16..64 {
            let low = w[t - 15].rotate_right(7) ^ w[t - 15].rotate_right(18) ^ (w[t - 15] >> 3);
            let high = w[t - 2].rotate_right(17) ^ w[t - 2].rotate_right(19) ^ (w[t - 2] >> 10);
            w[t] = w[t - 16]
                .wrapping_add(low)
                .wrapping_add(w[t - 7])
                .wrapping_add(high);
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
        for (k, word) in K.iter().zip(&w) {
            let sum = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let one = h.wrapping_add(sum).wrapping_add((e & f) ^ (!e & g));
            let one = one.wrapping_add(*k).wrapping_add(*word);
            let sum = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let two = sum.wrapping_add((a & b) ^ (a & c) ^ (b & c));
            (a, b, c, d, e, f, g, h) = (one.wrapping_add(two), a, b, c, d.wrapping_add(one), e, f, g);
        }
        for (old, new) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *old = old.wrapping_add(new);
        }
    });
    bytes_of(&state)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_sums_are_those_of_the_standard() {
        assert_eq!(hex(&sha1(b"abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(hex(&sha1(b"")), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        let million = vec![b'a'; 1_000_000];
        assert_eq!(hex(&sha1(&million)), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex(&sha256(b"abc")), abc);
        let wanted = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
        assert_eq!(hex(&sha256(&million)), wanted);
        // Every length of the last block.
        let lengths: std::collections::BTreeSet<_> = (0..130).map(|n| sha1(&million[..n])).collect();
        assert_eq!(lengths.len(), 130);
    }

    #[test]
    fn an_index_that_was_cut_or_damaged_is_not_whole() {
        for (format, oid) in [("sha1", 20), ("sha256", 32)] {
            let dir = tempfile::tempdir().unwrap();
            let git = |args: &[&str]| {
                let git = crate::git::Git::at(dir.path());
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let (verb, args) = args.split_first().unwrap();
                let verb: &'static str = verb.to_string().leak();
                runtime.unwrap().block_on(git.cmd(verb, args).done()).unwrap();
            };
            git(&["init", "-q", "--object-format", format]);
            for name in ["a", "b", "d", "longer.txt"] {
                fs::write(dir.path().join(name), name).unwrap();
            }
            git(&["add", "-A"]);
            let index = dir.path().join(".git/index");
            assert!(is_intact(&index, oid));
            let bytes = fs::read(&index).unwrap();
            for end in 0..bytes.len() {
                assert!(!is_whole(&bytes[..end], oid), "{format}: cut to {end}");
                let mut flipped = bytes.clone();
                flipped[end] ^= 1;
                assert!(!is_whole(&flipped, oid), "{format}: {end} flipped");
            }
            let mut without = bytes.clone();
            let sum = without.len() - oid;
            without[sum..].fill(0);
            assert!(is_whole(&without, oid));
            assert!(!is_intact(&dir.path().join("none"), oid));
        }
    }
}
