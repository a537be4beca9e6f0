//! Epoch files: what the controller publishes and the runtime loads. Bytes in, bytes out.
//!
//! ```text
//! current                      "41 sha256:<64 hex digits of the manifest>\n", moved by rename
//! epochs/00000041/
//!     manifest.json            number, time, heddle's version, length and digest of each file below
//!     topology.yaml            the tree as a topology file of the contract, blocked links marked
//!     network.json             the topology as discovered, with evidence (`discover --format json`)
//!     alltoall.plan            the schedule of all hosts, postcard: 4 octets a message and 12 a synchronization from
//!                              128 hosts on, half of that below
//!     allgather.json           the ring of all hosts, the contract's JSON
//!     table.json               the decision table
//! ```
//!
//! A reader is given by the caller: `read(name, limit)` returns a file of the epoch's folder ([`Pointer::folder`]). It
//! must not return more than `limit + 1` octets and may stop there: whatever exceeds the limit is refused. Nothing read is
//! trusted before its digest matches, and nothing is trusted because it does.
use crate::allgather::{self, Allgather};
use crate::alltoall::{self, Algorithm, Alltoall};
use crate::bound::Bound;
use crate::json::{self, MAX_HOSTS};
use crate::message::{Message, Sync};
use crate::sync::SyncKind;
use crate::table::{Table, Way};
use crate::verify::{self, Violation};
use inventory::tree::TreeError;
use inventory::{Millis, Topology, TopologyFile};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::io;
use std::str::FromStr;

const MANIFEST: &str = "manifest.json";
const TOPOLOGY: &str = "topology.yaml";
const NETWORK: &str = "network.json";
const ALLTOALL: &str = "alltoall.plan";
const ALLGATHER: &str = "allgather.json";
const TABLE: &str = "table.json";

/// Longest file of each name that is read; the plan's is that of [`MAX_HOSTS`].
const LIMITS: [(&str, u64); 6] =
    [(MANIFEST, 64 << 10), (TOPOLOGY, 16 << 20), (NETWORK, 64 << 20), (ALLTOALL, 512 << 20), (ALLGATHER, 1 << 20), (TABLE, 64 << 10)];

fn limit(file: &str) -> u64 {
    LIMITS.iter().find(|(name, _)| *name == file).map_or(0, |&(_, limit)| limit)
}

/// SHA-256 (FIPS 180-4) of a file, written `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sha([u8; 32]);

impl Sha {
    fn of(bytes: &[u8]) -> Sha {
        Sha(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Sha {
    type Err = PointerError;

    fn from_str(text: &str) -> Result<Sha, PointerError> {
        let bad = || PointerError(shortened(text));
        let digits = text.strip_prefix("sha256:").filter(|d| d.len() == 64).ok_or_else(bad)?;
        let mut sha = [0; 32];
        for (byte, pair) in sha.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            let digit = |c: u8| (c as char).to_digit(16).filter(|_| !c.is_ascii_uppercase()).ok_or_else(bad);
            *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
        }
        Ok(Sha(sha))
    }
}

/// What `current` holds: which epoch is the current one, and the digest of its manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pointer {
    /// The epoch's number, from 1.
    pub number: u64,
    /// Digest of its manifest.
    pub digest: Sha,
}

/// A text that is no pointer, shortened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("pointer {0:?}: expected an epoch number and \"sha256:\" with 64 hexadecimal digits")]
pub struct PointerError(pub String);

fn shortened(text: &str) -> String {
    text.chars().take(100).collect()
}

impl Pointer {
    /// The pointer to an epoch whose manifest has these bytes.
    pub fn new(number: u64, manifest: &[u8]) -> Pointer {
        Pointer { number, digest: Sha::of(manifest) }
    }

    /// The epoch's folder in the shared directory: `epochs/00000041`.
    pub fn folder(&self) -> String {
        folder(self.number)
    }
}

/// The folder of an epoch in the shared directory: `epochs/00000041`.
pub fn folder(number: u64) -> String {
    format!("epochs/{number:08}")
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.number, self.digest)
    }
}

impl FromStr for Pointer {
    type Err = PointerError;

    /// Reads what `Display` writes, with or without a newline at the end.
    fn from_str(text: &str) -> Result<Pointer, PointerError> {
        let bad = || PointerError(shortened(text));
        let (number, digest) = text.strip_suffix('\n').unwrap_or(text).split_once(' ').ok_or_else(bad)?;
        let plain = !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit());
        let number = number.parse().ok().filter(|&n| plain && n > 0).ok_or_else(bad)?;
        Ok(Pointer { number, digest: digest.parse().map_err(|_| bad())? })
    }
}

