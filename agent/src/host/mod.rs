//! A host that looks at its own cables.
//!
//! | module | one idea |
//! |---|---|
//! | `card` | a card, as far as frames go by it |
//! | `packets` | frames as they are on the cable, without a cost to any other frame |
//! | `capture` | hears on the cards |
//! | `heard` | what frames said, until it ages out |
//! | `announce` | LLDP under the host's name, unless another program speaks |
//! | `changes` | what is worth telling at once |
//! | `daemon` | all of it, once a second and at every change |
//! | [`nics`] | all that is reported of the cards, by netlink |
//! | [`privileges`] | given up once all sockets are open |
//! | [`probe`] | how far other hosts are: routers between, round trips |
//! | [`reporter`] | reports to the controller, directions back |
//! | `seed` | a broadcast, so that every bridge has learned this host |
//!
//! Everything that needs a privilege (CAP_NET_RAW) is in the functions called `open`; what comes
//! later works without.
mod announce;
mod capture;
mod card;
mod change_detector;
mod daemon;
mod frame_memory;
pub mod nics;
mod packets;
pub mod privileges;
pub mod probe;
pub mod reporter;
mod seed;

pub use announce::{LldpAnnouncement, LldpAnnouncer};
pub use capture::FrameListener;
pub use card::NetworkCard;
pub use daemon::{AgentSettings, HostAgent};
pub use packets::PacketSocketError;
pub use seed::SeedSender;
