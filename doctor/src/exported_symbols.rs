//! The names that a shared library exports, as the loader finds them in its file (System V ABI, chapter
//! 4, "Sections" and "Symbol Table", in the form of 64 bits with the low octet first).
//!
//! A library that is not stripped holds names of its private functions as well, in another table: Intel MPI's
//! `libmpi_abi.so` those of its own interface, which it does not export.
use std::collections::BTreeSet;
use std::ops::Range;

/// `ELFCLASS64` and `ELFDATA2LSB` after the magic number.
const IDENTITY: &[u8] = b"\x7fELF\x02\x01";
const SECTION_HEADERS: usize = 0x28;
const SECTION_COUNT: usize = 0x3c;
const SECTION_HEADER_SIZE: usize = 64;
/// `SHT_DYNSYM`.
const DYNAMIC_SYMBOLS: u64 = 11;
const SYMBOL_SIZE: usize = 24;

/// None of a file that is no such library.
pub(crate) fn exported_symbols(file: &[u8]) -> BTreeSet<&[u8]> {
    symbols(file).unwrap_or_default()
}

fn symbols(file: &[u8]) -> Option<BTreeSet<&[u8]>> {
    if !file.starts_with(IDENTITY) {
        return None;
    }
    let headers = place(file, SECTION_HEADERS, 8)?;
    let count = number(file, SECTION_COUNT, 2)? as usize;
    let header = |section: usize| headers.checked_add(section.checked_mul(SECTION_HEADER_SIZE)?);
    let table = (0..count)
        .filter_map(header)
        .find(|&at| number(file, at + 4, 4) == Some(DYNAMIC_SYMBOLS))?;
    // sh_link of a table of symbols is the section with their names.
    let names = file.get(contents(file, header(place(file, table + 40, 4)?)?)?)?;
    let entries = file.get(contents(file, table)?)?.chunks_exact(SYMBOL_SIZE);
    // st_shndx is SHN_UNDEF for a name that the library needs from others.
    let exported = entries.filter(|entry| number(entry, 6, 2) != Some(0));
    Some(
        exported
            .filter_map(|entry| {
                names
                    .get(place(entry, 0, 4)?..)?
                    .split(|&octet| octet == 0)
                    .next()
            })
            .collect(),
    )
}

/// Where the contents of the section with the header there lie in the file.
fn contents(file: &[u8], header: usize) -> Option<Range<usize>> {
    // sh_offset, and after it sh_size.
    let begin = place(file, header.checked_add(24)?, 8)?;
    Some(begin..begin.checked_add(place(file, header + 32, 8)?)?)
}

fn place(octets: &[u8], at: usize, width: usize) -> Option<usize> {
    usize::try_from(number(octets, at, width)?).ok()
}

fn number(octets: &[u8], at: usize, width: usize) -> Option<u64> {
    let octets = octets.get(at..at.checked_add(width)?)?;
    Some(
        octets
            .iter()
            .rev()
            .fold(0, |number, &octet| number << 8 | u64::from(octet)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The C library exports what programs call, and not what it asks others for.
    fn library() -> Vec<u8> {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("this process's files");
        let line = maps.lines().find(|line| line.contains("/libc.so"));
        let file = line.and_then(|line| line.split_whitespace().last());
        std::fs::read(file.expect("the C library's file")).expect("readable")
    }

    #[test]
    fn names_are_those_that_the_loader_finds() {
        let file = library();
        let names = exported_symbols(&file);
        assert!(names.contains(&b"printf"[..]), "{}", names.len());
        assert!(!names.contains(&b"__tls_get_addr"[..]), "of the loader");
        assert!(!names.contains(&b"print"[..]), "part of a name");
    }

    #[test]
    fn of_a_spoilt_file_no_name_is_read_beyond_its_end() {
        let whole = library();
        for kept in (0..256).chain((4096..whole.len()).step_by(65_536)) {
            exported_symbols(&whole[..kept]);
        }
        let mut spoilt = whole.clone();
        for at in (0..64).chain((whole.len() - 4096..whole.len()).step_by(13)) {
            let right = std::mem::replace(&mut spoilt[at], 0xff);
            exported_symbols(&spoilt);
            spoilt[at] = right;
        }
        assert!(exported_symbols(b"\0MPIR_Dup_fn\0").is_empty());
    }
}