/// A published version: what was found, and what to do on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Epoch {
    /// Its number, from 1.
    pub number: u64,
    /// When it was made.
    pub at: Millis,
    /// The tree, blocked links marked.
    pub topology: TopologyFile,
    /// The network as discovered.
    pub network: Topology,
    /// The all-to-all of all hosts.
    pub alltoall: Alltoall,
    /// The allgather of all hosts.
    pub allgather: Allgather,
    /// Which way at which size.
    pub table: Table,
}

/// Why there is no epoch for a topology.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// It is no tree.
    #[error(transparent)]
    NoTree(#[from] TreeError),
    /// It is too large to publish.
    #[error("topology has {0} hosts; schedules are published for up to {MAX_HOSTS}")]
    TooLarge(u32),
    /// The verifier refused the schedule. This is a defect of heddle; nothing is published.
    #[error("planned schedule is refused by the verifier: {0}; please report this with the topology")]
    Refused(#[from] Violation),
}

/// A file of an epoch that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("epoch {epoch}, {file}: {problem}; epoch not used")]
pub struct EpochError {
    /// The epoch's number by its pointer; 0 where there was none.
    pub epoch: u64,
    /// The file's name.
    pub file: String,
    /// What is wrong with it.
    pub problem: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    epoch: u64,
    at: Millis,
    heddle: String,
    files: Vec<ManifestEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ManifestEntry {
    name: String,
    bytes: u64,
    digest: String,
}

impl Epoch {
    /// Plans and verifies both collectives on `topology`; the all-to-all is synchronized as `table` says first, by
    /// receivers if it never says.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn plan(number: u64, at: Millis, topology: TopologyFile, network: Topology, table: Table) -> Result<Epoch, PlanError> {
        let tree = topology.tree()?;
        if tree.hosts() as usize > MAX_HOSTS {
            return Err(PlanError::TooLarge(tree.hosts()));
        }
        let told = table.alltoall.iter().find_map(|entry| if let Way::Aapc { sync } = entry.way { Some(sync) } else { None });
        let alltoall = alltoall::plan(&tree, told.unwrap_or(SyncKind::Receiver));
        verify::alltoall(&tree, &alltoall)?;
        let allgather = allgather::plan(&tree);
        verify::allgather(&tree, &allgather)?;
        Ok(Epoch { number, at, topology, network, alltoall, allgather, table })
    }

    /// Names and contents of the files, the manifest last: [`Pointer::new`] of its content is what `current` will hold.
    pub fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
        let network = serde_json::to_vec_pretty(&self.network).unwrap_or_else(|e| unreachable!("plain data always serializes: {e}"));
        let mut files = vec![
            (TOPOLOGY, self.topology.to_yaml().into_bytes()),
            (NETWORK, network),
            (ALLTOALL, write_plan(&self.alltoall)),
            (ALLGATHER, json::write_allgather(&self.allgather).into_bytes()),
            (TABLE, self.table.to_json().into_bytes()),
        ];
        let entry = |(name, bytes): &(&str, Vec<u8>)| ManifestEntry {
            name: (*name).to_owned(),
            bytes: bytes.len() as u64,
            digest: Sha::of(bytes).to_string(),
        };
        let manifest = Manifest {
            epoch: self.number,
            at: self.at,
            heddle: env!("CARGO_PKG_VERSION").to_owned(),
            files: files.iter().map(entry).collect(),
        };
        let manifest = serde_json::to_vec_pretty(&manifest).unwrap_or_else(|e| unreachable!("plain data always serializes: {e}"));
        files.push((MANIFEST, manifest));
        files
    }

    /// Reads a whole epoch. `read` is described at the top of this module.
    ///
    /// # Errors
    /// [`EpochError`] naming the file that is missing, cut, altered, too long, or does not fit the others.
    pub fn open(pointer: &Pointer, read: impl FnMut(&str, u64) -> io::Result<Vec<u8>>) -> Result<Epoch, EpochError> {
        let mut folder = Folder::open(pointer, read)?;
        let topology = folder.topology()?;
        let hosts: Vec<String> = topology.hosts.keys().cloned().collect();
        let network = folder.parsed(NETWORK, |bytes| serde_json::from_slice(bytes).map_err(|e| e.to_string()))?;
        let alltoall = folder.parsed(ALLTOALL, read_plan)?;
        if alltoall.hosts != hosts {
            return Err(folder.error(ALLTOALL, format!("its hosts are not those of {TOPOLOGY}")));
        }
        let ring = folder.parsed(ALLGATHER, |bytes| json::read_allgather(bytes).map_err(|e| e.to_string()))?;
        let Some(allgather) = ring.renumbered(&hosts) else {
            return Err(folder.error(ALLGATHER, format!("its hosts are not those of {TOPOLOGY}")));
        };
        let table = folder.table()?;
        Ok(Epoch { number: pointer.number, at: folder.manifest.at, topology, network, alltoall, allgather, table })
    }
}

