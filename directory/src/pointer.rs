//! The pointer to the current epoch: the content of the file `current`.
use crate::layout;
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// SHA-256 (FIPS 180-4) of a file, written `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sha256Digest([u8; 32]);

impl Sha256Digest {
    pub(crate) fn digest(bytes: &[u8]) -> Sha256Digest {
        Sha256Digest(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Sha256Digest {
    type Err = PointerError;

    fn from_str(text: &str) -> Result<Sha256Digest, PointerError> {
        let bad = || PointerError(shortened(text));
        let digits = text
            .strip_prefix("sha256:")
            .filter(|d| d.len() == 64)
            .ok_or_else(bad)?;
        let mut sha = [0; 32];
        for (byte, pair) in sha.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            let value = lower_hex(pair[0]).zip(lower_hex(pair[1]));
            *byte = value.map(|(high, low)| high << 4 | low).ok_or_else(bad)?;
        }
        Ok(Sha256Digest(sha))
    }
}

/// The value of a digit as `Display` writes it: one digest has one spelling.
fn lower_hex(digit: u8) -> Option<u8> {
    let value = (digit as char).to_digit(16)?;
    (!digit.is_ascii_uppercase()).then_some(value as u8)
}

/// The content of `current`: the number of the current epoch, and the digest of its manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EpochPointer {
    /// The epoch's number, from 1.
    pub number: u64,
    /// Digest of its manifest.
    pub digest: Sha256Digest,
}

/// A text that is not a pointer, shortened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("pointer {0:?}: expected an epoch number and \"sha256:\" with 64 hexadecimal digits")]
pub struct PointerError(pub String);

pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(100).collect()
}

impl EpochPointer {
    /// The pointer to an epoch whose manifest has these bytes.
    pub fn new(number: u64, manifest: &[u8]) -> EpochPointer {
        EpochPointer {
            number,
            digest: Sha256Digest::digest(manifest),
        }
    }

    /// The epoch's folder in the shared directory: `epochs/00000041`.
    pub fn folder(&self) -> String {
        layout::folder(self.number)
    }
}

impl fmt::Display for EpochPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.number, self.digest)
    }
}

impl FromStr for EpochPointer {
    type Err = PointerError;

    /// Reads what `Display` writes, with or without a newline at the end.
    fn from_str(text: &str) -> Result<EpochPointer, PointerError> {
        let bad = || PointerError(shortened(text));
        let (number, digest) = text
            .strip_suffix('\n')
            .unwrap_or(text)
            .split_once(' ')
            .ok_or_else(bad)?;
        let plain = !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit());
        let number = number
            .parse()
            .ok()
            .filter(|&n| plain && n > 0)
            .ok_or_else(bad)?;
        Ok(EpochPointer {
            number,
            digest: digest.parse().map_err(|_| bad())?,
        })
    }
}
