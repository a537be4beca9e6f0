//! The files in an epoch's folder and the manifest that lists them.
use super::network_files;
use crate::layout::{
    EPOCH_FORMAT, FLOWS, HOPS, LEARNED, MANIFEST, NETWORK, NETWORKS, TUNING, limit,
};
use crate::pointer::{EpochPointer, Sha256Digest, shortened};
use inventory::stages::flows::KnownFlow;
use inventory::stages::hops::WayHop;
use inventory::{Millis, Topology, TopologyFile};
use policy::decision_table::DecisionTable;
use policy::learned::LearnedFigures;
use policy::measurements::TuningRuns;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;

/// A file of an epoch that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("epoch {epoch}, {file}: {problem}; epoch not used")]
pub struct EpochError {
    /// The epoch's number according to its pointer; 0 where there was none.
    pub epoch: u64,
    /// The file's name.
    pub file: String,
    /// The problem with the file.
    pub problem: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    /// Format 1 is not written, because the first readers did not know this field.
    #[serde(default = "first_format", skip_serializing_if = "is_first_format")]
    format: u32,
    epoch: u64,
    at: Millis,
    heddle: String,
    files: Vec<ManifestEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    omitted: Vec<OmittedFile>,
}

/// The only part of a manifest that a reader of another format can read.
#[derive(Deserialize)]
struct ManifestFormat {
    #[serde(default = "first_format")]
    format: u32,
}

fn first_format() -> u32 {
    1
}

fn is_first_format(format: &u32) -> bool {
    *format == first_format()
}

/// A file that other epochs have and this one does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OmittedFile {
    pub name: String,
    /// The reason, and what to do without the file.
    pub reason: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ManifestEntry {
    name: String,
    bytes: u64,
    digest: String,
}

/// Appends the manifest of `files` to them.
pub(super) fn with_manifest(
    epoch: u64,
    at: Millis,
    mut files: Vec<(String, Vec<u8>)>,
    omitted: Vec<OmittedFile>,
) -> Vec<(String, Vec<u8>)> {
    let heddle = env!("CARGO_PKG_VERSION").to_owned();
    let content = Manifest {
        format: EPOCH_FORMAT,
        epoch,
        at,
        heddle,
        files: files
            .iter()
            .map(|(name, bytes)| ManifestEntry {
                name: name.clone(),
                bytes: bytes.len() as u64,
                digest: Sha256Digest::digest(bytes).to_string(),
            })
            .collect(),
        omitted,
    };
    let manifest = serde_json::to_vec_pretty(&content)
        .unwrap_or_else(|e| unreachable!("plain data always serializes: {e}"));
    files.push((MANIFEST.to_owned(), manifest));
    files
}

/// The manifest of an epoch, not parsed yet.
fn manifest(
    epoch: u64,
    read: &mut impl FnMut(&str, u64) -> io::Result<Vec<u8>>,
) -> Result<Vec<u8>, EpochError> {
    let bytes =
        read(MANIFEST, limit(MANIFEST)).map_err(|e| manifest_error(e.to_string(), epoch))?;
    if bytes.len() as u64 > limit(MANIFEST) {
        Err(manifest_error(
            format!("longer than {} octets", limit(MANIFEST)),
            epoch,
        ))
    } else {
        Ok(bytes)
    }
}

fn manifest_error(problem: String, epoch: u64) -> EpochError {
    EpochError {
        epoch,
        file: MANIFEST.to_owned(),
        problem,
    }
}

/// An epoch's folder, with a manifest that matches its pointer if there is one.
pub(super) struct EpochFolder<R> {
    manifest: Manifest,
    read: R,
}

impl<R: FnMut(&str, u64) -> io::Result<Vec<u8>>> EpochFolder<R> {
    pub(super) fn open(pointer: &EpochPointer, mut read: R) -> Result<Self, EpochError> {
        let bytes = manifest(pointer.number, &mut read)?;
        let found = Sha256Digest::digest(&bytes);
        if found != pointer.digest {
            let problem = format!(
                "{} octets with {found}; the pointer says {}: cut, altered, or another epoch",
                bytes.len(),
                pointer.digest
            );
            return Err(EpochError {
                epoch: pointer.number,
                file: MANIFEST.to_owned(),
                problem,
            });
        }
        EpochFolder::parse(pointer.number, &bytes, read)
    }

    /// A folder to which `current` does not point. Its manifest is trusted, because no digest is at
    /// hand.
    pub(super) fn open_former(number: u64, mut read: R) -> Result<Self, EpochError> {
        let bytes = manifest(number, &mut read)?;
        EpochFolder::parse(number, &bytes, read)
    }

    fn parse(number: u64, bytes: &[u8], read: R) -> Result<Self, EpochError> {
        let written: ManifestFormat =
            serde_json::from_slice(bytes).map_err(|e| manifest_error(e.to_string(), number))?;
        if written.format != EPOCH_FORMAT {
            let problem = format!(
                "it has format {}, and this heddle ({}) reads format {EPOCH_FORMAT}: install the \
                 same version on all hosts",
                written.format,
                env!("CARGO_PKG_VERSION")
            );
            return Err(manifest_error(problem, number));
        }
        let manifest: Manifest =
            serde_json::from_slice(bytes).map_err(|e| manifest_error(e.to_string(), number))?;
        if manifest.epoch != number {
            let problem = format!("it is that of epoch {}", manifest.epoch);
            return Err(manifest_error(problem, number));
        }
        Ok(EpochFolder { manifest, read })
    }

