//! Encryption of a ledger at rest.
//!
//! ```text
//!  THRONG-LEDGER 1 | salt, 32 bytes | chunk 0 | chunk 1 | … | last chunk
//! ```
//!
//! Every file has a key of its own, derived from the ledger key and a random salt. Chunks of up to 1 MiB are sealed with
//! ChaCha20-Poly1305 under their number; the last one is marked, so that a file that was cut off or reordered is not
//! opened.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use throng_core::key::ReleaseKey;

/// First bytes of a ledger: a name and the version of the format.
const MAGIC: &[u8; 16] = b"THRONG-LEDGER\0\0\x01";
const SALT_BYTES: usize = 32;
const CHUNK_BYTES: usize = 1 << 20;
const TAG_BYTES: usize = 16;

/// Encrypts a ledger. `None` if the system has no random numbers.
pub(super) fn seal(key: ReleaseKey, plain: &[u8]) -> Option<Vec<u8>> {
    let mut salt = [0; SALT_BYTES];
    SystemRandom::new().fill(&mut salt).ok()?;
    let key = file_key(key, &salt)?;
    let mut sealed = [MAGIC.as_slice(), &salt].concat();
    sealed.reserve(plain.len() + plain.len() / CHUNK_BYTES * TAG_BYTES + TAG_BYTES);
    let mut chunks = plain.chunks(CHUNK_BYTES).peekable();
    let mut number = 0;
    loop {
        let mut chunk = chunks.next().unwrap_or_default().to_vec();
        let is_last = chunks.peek().is_none();
        key.seal_in_place_append_tag(nonce(number), Aad::from([u8::from(is_last)]), &mut chunk).ok()?;
        sealed.extend_from_slice(&chunk);
        number += 1;
        if is_last {
            return Some(sealed);
        }
    }
}

/// Decrypts a ledger. `None` if it is damaged, of another version, or sealed with another key.
pub(super) fn open(key: ReleaseKey, sealed: &[u8]) -> Option<Vec<u8>> {
    let rest = sealed.strip_prefix(MAGIC)?;
    let (salt, mut rest) = rest.split_at_checked(SALT_BYTES)?;
    let key = file_key(key, salt)?;
    let mut plain = Vec::with_capacity(rest.len());
    let mut number = 0;
    loop {
        let (chunk, later) = rest.split_at(rest.len().min(CHUNK_BYTES + TAG_BYTES));
        let mut chunk = chunk.to_vec();
        let is_last = later.is_empty();
        let opened = key.open_in_place(nonce(number), Aad::from([u8::from(is_last)]), &mut chunk).ok()?;
        plain.extend_from_slice(opened);
        if is_last {
            return Some(plain);
        }
        (rest, number) = (later, number + 1);
    }
}

fn file_key(key: ReleaseKey, salt: &[u8]) -> Option<LessSafeKey> {
    let key = key.derive("ledger file", salt).to_bytes();
    Some(LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &key).ok()?))
}

/// Every chunk of a file has another number, and every file another key.
fn nonce(number: u64) -> Nonce {
    let mut bytes = [0; NONCE_LEN];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_is_opened_with_its_key_only_and_only_as_a_whole() {
        let key = ReleaseKey::PUBLIC.derive("test", b"1");
        for size in [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES] {
            let plain: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            let sealed = seal(key, &plain).unwrap();
            assert_eq!(open(key, &sealed).as_ref(), Some(&plain));
            assert_eq!(open(ReleaseKey::PUBLIC, &sealed), None, "another key");
            for cut in [1, TAG_BYTES, CHUNK_BYTES + TAG_BYTES, sealed.len()] {
                assert_eq!(open(key, &sealed[..sealed.len().saturating_sub(cut)]), None, "cut off by {cut} of {size}");
            }
            for at in [0, 15, 20, sealed.len() - 1] {
                let mut damaged = sealed.clone();
                damaged[at] ^= 1;
                assert_eq!(open(key, &damaged), None, "a flipped bit at {at}");
            }
        }
        assert_ne!(seal(key, b"same"), seal(key, b"same"), "every file has a key of its own");
    }
}
