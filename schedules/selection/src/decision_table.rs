//! The decision table: which way a collective goes at which block size.
use inventory::Bytes;
pub use inventory::mpi::{Mpi, UnknownMpi};
use schedules::synchronization::SyncKind;
use schedules::synchronization::scheme::{SyncMechanism, SyncScheme};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A collective that heddle knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Collective {
    /// MPI_Alltoall.
    Alltoall,
    /// MPI_Allgather.
    Allgather,
    /// MPI_Alltoallv.
    Alltoallv,
    /// MPI_Allgatherv.
    Allgatherv,
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Collective::Alltoall => "alltoall",
            Collective::Allgather => "allgather",
            Collective::Alltoallv => "alltoallv",
            Collective::Allgatherv => "allgatherv",
        })
    }
}

impl FromStr for Collective {
    type Err = UnknownCollective;

    fn from_str(text: &str) -> Result<Collective, UnknownCollective> {
        let all = [
            Collective::Alltoall,
            Collective::Allgather,
            Collective::Alltoallv,
            Collective::Allgatherv,
        ];
        all.into_iter()
            .find(|collective| collective.to_string() == text)
            .ok_or_else(|| UnknownCollective(text.to_owned()))
    }
}

/// A name that is no [`Collective`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("collective \"{0}\": expected alltoall, allgather, alltoallv or allgatherv")]
pub struct UnknownCollective(pub String);

/// How a call is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// The MPI library's own routine.
    Native,
    /// The phases of [`schedules::alltoall`].
    Aapc {
        /// What keeps them apart. Not [`SyncMechanism::Dummy`]: no rank sends messages that carry
        /// nothing.
        sync: SyncScheme,
        /// What carries the blocks.
        #[serde(default)]
        over: DataCarrier,
    },
    /// The steps of [`schedules::lg`], over MPI: in communicators that span clusters.
    Lg,
    /// One message for each pair of hosts, by [`schedules::bundled`]; over MPI.
    Bundled,
    /// The ring of [`schedules::allgather`].
    Ring {
        /// What carries the blocks.
        #[serde(default)]
        over: DataCarrier,
    },
}

impl Way {
    /// What carries its blocks; `None` where the library sees to that.
    pub fn carrier(self) -> Option<DataCarrier> {
        match self {
            Way::Native => None,
            Way::Lg | Way::Bundled => Some(DataCarrier::Mpi),
            Way::Aapc { over, .. } | Way::Ring { over } => Some(over),
        }
    }

    /// The same way over another carrier, where it has a choice.
    pub fn with_carrier(self, over: DataCarrier) -> Way {
        match self {
            Way::Native | Way::Lg | Way::Bundled => self,
            Way::Aapc { sync, .. } => Way::Aapc { sync, over },
            Way::Ring { .. } => Way::Ring { over },
        }
    }

    /// Whether a collective can go it.
    pub fn serves(self, collective: Collective) -> bool {
        match self {
            Way::Native => true,
            Way::Aapc { sync, .. } => {
                sync.mechanism() != SyncMechanism::Dummy
                    && matches!(collective, Collective::Alltoall | Collective::Alltoallv)
            }
            // Who passes on a block knows its size only where all have the same.
            Way::Lg | Way::Bundled => collective == Collective::Alltoall,
            Way::Ring { .. } => {
                matches!(collective, Collective::Allgather | Collective::Allgatherv)
            }
        }
    }
}

/// Its name, as job records and `HEDDLE_TURNS` have it: `native`, `aapc`, `aapc sender tcp`, `lg`,
/// `ring tcp`. What is not said is the usual: receiver tokens, over MPI.
impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut name = match self {
            Way::Native => "native".to_owned(),
            Way::Lg => "lg".to_owned(),
            Way::Bundled => "bundled".to_owned(),
            Way::Aapc { sync, .. } if *sync == SyncKind::Receiver.into() => "aapc".to_owned(),
            Way::Aapc { sync, .. } => format!("aapc {sync}"),
            Way::Ring { .. } => "ring".to_owned(),
        };
        if self.carrier() == Some(DataCarrier::Tcp) {
            name += " tcp";
        }
        f.pad(&name)
    }
}

/// A name that is no [`Way`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "way \"{0}\": expected native, aapc, lg, bundled or ring, with a synchronization after aapc \
     and tcp at the end where wanted: \"aapc sender tcp\""
)]
pub struct UnknownWay(pub String);

impl FromStr for Way {
    type Err = UnknownWay;

