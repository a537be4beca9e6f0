//! The numbers of a plan file: written as octets, and read from a compressed stream.
use flate2::{Decompress, FlushDecompress, Status};

/// Appends a number, 7 bits per octet, lowest first.
pub(super) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a signed number: 0, -1, 1, -2, … as 0, 1, 2, 3, ….
pub(super) fn put_signed(out: &mut Vec<u8>, number: i64) {
    put(out, (number << 1 ^ number >> 63) as u64);
}

/// The numbers of a compressed stream, one after the other. Octets are decompressed only when they
/// are needed.
pub(super) struct NumberStream<'a> {
    compressed: &'a [u8],
    stream: Decompress,
    ended: bool,
    plain: Vec<u8>,
    at: usize,
}

impl<'a> NumberStream<'a> {
    pub(super) fn new(compressed: &'a [u8]) -> Self {
        NumberStream {
            compressed,
            stream: Decompress::new(true),
            ended: false,
            plain: Vec::with_capacity(64 << 10),
            at: 0,
        }
    }

    pub(super) fn octet(&mut self) -> Result<u8, String> {
        while self.at == self.plain.len() {
            if self.ended {
                return Err("it ends early".to_owned());
            }
            self.decompress()?;
        }
        self.at += 1;
        Ok(self.plain[self.at - 1])
    }

    fn decompress(&mut self) -> Result<(), String> {
        self.plain.clear();
        self.at = 0;
        let before = self.stream.total_in();
        let status = self
            .stream
            .decompress_vec(self.compressed, &mut self.plain, FlushDecompress::None)
            .map_err(|e| e.to_string())?;
        let taken = self.stream.total_in() - before;
        self.compressed = &self.compressed[taken as usize..];
        self.ended = status == Status::StreamEnd;
        // Nothing goes in and nothing comes out: another try would be the same.
        if !self.ended && taken == 0 && self.plain.is_empty() {
            Err("it is cut off".to_owned())
        } else {
            Ok(())
        }
    }

    /// Checks that nothing follows and that the checksum is right.
    pub(super) fn end(mut self) -> Result<(), String> {
        // The checksum stands behind the data (RFC 1950, 2.2) and is compared at the end of the stream only.
        while !self.ended && self.at == self.plain.len() {
            self.decompress()?;
        }
        if self.at == self.plain.len() && self.compressed.is_empty() {
            Ok(())
        } else {
            Err("octets follow the end".to_owned())
        }
    }

    pub(super) fn next(&mut self) -> Result<u64, String> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let octet = self.octet()?;
            number |= u64::from(octet & 0x7f) << shift;
            if octet < 0x80 {
                return Ok(number);
            }
        }
        Err("a number is too long".to_owned())
    }

    pub(super) fn signed(&mut self) -> Result<i64, String> {
        let number = self.next()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub(super) fn below(&mut self, end: u64, what: impl Fn() -> String) -> Result<u64, String> {
        self.after(0, end, what)
    }

    /// A number stored as its distance from a smaller or equal one.
    pub(super) fn after(
        &mut self,
        former: u64,
        end: u64,
        what: impl Fn() -> String,
    ) -> Result<u64, String> {
        let number = self.next()?.saturating_add(former);
        if number < end {
            Ok(number)
        } else {
            Err(format!("{}: {number} is not below {end}", what()))
        }
    }

    /// A number stored as its signed distance from another one.
    pub(super) fn beside(
        &mut self,
        former: u64,
        end: u64,
        what: impl Fn() -> String,
    ) -> Result<u64, String> {
        let number = (former as i64).saturating_add(self.signed()?);
        if (0..end as i64).contains(&number) {
            Ok(number as u64)
        } else {
            Err(format!("{}: {number} is not below {end}", what()))
        }
    }
}