/// What a rank needs of an epoch: it plans for its own communicator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lean {
    /// The epoch's number.
    pub number: u64,
    /// The tree, blocked links marked.
    pub topology: TopologyFile,
    /// Which way at which size.
    pub table: Table,
}

impl Lean {
    /// Reads these parts of an epoch. `read` is described at the top of this module.
    ///
    /// # Errors
    /// As [`Epoch::open`], for the files it reads.
    pub fn open(pointer: &Pointer, read: impl FnMut(&str, u64) -> io::Result<Vec<u8>>) -> Result<Lean, EpochError> {
        let mut folder = Folder::open(pointer, read)?;
        Ok(Lean { number: pointer.number, topology: folder.topology()?, table: folder.table()? })
    }

    /// For a broadcast among ranks of one heddle version.
    pub fn to_bytes(&self) -> Vec<u8> {
        let parts = (self.number, self.topology.to_yaml(), &self.table);
        postcard::to_stdvec(&parts).unwrap_or_else(|e| unreachable!("plain data always serializes: {e}"))
    }

    /// Reads what [`Lean::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`EpochError`] if it is anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Lean, EpochError> {
        let error = |problem: String| EpochError { epoch: 0, file: "broadcast".to_owned(), problem };
        if bytes.len() as u64 > limit(TOPOLOGY) + limit(TABLE) {
            return Err(error(format!("{} octets are too many", bytes.len())));
        }
        let (number, topology, table): (u64, String, Table) = read_postcard(bytes).map_err(error)?;
        let topology = TopologyFile::parse(TOPOLOGY, &topology).map_err(|e| error(e.to_string()))?;
        table.check().map_err(|e| error(e.to_string()))?;
        Ok(Lean { number, topology, table })
    }
}

impl From<&Epoch> for Lean {
    fn from(epoch: &Epoch) -> Lean {
        Lean { number: epoch.number, topology: epoch.topology.clone(), table: epoch.table.clone() }
    }
}

/// An epoch's folder with a manifest that matches its pointer.
struct Folder<R> {
    manifest: Manifest,
    read: R,
}

impl<R: FnMut(&str, u64) -> io::Result<Vec<u8>>> Folder<R> {
    fn open(pointer: &Pointer, mut read: R) -> Result<Self, EpochError> {
        let error = |problem: String| EpochError { epoch: pointer.number, file: MANIFEST.to_owned(), problem };
        let bytes = read(MANIFEST, limit(MANIFEST)).map_err(|e| error(e.to_string()))?;
        if bytes.len() as u64 > limit(MANIFEST) {
            return Err(error(format!("longer than {} octets", limit(MANIFEST))));
        }
        let found = Sha::of(&bytes);
        if found != pointer.digest {
            return Err(error(format!(
                "{} octets with {found}; the pointer says {}: cut, altered, or another epoch",
                bytes.len(),
                pointer.digest
            )));
        }
        let manifest: Manifest = serde_json::from_slice(&bytes).map_err(|e| error(e.to_string()))?;
        if manifest.epoch != pointer.number {
            return Err(error(format!("it is that of epoch {}", manifest.epoch)));
        }
        Ok(Folder { manifest, read })
    }

    fn error(&self, file: &str, problem: impl Into<String>) -> EpochError {
        EpochError { epoch: self.manifest.epoch, file: file.to_owned(), problem: problem.into() }
    }

    /// A file with the length and digest the manifest states.
    fn file(&mut self, name: &str) -> Result<Vec<u8>, EpochError> {
        let Some(entry) = self.manifest.files.iter().find(|entry| entry.name == name) else {
            return Err(self.error(name, format!("{MANIFEST} does not list it")));
        };
        let (length, digest) = (entry.bytes, entry.digest.clone());
        if length > limit(name) {
            return Err(self.error(name, format!("{length} octets; expected at most {}", limit(name))));
        }
        let bytes = (self.read)(name, length).map_err(|e| self.error(name, e.to_string()))?;
        if bytes.len() as u64 != length {
            let more = if bytes.len() as u64 > length { "more than " } else { "only " };
            return Err(self.error(name, format!("{more}{} of {length} octets: cut or altered", length.min(bytes.len() as u64))));
        }
        let found = Sha::of(&bytes);
        if found.to_string() != digest {
            return Err(self.error(name, format!("{found}; {MANIFEST} says {}: altered", shortened(&digest))));
        }
        Ok(bytes)
    }

