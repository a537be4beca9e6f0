//! Looks at the network: asks switches by SNMP what they are, what they see and what moved, and
//! hears what they send unasked. It states what was said ([`inventory::observation`]); what it
//! means is for `infer`.
//!
//! | module | one idea |
//! |---|---|
//! | [`snmp_access`] | a credential made ready: keys derived once for all switches that share it |
//! | [`client`] | one switch: tables, the cheap pulse, failures in words |
//! | `frames` | LLDP, CDP and BPDUs as they are on a cable, without I/O |
//! | [`host`] | a host that looks at its own cables |
//! | [`datagrams`] | answers from elsewhere than a session |
//! | `line` | a session hears only the switch it asks |
//! | [`survey`] | every switch at once, none waits for another |
//! | `port` | a port of its own for each session |
//! | [`recording`] | walks from files instead of the network |
//! | [`secrets`] | where secrets are kept outside the inventory |
//! | [`traps`] | what devices send unasked |
//! | `walk` | several columns by GETBULK, without I/O: order, limits, nonsense refused |
//! | `tables` | answers to rows, a file a table |
pub mod client;
pub mod datagrams;
pub mod frames;
pub mod host;
pub mod recording;
pub mod secrets;
mod session_port;
pub mod snmp_access;
pub mod survey;
mod switch_socket;
mod tables;
pub mod traps;
mod walk;

pub use client::SnmpClient;
pub use snmp_access::{AccessError, SnmpAccess};
pub use survey::{SWITCHES_AT_ONCE, clients, now, read_all_switches};
pub use traps::{Trap, TrapKind, TrapProof, TrapReceiver, traps};
