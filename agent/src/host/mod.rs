//! A host that looks at its own cables.
//!
//! | module | one idea |
//! |---|---|
//! | [`card`] | the Ethernet cards as the system shows them now |
//! | [`packets`] | frames as they are on the cable, without a cost to any other frame |
//! | [`capture`] | hears on the cards |
//! | `heard` | what frames said, until it ages out |
//! | [`announce`] | LLDP under the host's name, unless another program speaks |
//! | [`nics`] | all that is reported of the cards, by netlink |
//! | [`seed`] | a broadcast, so that every bridge has learned this host |
//!
//! Everything that needs a privilege (CAP_NET_RAW) is in the functions called `open`; what comes later works without.
pub mod announce;
pub mod capture;
pub mod card;
mod heard;
pub mod nics;
pub mod packets;
pub mod seed;

pub use announce::{Announcement, Announcer};
pub use capture::Ear;
pub use card::Card;
pub use packets::SocketError;
pub use seed::Seeder;
