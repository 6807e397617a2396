//! Encryption of a ledger at rest.
//!
//! ```text
//!  THRONG-LEDGER 4 | salt, 32 bytes | section 0 | section 1 | … | directory | length of the directory
//! ```
//!
//! Every file has its own key, derived from the ledger key and a random salt. Sections are sealed with
//! ChaCha20-Poly1305 with their number as the nonce, and so is the directory, which holds their offsets: a truncated or
//! reordered file is not opened. A section can be read without the others.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use throng_core::key::ReleaseKey;

/// First bytes of a ledger: a name and the version of the format.
const MAGIC: &[u8; 16] = b"THRONG-LEDGER\0\0\x04";
/// Common prefix of ledgers of all versions.
const NAME: &[u8] = MAGIC.split_at(15).0;
const SALT_BYTES: usize = 32;
const LENGTH_BYTES: usize = 8;
/// Number of the directory. No file has that many sections.
const DIRECTORY: u64 = u64::MAX;
/// Maximum size of a directory: enough for more sections than any ledger has.
const MAX_DIRECTORY_BYTES: u64 = 64 << 20;

/// Location of a section in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Section {
    number: u64,
    offset: u64,
    sealed: u64,
    /// Size before it was sealed.
    pub(super) plain: u64,
}

/// A file that is being sealed.
pub(super) struct SealingFile {
    file: File,
    key: LessSafeKey,
    sections: u64,
    end: u64,
}

impl SealingFile {
    /// Begins a file.
    pub(super) fn create(mut file: File, key: ReleaseKey) -> io::Result<Self> {
        let mut salt = [0; SALT_BYTES];
        SystemRandom::new().fill(&mut salt).map_err(io::Error::other)?;
        file.write_all(MAGIC)?;
        file.write_all(&salt)?;
        let key = file_key(key, &salt).ok_or_else(not_sealed)?;
        Ok(Self { file, key, sections: 0, end: (MAGIC.len() + SALT_BYTES) as u64 })
    }

    /// Appends a section.
    pub(super) fn push(&mut self, mut bytes: Vec<u8>) -> io::Result<Section> {
        let plain = bytes.len() as u64;
        self.key.seal_in_place_append_tag(nonce(self.sections), Aad::empty(), &mut bytes).map_err(|_| not_sealed())?;
        self.file.write_all(&bytes)?;
        let section = Section { number: self.sections, offset: self.end, sealed: bytes.len() as u64, plain };
        self.sections += 1;
        self.end += section.sealed;
        Ok(section)
    }

    /// Finishes the file with its directory. Returns the file and its size.
    pub(super) fn finish(mut self, mut directory: Vec<u8>) -> io::Result<(File, u64)> {
        self.key.seal_in_place_append_tag(nonce(DIRECTORY), Aad::empty(), &mut directory).map_err(|_| not_sealed())?;
        self.file.write_all(&directory)?;
        self.file.write_all(&(directory.len() as u64).to_le_bytes())?;
        Ok((self.file, self.end + (directory.len() + LENGTH_BYTES) as u64))
    }
}

fn not_sealed() -> io::Error {
    io::Error::other("a section could not be encrypted")
}

/// A sealed file.
#[derive(Debug)]
pub(super) struct SealedFile {
    file: File,
    key: LessSafeKey,
}

/// The reason why a file can't be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotOpened {
    /// It is damaged, not a ledger, or sealed with another key.
    Damaged,
    /// It has the format of another version.
    OtherVersion,
}

impl SealedFile {
    /// Opens a file. Returns it with its directory.
    pub(super) fn open(mut file: File, key: ReleaseKey) -> Result<(Self, Vec<u8>), NotOpened> {
        let mut magic = [0; MAGIC.len()];
        file.seek(SeekFrom::Start(0)).and_then(|_| file.read_exact(&mut magic)).map_err(|_| NotOpened::Damaged)?;
        if magic.starts_with(NAME) && magic != *MAGIC {
            return Err(NotOpened::OtherVersion);
        }
        if magic != *MAGIC {
            return Err(NotOpened::Damaged);
        }
        Self::opened(file, key).ok_or(NotOpened::Damaged)
    }

