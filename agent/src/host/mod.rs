//! A host that looks at its own cables.
//!
//! | module | one idea |
//! |---|---|
//! | `card` | a card, as far as it matters for frames |
//! | `packets` | packet sockets that cost other traffic nothing |
//! | `capture` | receives the frames of neighbours |
//! | `flow_member` | takes part in measurements of flows, as the controller says |
//! | `frame_memory` | the content of received frames, until it ages out |
//! | `announce` | LLDP under the host's name, unless another program announces |
//! | `change_detector` | the changes to report at once |
//! | `daemon` | all of this, once a second and at every change |
//! | [`nics`] | the facts reported of the cards, by netlink |
//! | [`privileges`] | privileges, given up once all sockets are open |
//! | [`probe`] | the paths to other hosts: routers, round trips |
//! | [`reporter`] | reports to the controller, directions back |
//! | `segments` | flows from chosen ports, which counters follow |
//! | `seed` | a broadcast, so that every bridge has learned this host |
//!
//! Only the functions called `open` need a privilege (CAP_NET_RAW). Everything later works without
//! one.
mod announce;
mod capture;
mod card;
mod change_detector;
mod daemon;
mod flow_member;
mod frame_memory;
pub mod nics;
mod packets;
pub mod privileges;
pub mod probe;
pub mod reporter;
mod seed;
mod segments;

pub use announce::{LldpAnnouncement, LldpAnnouncer};
pub use capture::FrameListener;
pub use card::NetworkCard;
pub use daemon::{AgentSettings, HostAgent};
pub use packets::PacketSocketError;
pub use seed::SeedSender;