    fn parsed<T>(&mut self, name: &str, parse: impl FnOnce(&[u8]) -> Result<T, String>) -> Result<T, EpochError> {
        let bytes = self.file(name)?;
        parse(&bytes).map_err(|problem| self.error(name, problem))
    }

    fn topology(&mut self) -> Result<TopologyFile, EpochError> {
        self.parsed(TOPOLOGY, |bytes| {
            let text = std::str::from_utf8(bytes).map_err(|e| e.to_string())?;
            TopologyFile::parse(TOPOLOGY, text).map_err(|e| e.to_string())
        })
    }

    fn table(&mut self) -> Result<Table, EpochError> {
        self.parsed(TABLE, |bytes| Table::from_json(bytes).map_err(|e| e.to_string()))
    }
}

fn write_plan(plan: &Alltoall) -> Vec<u8> {
    let parts = (plan.algorithm, &plan.hosts, &plan.bound, &plan.phases, &plan.syncs);
    postcard::to_stdvec(&parts).unwrap_or_else(|e| unreachable!("plain data always serializes: {e}"))
}

type PlanParts = (Algorithm, Vec<String>, Bound, Vec<Vec<Message>>, Vec<Sync>);

fn read_plan(bytes: &[u8]) -> Result<Alltoall, String> {
    let (algorithm, hosts, bound, phases, syncs): PlanParts = read_postcard(bytes)?;
    let known = |h: u32| (h as usize) < hosts.len().min(MAX_HOSTS);
    let both = |m: Message| known(m.src) && known(m.dst);
    let resolves =
        phases.iter().flatten().all(|&m| both(m)) && syncs.iter().all(|s| both(s.after) && both(s.before) && known(s.from) && known(s.to));
    if !resolves {
        return Err(format!("a host number is not below {}", hosts.len().min(MAX_HOSTS)));
    }
    Ok(Alltoall { algorithm, hosts, bound, phases, syncs })
}