    fn opened(mut file: File, key: ReleaseKey) -> Option<(Self, Vec<u8>)> {
        let mut salt = [0; SALT_BYTES];
        file.read_exact(&mut salt).ok()?;
        let key = file_key(key, &salt)?;
        let end = file.seek(SeekFrom::End(0)).ok()?.checked_sub(LENGTH_BYTES as u64)?;
        let mut length = [0; LENGTH_BYTES];
        file.seek(SeekFrom::Start(end)).and_then(|_| file.read_exact(&mut length)).ok()?;
        let length = u64::from_le_bytes(length).min(MAX_DIRECTORY_BYTES);
        let opened = Self { file, key };
        let directory = opened.unsealed(DIRECTORY, end.checked_sub(length)?, length)?;
        Some((opened, directory))
    }

    /// Reads a section. `None` if it is damaged.
    pub(super) fn read(&self, section: Section) -> Option<Vec<u8>> {
        self.unsealed(section.number, section.offset, section.sealed)
    }

    fn unsealed(&self, number: u64, offset: u64, length: u64) -> Option<Vec<u8>> {
        let mut file = &self.file;
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(offset)).ok()?;
        file.take(length).read_to_end(&mut bytes).ok()?;
        let plain = self.key.open_in_place(nonce(number), Aad::empty(), &mut bytes).ok()?.len();
        bytes.truncate(plain);
        Some(bytes)
    }
}

fn file_key(key: ReleaseKey, salt: &[u8]) -> Option<LessSafeKey> {
    let key = key.derive("ledger file", salt).to_bytes();
    Some(LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &key).ok()?))
}

/// Returns the nonce of a section. It is never reused: section numbers differ within a file, and keys differ between
/// files.
fn nonce(number: u64) -> Nonce {
    let mut bytes = [0; NONCE_LEN];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(key: ReleaseKey, sections: &[&[u8]]) -> (Vec<u8>, Vec<Section>) {
        let mut sealing = SealingFile::create(tempfile::tempfile().unwrap(), key).unwrap();
        let places = sections.iter().map(|section| sealing.push(section.to_vec()).unwrap()).collect();
        let (mut file, size) = sealing.finish(b"directory".to_vec()).unwrap();
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes.len() as u64, size);
        (bytes, places)
    }

    fn open(key: ReleaseKey, bytes: &[u8]) -> Result<(SealedFile, Vec<u8>), NotOpened> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        SealedFile::open(file, key)
    }

    #[test]
    fn a_ledger_is_opened_with_its_key_only_and_only_as_a_whole() {
        let key = ReleaseKey::PUBLIC.derive("test", b"1");
        let (bytes, places) = sealed(key, &[b"first", b"", b"third section"]);
        let (file, directory) = open(key, &bytes).unwrap();
        assert_eq!(directory, b"directory");
        let read: Vec<Vec<u8>> = places.iter().map(|place| file.read(*place).unwrap()).collect();
        assert_eq!(read, [b"first".to_vec(), b"".to_vec(), b"third section".to_vec()]);
        assert_eq!(file.read(Section { number: 2, ..places[0] }), None, "a section in place of another");
        assert_eq!(open(ReleaseKey::PUBLIC, &bytes).unwrap_err(), NotOpened::Damaged, "another key");
        for cut in [1, 8, 16, bytes.len() - 20, bytes.len()] {
            assert!(open(key, &bytes[..bytes.len() - cut]).is_err(), "cut off by {cut}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            let is_read =
                open(key, &damaged).is_ok_and(|(file, _)| places.iter().all(|place| file.read(*place).is_some()));
            assert!(!is_read, "a flipped bit at {at}");
        }
        let (again, _) = sealed(key, &[b"first", b"", b"third section"]);
        assert_ne!(bytes, again, "every file has a key of its own");
        assert!(open(key, &[&bytes, &again[..]].concat()).is_err(), "more after the end");
    }

    #[test]
    fn another_version_is_distinguished_from_damage() {
        let mut bytes = sealed(ReleaseKey::PUBLIC, &[]).0;
        bytes[15] = 1;
        assert_eq!(open(ReleaseKey::PUBLIC, &bytes).unwrap_err(), NotOpened::OtherVersion);
    }
}
