//! Readers: each proposes claims from one source. A reader sees the facts and what is known so far,
//! and decides nothing; `acceptance` does, by the table in `ranking`.
//!
//! | module | source |
//! |---|---|
//! | `neighbours` | LLDP and CDP: the statements of both ends become one claim |
//! | `designated` | spanning tree: the designated port of each segment |
//! | `facing` | forwarding databases: ports that face each other |
//! | `edge` | forwarding databases: devices without one |
//! | `next_routers` | addresses, stations, next hops and BGP peers: routers next to each other |
//! | `host` | the agents of hosts |
//! | `operator` | the inventory |
//! | `measured` | flows between hosts: trunks behind bridges that nobody asked |
//! | `measured_seats` | flows between hosts: the switches of hosts whose place nothing else decides |
pub(crate) mod designated;
pub(crate) mod edge;
pub(crate) mod facing;
pub(crate) mod host;
pub(crate) mod measured;
pub(crate) mod measured_parts;
pub(crate) mod measured_seats;
pub(crate) mod neighbours;
pub(crate) mod next_routers;
pub(crate) mod operator;
pub(crate) mod segments;