    fn from_str(text: &str) -> Result<Way, UnknownWay> {
        let unknown = || UnknownWay(text.to_owned());
        let mut words: Vec<&str> = text.split(' ').collect();
        let over = if words.last() == Some(&"tcp") {
            DataCarrier::Tcp
        } else {
            DataCarrier::Mpi
        };
        words.truncate(words.len() - usize::from(over == DataCarrier::Tcp));
        match (words.as_slice(), over) {
            (["native"], DataCarrier::Mpi) => Ok(Way::Native),
            (["lg"], DataCarrier::Mpi) => Ok(Way::Lg),
            (["bundled"], DataCarrier::Mpi) => Ok(Way::Bundled),
            (["aapc"], over) => Ok(Way::Aapc {
                sync: SyncKind::Receiver.into(),
                over,
            }),
            (["aapc", sync], over) => {
                let sync: SyncScheme = sync.parse().map_err(|_| unknown())?;
                if sync.mechanism() == SyncMechanism::Dummy {
                    Err(unknown())
                } else {
                    Ok(Way::Aapc { sync, over })
                }
            }
            (["ring"], over) => Ok(Way::Ring { over }),
            _ => Err(unknown()),
        }
    }
}

/// What carries blocks and tokens.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum DataCarrier {
    /// The MPI library's point-to-point messages: on every network that the library works on.
    #[default]
    Mpi,
    /// The runtime's own TCP connections: for large blocks on Ethernet. Where they cannot be made,
    /// [`DataCarrier::Mpi`].
    Tcp,
}

/// From this block size on, up to the next entry, this way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionEntry {
    /// Bytes a rank sends to each other rank (alltoall) or contributes (allgather).
    pub from: Bytes,
    /// How.
    pub way: Way,
    /// Under this MPI library only; `None`: under each.
    #[serde(default)]
    pub mpi: Option<Mpi>,
    /// What it rests on.
    #[serde(default)]
    pub grounds: DecisionGrounds,
}

/// What an entry of the table rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DecisionGrounds {
    /// Measured on heddle's own emulated cluster, not on this one: [`DecisionTable::default`].
    #[default]
    Elsewhere,
    /// Measured on these hosts and cables.
    Measured,
    /// Measured there, and faster than the library's own once more in a launch of its own.
    Confirmed,
    /// The library's own, because the way measured to be faster was not shown to be so in that
    /// launch.
    Unconfirmed,
    /// Measured on these hosts before cables were moved in a way that changes no bound.
    Kept,
    /// Computed by the contention model, for sizes between measured ones.
    Modelled,
    /// Computed by the contention model, because hosts or cables differ from those measured: to be
    /// measured again.
    Stale,
}

impl fmt::Display for DecisionGrounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            DecisionGrounds::Elsewhere => "not measured here",
            DecisionGrounds::Measured => "measured",
            DecisionGrounds::Confirmed => "measured and confirmed",
            DecisionGrounds::Unconfirmed => "measured, not confirmed",
            DecisionGrounds::Kept => "measured before harmless recabling",
            DecisionGrounds::Modelled => "modelled between measured sizes",
            DecisionGrounds::Stale => "modelled, to be measured again",
        })
    }
}

/// Entries per collective in ascending order for each MPI library; the first one begins at 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionTable {
    /// For MPI_Alltoall: native, aapc, lg or bundled.
    pub alltoall: Vec<DecisionEntry>,
    /// For MPI_Allgather: native or ring.
    pub allgather: Vec<DecisionEntry>,
    /// For MPI_Alltoallv, by the mean block: native or aapc.
    #[serde(default = "native", skip_serializing_if = "is_native")]
    pub alltoallv: Vec<DecisionEntry>,
    /// For MPI_Allgatherv, by the mean block: native or ring.
    #[serde(default = "native", skip_serializing_if = "is_native")]
    pub allgatherv: Vec<DecisionEntry>,
}

/// The library's own routine at every size: where nothing else has been measured.
fn native() -> Vec<DecisionEntry> {
    vec![DecisionEntry {
        from: Bytes(0),
        way: Way::Native,
        mpi: None,
        grounds: DecisionGrounds::Elsewhere,
    }]
}

fn is_native(entries: &Vec<DecisionEntry>) -> bool {
    *entries == native()
}

