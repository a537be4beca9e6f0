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
pub(crate) mod designated;
pub(crate) mod edge;
pub(crate) mod facing;
pub(crate) mod host;
pub(crate) mod neighbours;
pub(crate) mod next_routers;
pub(crate) mod segments;