    /// When the epoch was made.
    pub(super) fn at(&self) -> Millis {
        self.manifest.at
    }

    /// The files that are left out on purpose.
    pub(super) fn omitted(&self) -> &[OmittedFile] {
        &self.manifest.omitted
    }

    /// True if the manifest says that this file is left out on purpose.
    pub(super) fn omits(&self, name: &str) -> bool {
        self.omitted().iter().any(|o| o.name == name)
    }

    pub(super) fn error(&self, file: &str, problem: impl Into<String>) -> EpochError {
        EpochError {
            epoch: self.manifest.epoch,
            file: file.to_owned(),
            problem: problem.into(),
        }
    }

    /// A file with the length and digest the manifest states.
    fn file(&mut self, name: &str) -> Result<Vec<u8>, EpochError> {
        let Some(entry) = self.manifest.files.iter().find(|entry| entry.name == name) else {
            return Err(self.error(name, format!("{MANIFEST} does not list it")));
        };
        let (length, digest) = (entry.bytes, entry.digest.clone());
        if length > limit(name) {
            return Err(self.error(
                name,
                format!("{length} octets; expected at most {}", limit(name)),
            ));
        }
        let bytes = (self.read)(name, length).map_err(|e| self.error(name, e.to_string()))?;
        if bytes.len() as u64 != length {
            let more = if bytes.len() as u64 > length {
                "more than "
            } else {
                "only "
            };
            return Err(self.error(
                name,
                format!(
                    "{more}{} of {length} octets: cut or altered",
                    length.min(bytes.len() as u64)
                ),
            ));
        }
        let found = Sha256Digest::digest(&bytes);
        if found.to_string() != digest {
            return Err(self.error(
                name,
                format!("{found}; {MANIFEST} says {}: altered", shortened(&digest)),
            ));
        }
        Ok(bytes)
    }

    pub(super) fn parsed<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&[u8]) -> Result<T, String>,
    ) -> Result<T, EpochError> {
        let bytes = self.file(name)?;
        parse(&bytes).map_err(|problem| self.error(name, problem))
    }

    pub(super) fn network(&mut self) -> Result<Topology, EpochError> {
        self.parsed(NETWORK, |bytes| {
            serde_json::from_slice(bytes).map_err(|e| e.to_string())
        })
    }

    /// The trees of all networks.
    pub(super) fn topology(&mut self) -> Result<TopologyFile, EpochError> {
        let epoch = self.manifest.epoch;
        network_files::topology(
            |name| match name {
                NETWORKS if !self.lists(name) => Ok(None),
                _ => self.file(name).map(Some),
            },
            |file, problem| EpochError {
                epoch,
                file: file.to_owned(),
                problem,
            },
        )
    }

    /// The decision table of a network, in this file.
    pub(super) fn table(&mut self, file: &str) -> Result<DecisionTable, EpochError> {
        self.parsed(file, |bytes| {
            DecisionTable::from_json(bytes).map_err(|e| e.to_string())
        })
    }

    /// The hops that answer along ways. Most networks have none, and epochs of former versions no such file.
    pub(super) fn hops(&mut self) -> Result<Vec<WayHop>, EpochError> {
        self.listed(HOPS)
    }

    /// Flows whose ways are known. Most networks have none.
    pub(super) fn flows(&mut self) -> Result<Vec<KnownFlow>, EpochError> {
        self.listed(FLOWS)
    }

    /// The list in a file of JSON; empty where the epoch has no such file.
    fn listed<T: DeserializeOwned>(&mut self, name: &str) -> Result<Vec<T>, EpochError> {
        if !self.lists(name) {
            return Ok(Vec::new());
        }
        self.parsed(name, |bytes| {
            serde_json::from_slice(bytes).map_err(|e| e.to_string())
        })
    }

    pub(super) fn lists(&self, name: &str) -> bool {
        self.manifest.files.iter().any(|entry| entry.name == name)
    }

    /// The figures that jobs had learned. An epoch from before the first of them has no such file.
    pub(super) fn learned(&mut self) -> Result<LearnedFigures, EpochError> {
        if !self.lists(LEARNED) {
            return Ok(LearnedFigures::default());
        }
        self.parsed(LEARNED, |bytes| {
            LearnedFigures::from_json(bytes).map_err(|e| e.to_string())
        })
    }

    /// The measurements. Epochs older than any measurement have no such file.
    pub(super) fn tuning(&mut self) -> Result<TuningRuns, EpochError> {
        if !self.lists(TUNING) {
            return Ok(TuningRuns::default());
        }
        self.parsed(TUNING, |bytes| {
            TuningRuns::from_json(bytes).map_err(|e| e.to_string())
        })
    }
}