/// As measured on an emulated cluster of four switches and twelve hosts (docs/figures.md): a way is
/// taken from the smallest measured block on from which it was faster than the library's own
/// routine, and only under the library where it was. Phases are held apart by receiver tokens,
/// because only those kept switch buffers from overflowing.
impl Default for DecisionTable {
    fn default() -> Self {
        let entry = |from, way, mpi| DecisionEntry {
            from: Bytes(from),
            way,
            mpi,
            grounds: DecisionGrounds::Elsewhere,
        };
        let native = entry(0, Way::Native, None);
        let ring = Way::Ring {
            over: DataCarrier::Mpi,
        };
        let aapc = Way::Aapc {
            sync: SyncKind::Receiver.into(),
            over: DataCarrier::Mpi,
        };
        DecisionTable {
            alltoall: vec![native, entry(64 << 10, aapc, Some(Mpi::Mpich))],
            allgather: vec![
                native,
                entry(64 << 10, ring, Some(Mpi::OpenMpi)),
                entry(256 << 10, ring, None),
            ],
            alltoallv: self::native(),
            allgatherv: self::native(),
        }
    }
}

/// A table that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecisionTableError {
    /// No JSON, or not of the expected shape.
    #[error("decision table: {0}")]
    Syntax(String),
    /// Entries that say nothing, too much, or nonsense.
    #[error("decision table, {collective}: {problem}")]
    Content {
        /// Which list.
        collective: &'static str,
        /// What is wrong and what was expected.
        problem: String,
    },
}

/// More entries than anybody measures.
const MAX_ENTRIES: usize = 256;

impl DecisionTable {
    /// The entries that hold under one MPI library.
    pub fn for_mpi(mut self, mpi: Mpi) -> DecisionTable {
        let holds = |entry: &DecisionEntry| entry.mpi.is_none_or(|only| only == mpi);
        self.alltoall.retain(holds);
        self.allgather.retain(holds);
        self.alltoallv.retain(holds);
        self.allgatherv.retain(holds);
        self
    }

    /// What its entries rest on, in a line: `decision table: 5 entries measured, 2 modelled between
    /// measured sizes`.
    pub fn summary(&self) -> String {
        let all = || {
            self.alltoall
                .iter()
                .chain(&self.allgather)
                .filter(|entry| entry.mpi.is_some())
        };
        let measured = [
            DecisionGrounds::Confirmed,
            DecisionGrounds::Unconfirmed,
            DecisionGrounds::Measured,
            DecisionGrounds::Kept,
        ];
        let grounds = measured.into_iter().chain([
            DecisionGrounds::Modelled,
            DecisionGrounds::Stale,
            DecisionGrounds::Elsewhere,
        ]);
        let counted = grounds
            .map(|g| (g, all().filter(|entry| entry.grounds == g).count()))
            .filter(|(_, count)| *count > 0);
        let mut parts: Vec<String> = counted
            .map(|(grounds, count)| format!("{count} {grounds}"))
            .collect();
        match parts.first_mut() {
            Some(first) => *first = first.replacen(' ', " entries ", 1),
            None => parts.push("the libraries' own routines".to_owned()),
        }
        format!("decision table: {}", parts.join(", "))
    }

    /// A collective's entries.
    pub fn entries(&self, collective: Collective) -> &[DecisionEntry] {
        match collective {
            Collective::Alltoall => &self.alltoall,
            Collective::Allgather => &self.allgather,
            Collective::Alltoallv => &self.alltoallv,
            Collective::Allgatherv => &self.allgatherv,
        }
    }

    /// The entry that decides for blocks of this size, in a table that was reduced by
    /// [`DecisionTable::for_mpi`].
    pub fn entry(&self, collective: Collective, block: Bytes) -> Option<&DecisionEntry> {
        self.entries(collective)
            .iter()
            .rev()
            .find(|entry| entry.from <= block)
    }

    /// Its way.
    pub fn choose(&self, collective: Collective, block: Bytes) -> Way {
        self.choose_where(collective, block, |_| true)
    }

    /// The way where not every one can be gone: that of the largest entry which can.
    pub fn choose_where(
        &self,
        collective: Collective,
        block: Bytes,
        can: impl Fn(Way) -> bool,
    ) -> Way {
        let mut entries = self.entries(collective).iter().rev();
        entries
            .find(|entry| entry.from <= block && can(entry.way))
            .map_or(Way::Native, |entry| entry.way)
    }

