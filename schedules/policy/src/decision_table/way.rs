//! The ways of a call, and their names.
use super::{Collective, CollectiveTraffic};
use schedules::synchronization::SyncKind;
use schedules::synchronization::scheme::{SyncMechanism, SyncScheme};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The way of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// The MPI library's own routine.
    Native,
    /// The phases of [`schedules::alltoall`].
    Aapc {
        /// The mechanism that keeps the phases apart. Never [`SyncMechanism::Dummy`]: ranks do not
        /// send empty messages.
        sync: SyncScheme,
        /// The carrier of the blocks.
        #[serde(default)]
        over: DataCarrier,
    },
    /// The steps of [`schedules::lg`], over MPI: in communicators that span clusters.
    Lg,
    /// One message for each pair of hosts, by [`schedules::bundled`], over MPI.
    Bundled,
    /// The ring of [`schedules::allgather`].
    Ring {
        /// The carrier of the blocks.
        #[serde(default)]
        over: DataCarrier,
    },
    /// Reductions and broadcasts along the same ring, over TCP ([`schedules::relay`]); where hosts have
    /// several ranks, allgathers, too, with one rank a host on the ring.
    Relay,
    /// The rings of [`schedules::allgather::rings`], over TCP: between slow trunks.
    Rings,
}

impl Way {
    /// Each way of a collective once, with the usual choices.
    pub(super) fn usual(collective: Collective) -> impl Iterator<Item = Way> {
        let over = DataCarrier::Mpi;
        let sync = SyncKind::Receiver.into();
        [
            Way::Native,
            Way::Aapc { sync, over },
            Way::Lg,
            Way::Bundled,
            Way::Ring { over },
            Way::Rings,
            Way::Relay,
        ]
        .into_iter()
        .filter(move |way| way.serves(collective))
    }

    /// The carrier of the blocks; `None` where the library chooses it.
    pub fn carrier(self) -> Option<DataCarrier> {
        match self {
            Way::Native => None,
            Way::Lg | Way::Bundled => Some(DataCarrier::Mpi),
            Way::Aapc { over, .. } | Way::Ring { over } => Some(over),
            Way::Relay | Way::Rings => Some(DataCarrier::Tcp),
        }
    }

    /// The same way over another carrier, if the way has a choice of carriers.
    pub fn with_carrier(self, over: DataCarrier) -> Way {
        match self {
            Way::Native | Way::Lg | Way::Bundled | Way::Relay | Way::Rings => self,
            Way::Aapc { sync, .. } => Way::Aapc { sync, over },
            Way::Ring { .. } => Way::Ring { over },
        }
    }

    /// True if the collective can go this way.
    pub fn serves(self, collective: Collective) -> bool {
        match self {
            Way::Native => true,
            Way::Aapc { sync, over } => {
                // Only TCP says what has come.
                let can = match sync.mechanism() {
                    SyncMechanism::Dummy => false,
                    SyncMechanism::Credit | SyncMechanism::Window => over == DataCarrier::Tcp,
                    _ => true,
                };
                can && collective.traffic() == CollectiveTraffic::Exchange
            }
            // A rank that passes on a block knows its size only if all blocks have the same size.
            Way::Lg | Way::Bundled => collective == Collective::Alltoall,
            Way::Ring { .. } | Way::Rings => collective.traffic() == CollectiveTraffic::Gather,
            // One rank a host relays blocks of all, whose size it knows only if all are equal.
            Way::Relay => match collective.traffic() {
                CollectiveTraffic::Exchange => false,
                CollectiveTraffic::Gather => collective == Collective::Allgather,
                CollectiveTraffic::Combine
                | CollectiveTraffic::CombineForEach
                | CollectiveTraffic::Spread => true,
            },
        }
    }
}

/// The way's name, as in job records and `HEDDLE_TURNS`: `native`, `aapc`, `aapc sender tcp`, `lg`,
/// `ring tcp`. A name leaves out the usual choices: receiver tokens, and MPI as the carrier, or TCP
/// where there is no other.
impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut name = match self {
            Way::Native => "native".to_owned(),
            Way::Lg => "lg".to_owned(),
            Way::Bundled => "bundled".to_owned(),
            Way::Aapc { sync, .. } if *sync == SyncKind::Receiver.into() => "aapc".to_owned(),
            Way::Aapc { sync, .. } => format!("aapc {sync}"),
            Way::Ring { .. } => "ring".to_owned(),
            Way::Rings => "rings".to_owned(),
            Way::Relay => "relay".to_owned(),
        };
        if self.carrier() == Some(DataCarrier::Tcp) && *self != Way::Relay {
            name += " tcp";
        }
        f.pad(&name)
    }
}

/// A name that does not name a [`Way`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "way \"{0}\": expected native, aapc, lg, bundled, ring, rings tcp or relay, with a synchronization after aapc \
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
            (["relay"], DataCarrier::Mpi) => Ok(Way::Relay),
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
            (["rings"], DataCarrier::Tcp) => Ok(Way::Rings),
            _ => Err(unknown()),
        }
    }
}

/// The carrier of blocks and tokens.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum DataCarrier {
    /// The MPI library's point-to-point messages: on every network that the library works on.
    #[default]
    Mpi,
    /// The runtime's own TCP connections, for large blocks on Ethernet. Calls go over
    /// [`DataCarrier::Mpi`] where connections cannot be made.
    Tcp,
}
