//! Observes the network: asks switches by SNMP for their tables and their changes, and receives the
//! notifications that they send unasked. It reports observations ([`inventory::observation`]);
//! `infer` draws the conclusions.
//!
//! | module | one idea |
//! |---|---|
//! | [`snmp_access`] | a credential made ready: keys derived once for all switches that share it |
//! | [`client`] | one switch: tables, the cheap pulse, failures with a text |
//! | `frames` | LLDP, CDP and BPDUs as they are on a cable, without I/O |
//! | [`host`] | a host that looks at its own cables |
//! | [`datagrams`] | answers that do not come from a session |
//! | `switch_place` | the address of a switch that is known by a name |
//! | `switch_socket` | a session accepts answers only from its switch |
//! | [`survey`] | all switches at once, none of which waits for another |
//! | [`inventory_draft`] | an inventory file out of what a search found |
//! | [`neighbour_search`] | the switches around a few known ones |
//! | [`pulse_round`] | the brief pulses of many switches, from one socket |
//! | `session_port` | a separate port for each session |
//! | [`request_meter`] | the time of answers, and failures, counted |
//! | [`recording`] | walks from files instead of the network |
//! | [`secrets`] | secrets kept outside the inventory |
//! | [`service_manager`] | what a daemon tells systemd |
//! | [`traps`](mod@traps) | notifications that devices send unasked |
//! | `walk` | several columns by GETBULK, without I/O: order, limits, refusal of wrong answers |
//! | `tables` | rows from answers, one file a table |
pub mod client;
pub mod datagrams;
pub mod frames;
pub mod host;
pub mod inventory_draft;
pub mod neighbour_search;
pub mod pulse_round;
pub mod recording;
pub mod request_meter;
pub mod secrets;
pub mod service_manager;
mod session_port;
pub mod snmp_access;
pub mod survey;
mod switch_place;
mod switch_socket;
mod tables;
pub mod traps;
mod walk;

pub use client::SnmpClient;
pub use pulse_round::{PulseRound, PulseTarget, RoundNews};
pub use request_meter::{ANSWER_TIMES, RequestFailure, RequestMeter, RequestTotals};
pub use snmp_access::{AccessError, SnmpAccess};
pub use survey::{SWITCHES_AT_ONCE, clients, now, read_all_switches};
pub use tables::management::{ManagedNeighbour, NeighbourList};
pub use traps::{Trap, TrapKind, TrapProof, TrapReceiver, traps};