    /// The table as JSON, for people too.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self)
            .unwrap_or_else(|e| unreachable!("numbers and names always serialize: {e}"))
            + "\n"
    }

    /// Reads what [`DecisionTable::to_json`] wrote, or an operator.
    ///
    /// # Errors
    /// [`DecisionTableError`] if it is no table or [`DecisionTable::check`] fails.
    pub fn from_json(text: &[u8]) -> Result<DecisionTable, DecisionTableError> {
        let table: DecisionTable =
            serde_json::from_slice(text).map_err(|e| DecisionTableError::Syntax(e.to_string()))?;
        table.check()?;
        Ok(table)
    }

    /// Whether every size has one way, and one its collective can go.
    ///
    /// # Errors
    /// [`DecisionTableError::Content`].
    pub fn check(&self) -> Result<(), DecisionTableError> {
        check(
            "alltoall",
            &self.alltoall,
            "native, aapc, lg or bundled",
            |way| way.serves(Collective::Alltoall),
        )?;
        check("allgather", &self.allgather, "native or ring", |way| {
            way.serves(Collective::Allgather)
        })?;
        check("alltoallv", &self.alltoallv, "native or aapc", |way| {
            way.serves(Collective::Alltoallv)
        })?;
        check("allgatherv", &self.allgatherv, "native or ring", |way| {
            way.serves(Collective::Allgatherv)
        })
    }
}