/// All of `bytes` as one value.
fn read_postcard<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, String> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(format!("{} octets follow the end", rest.len())),
        Err(e) => Err(e.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{any_tree_text, star_text};
    use proptest::prelude::*;
    use proptest::sample::Index;
    use std::collections::HashMap;

    type Files = HashMap<String, Vec<u8>>;

    fn epoch(text: &str) -> Epoch {
        let topology = TopologyFile::parse("t.yaml", text).unwrap();
        Epoch::plan(41, Millis(1_700_000_000_000), topology, Topology::default(), Table::default()).unwrap()
    }

    fn published(epoch: &Epoch) -> (Pointer, Files) {
        let files = epoch.files();
        assert_eq!(files.last().unwrap().0, MANIFEST);
        let pointer = Pointer::new(epoch.number, &files.last().unwrap().1);
        (pointer, files.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect())
    }

    /// A reader as the module asks for: it stops one octet after the limit.
    fn reader(files: &Files) -> impl FnMut(&str, u64) -> io::Result<Vec<u8>> + '_ {
        |name, limit| match files.get(name) {
            Some(bytes) => Ok(bytes[..bytes.len().min(limit as usize + 1)].to_vec()),
            None => Err(io::Error::new(io::ErrorKind::NotFound, "no such file")),
        }
    }

    #[test]
    fn pointer_text() {
        let pointer = Pointer::new(41, b"");
        let text = "41 sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(pointer.to_string(), text);
        assert_eq!(pointer.folder(), "epochs/00000041");
        assert_eq!(format!("{text}\n").parse(), Ok(pointer));
        let upper = text.to_uppercase();
        for bad in [
            "",
            "\n",
            "41",
            "41 ",
            "0 ",
            "+41 ",
            "41 sha256:",
            &text[..text.len() - 1],
            &text[1..].replace("1 ", "0 "),
            &upper,
            &format!("{text} "),
        ] {
            assert!(bad.parse::<Pointer>().is_err(), "{bad:?}");
        }
        assert!("41 sha1:x".parse::<Pointer>().unwrap_err().to_string().contains("expected an epoch number"));
    }

    #[test]
    fn every_file_cut_altered_longer_or_missing_is_named() {
        let epoch = epoch(&star_text(&[2, 2]));
        let (pointer, files) = published(&epoch);
        type Damage = (&'static str, fn(&mut Files, &str));
        let damages: [Damage; 4] = [
            ("missing", |files, name| drop(files.remove(name))),
            ("empty", |files, name| files.get_mut(name).unwrap().clear()),
            ("altered", |files, name| files.get_mut(name).unwrap()[3] ^= 1),
            ("longer", |files, name| files.get_mut(name).unwrap().push(b' ')),
        ];
        for name in files.keys() {
            for (damage, apply) in damages {
                let mut damaged = files.clone();
                apply(&mut damaged, name);
                let error = Epoch::open(&pointer, reader(&damaged)).unwrap_err();
                assert_eq!(&error.file, name, "{damage}");
                assert!(error.to_string().starts_with(&format!("epoch 41, {name}: ")), "{error}");
                let lean_reads = [MANIFEST, TOPOLOGY, TABLE].contains(&name.as_str());
                assert_eq!(Lean::open(&pointer, reader(&damaged)).is_err(), lean_reads, "{damage} {name}");
            }
        }
    }

    #[test]
    fn a_manifest_of_another_epoch_is_refused() {
        let (_, files) = published(&epoch(&star_text(&[2])));
        let stolen = Pointer::new(42, &files[MANIFEST]);
        assert!(Epoch::open(&stolen, reader(&files)).unwrap_err().to_string().contains("it is that of epoch 41"));
    }

    #[test]
    fn a_whole_epoch_that_contradicts_itself_is_refused() {
        let mut mixed = epoch(&star_text(&[2, 2]));
        mixed.alltoall = epoch(&star_text(&[3])).alltoall;
        let (pointer, files) = published(&mixed);
        assert!(
            Epoch::open(&pointer, reader(&files))
                .unwrap_err()
                .to_string()
                .contains("alltoall.plan: its hosts are not those of topology.yaml")
        );
        let mut wild = epoch(&star_text(&[2]));
        wild.alltoall.phases[0][0].src = 2;
        let (pointer, files) = published(&wild);
        assert!(Epoch::open(&pointer, reader(&files)).unwrap_err().to_string().contains("not below 2"));
    }

    #[test]
    fn a_plan_takes_the_octets_its_description_says() {
        let octets = |hosts: u32| {
            let plan = epoch(&star_text(&[hosts / 2, hosts / 2])).alltoall;
            let tokens = if hosts < 128 { 6 } else { 12 } * plan.syncs.len();
            let messages = if hosts < 128 { 2 } else { 4 } * plan.messages();
            (write_plan(&plan).len(), tokens + messages + 4 * plan.phases.len() + 8 * hosts as usize)
        };
        for hosts in [64, 200] {
            let (found, described) = octets(hosts);
            assert!(found <= described, "{hosts} hosts: {found} octets, {described} described");
        }
    }

    #[test]
    fn refuses_what_is_no_tree() {
        let apart = TopologyFile::parse("t.yaml", "switches: [a, b]\nhosts: {x: {switch: a}, y: {switch: b}}").unwrap();
        let error = Epoch::plan(1, Millis(0), apart, Topology::default(), Table::default()).unwrap_err();
        assert!(error.to_string().contains("two parts"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn round_trip(text in any_tree_text(1..=16, 6)) {
            let epoch = epoch(&text);
            let (pointer, files) = published(&epoch);
            let lean = Lean::from(&epoch);
            prop_assert_eq!(Lean::open(&pointer, reader(&files)), Ok(lean.clone()));
            prop_assert_eq!(Lean::from_bytes(&lean.to_bytes()), Ok(lean));
            prop_assert_eq!(Epoch::open(&pointer, reader(&files)), Ok(epoch));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), text in ".*") {
            let _ = Lean::from_bytes(&bytes);
            let _ = read_plan(&bytes);
            let _ = text.parse::<Pointer>();
            // As a manifest and as every file it could name.
            let pointer = Pointer::new(1, &bytes);
            let _ = Epoch::open(&pointer, |_, _| Ok(bytes.clone()));
        }

        #[test]
        fn mutated_bytes_are_read_or_refused(text in any_tree_text(1..=6, 3), at in any::<Index>(), byte in any::<u8>(), cut in any::<bool>()) {
            let epoch = epoch(&text);
            for (mut bytes, is_plan) in [(write_plan(&epoch.alltoall), true), (Lean::from(&epoch).to_bytes(), false)] {
                let at = at.index(bytes.len());
                bytes[at] = byte;
                if cut {
                    bytes.truncate(at);
                }
                if is_plan {
                    let _ = read_plan(&bytes);
                } else {
                    let _ = Lean::from_bytes(&bytes);
                }
            }
        }
    }
}
