//! The lab on the real kernel, with real snmpd, lldpd and both MPI libraries. Without root or a
//! program it needs, `heddle lab up` fails and says which command gives it; so do these tests.
mod aggregate;
mod building;
mod commands;
mod conditions;
mod fabric;
mod lost_connections;
mod mpirun;
mod names;
mod network;
mod pair;
mod routes;
mod several_networks;

const TWO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/lab/topologies/two.yaml");

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/lab/topologies/demo.yaml");