fn check(
    collective: &'static str,
    entries: &[DecisionEntry],
    ways: &str,
    can: impl Fn(Way) -> bool,
) -> Result<(), DecisionTableError> {
    let wrong = |problem: String| {
        Err(DecisionTableError::Content {
            collective,
            problem,
        })
    };
    if entries.is_empty()
        || entries.len() > MAX_ENTRIES
        || entries[0].from != Bytes(0)
        || entries[0].mpi.is_some()
    {
        return wrong(format!(
            "expected 1 to {MAX_ENTRIES} entries, the first one from 0 and for each MPI library"
        ));
    }
    for mpi in Mpi::ALL {
        let holding: Vec<&DecisionEntry> = entries
            .iter()
            .filter(|entry| entry.mpi.is_none_or(|only| only == mpi))
            .collect();
        // Of two entries from one size, the first says what is gone where there are no connections.
        let instead = |pair: &[&DecisionEntry]| {
            pair[0].way.carrier() != Some(DataCarrier::Tcp)
                && pair[1].way.carrier() == Some(DataCarrier::Tcp)
        };
        let follows = |pair: &[&DecisionEntry]| {
            pair[0].from < pair[1].from || (pair[0].from == pair[1].from && instead(pair))
        };
        if let Some(pair) = holding.windows(2).find(|pair| !follows(pair)) {
            return wrong(format!(
                "entry from {} follows the one from {}; expected ascending sizes",
                pair[1].from.0, pair[0].from.0
            ));
        }
    }
    match entries.iter().find(|entry| !can(entry.way)) {
        Some(entry) => wrong(format!("entry from {}: expected {ways}", entry.from.0)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_blocks_stay_native_and_libraries_differ() {
        let table = DecisionTable::default();
        table.check().unwrap();
        assert_eq!(
            DecisionTable::from_json(table.to_json().as_bytes()).unwrap(),
            table
        );
        assert!(
            !table.to_json().contains("gatherv"),
            "what nobody measured is not written"
        );
        let (open_mpi, mpich) = (
            table.clone().for_mpi(Mpi::OpenMpi),
            table.for_mpi(Mpi::Mpich),
        );
        for collective in [Collective::Alltoall, Collective::Allgather] {
            for small in [0, 65_535] {
                assert_eq!(open_mpi.choose(collective, Bytes(small)), Way::Native);
                assert_eq!(mpich.choose(collective, Bytes(small)), Way::Native);
            }
        }
        assert_eq!(
            mpich.choose(Collective::Alltoall, Bytes(65_536)),
            Way::Aapc {
                sync: SyncKind::Receiver.into(),
                over: DataCarrier::Mpi
            }
        );
        assert_eq!(
            open_mpi.choose(Collective::Alltoall, Bytes(u64::MAX)),
            Way::Native
        );
        assert_eq!(
            open_mpi.choose(Collective::Allgather, Bytes(65_536)),
            Way::Ring {
                over: DataCarrier::Mpi
            }
        );
        assert_eq!(
            mpich.choose(Collective::Allgather, Bytes(65_536)),
            Way::Native
        );
        assert_eq!(
            mpich.choose(Collective::Allgather, Bytes(u64::MAX)),
            Way::Ring {
                over: DataCarrier::Mpi
            }
        );
    }

    #[test]
    fn refuses_what_contradicts_itself() {
        let read = |alltoall: &str| {
            let text = format!(
                "{{\"alltoall\":[{alltoall}],\"allgather\":[{{\"from\":0,\"way\":{{\"ring\":{{}}}}}}]}}"
            );
            DecisionTable::from_json(text.as_bytes()).map_err(|e| e.to_string())
        };
        assert!(read("{\"from\":0,\"way\":{\"aapc\":{\"sync\":\"sender\"}}}").is_ok());
        assert!(
            read("")
                .unwrap_err()
                .contains("alltoall: expected 1 to 256")
        );
        assert!(
            read("{\"from\":1,\"way\":\"native\"}")
                .unwrap_err()
                .contains("from 0")
        );
        assert!(
            read("{\"from\":0,\"way\":\"native\"},{\"from\":0,\"way\":\"native\"}")
                .unwrap_err()
                .contains("ascending")
        );
        assert!(
            read("{\"from\":0,\"way\":\"native\",\"mpi\":\"mpich\"}")
                .unwrap_err()
                .contains("each MPI")
        );
        assert!(
            read("{\"from\":0,\"way\":{\"ring\":{}}}")
                .unwrap_err()
                .contains("native, aapc, lg or bundled")
        );
        assert!(read("{\"from\":0,\"way\":{\"aapc\":{\"sync\":\"dummy\"}}}").is_err());
        assert!(read("{\"from\":0,\"way\":\"lg\"},{\"from\":1,\"way\":\"bundled\"}").is_ok());
        assert!(
            read("{\"from\":0,\"way\":\"bruck\"}")
                .unwrap_err()
                .contains("bruck")
        );
        let v = DecisionTable {
            allgatherv: DecisionTable::default().alltoall,
            ..DecisionTable::default()
        };
        assert!(
            DecisionTable::from_json(v.to_json().as_bytes())
                .unwrap_err()
                .to_string()
                .contains("allgatherv: entry from 65536")
        );
        for way in [Way::Lg, Way::Bundled] {
            let v = DecisionTable {
                alltoallv: vec![DecisionEntry {
                    way,
                    ..DecisionTable::default().alltoall[0]
                }],
                ..DecisionTable::default()
            };
            assert!(
                v.check()
                    .unwrap_err()
                    .to_string()
                    .contains("alltoallv: entry from 0: expected native or aapc")
            );
        }
    }

    #[test]
    fn where_there_are_no_connections_the_entry_before_decides() {
        let entries = |ways: [&str; 3]| {
            let entry = |(k, name): (usize, &str)| DecisionEntry {
                from: Bytes(k.min(1) as u64),
                way: name.parse().unwrap(),
                mpi: None,
                grounds: DecisionGrounds::Measured,
            };
            DecisionTable {
                alltoall: ways.into_iter().enumerate().map(entry).collect(),
                ..DecisionTable::default()
            }
        };
        let table = entries(["native", "aapc", "aapc tcp"]);
        table.check().unwrap();
        let free = |way: Way| way.carrier() != Some(DataCarrier::Tcp);
        assert_eq!(
            table.choose(Collective::Alltoall, Bytes(9)).to_string(),
            "aapc tcp"
        );
        assert_eq!(
            table
                .choose_where(Collective::Alltoall, Bytes(9), free)
                .to_string(),
            "aapc"
        );
        assert_eq!(
            table.choose_where(Collective::Alltoall, Bytes(0), free),
            Way::Native
        );
        assert!(
            entries(["native", "aapc tcp", "aapc"]).check().is_err()
                && entries(["native", "aapc", "aapc"]).check().is_err()
        );
    }

    #[test]
    fn every_way_is_read_by_its_name() {
        let syncs = || {
            SyncScheme::table_5(&[2, 16])
                .into_iter()
                .filter(|sync| sync.mechanism() != SyncMechanism::Dummy)
        };
        for over in [DataCarrier::Mpi, DataCarrier::Tcp] {
            for way in syncs().map(|sync| Way::Aapc { sync, over }).chain([
                Way::Ring { over },
                Way::Lg,
                Way::Bundled,
                Way::Native,
            ]) {
                assert_eq!(way.to_string().parse(), Ok(way));
                assert_eq!(
                    serde_json::from_str::<Way>(&serde_json::to_string(&way).unwrap()).unwrap(),
                    way
                );
            }
        }
        assert_eq!(
            Way::Aapc {
                sync: SyncKind::Sender.into(),
                over: DataCarrier::Tcp
            }
            .to_string(),
            "aapc sender tcp"
        );
        let wrong = [
            "",
            "tcp",
            "native tcp",
            "lg tcp",
            "bundled tcp",
            "ring sender",
            "aapc fast",
            "aapc dummy",
            "aapc sender(0)",
            "aapc  tcp",
        ];
        for wrong in wrong {
            assert!(
                wrong
                    .parse::<Way>()
                    .unwrap_err()
                    .to_string()
                    .contains("expected native, aapc"),
                "{wrong}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = DecisionTable::from_json(&bytes);
        }
    }
}
