//! One survey of all switches, many at once. Each switch has its own session and its own patience,
//! so a slow, dead or lying switch delays only itself.
use crate::client::SnmpClient;
use crate::session_port::{SHARED_BY, SessionPort};
use crate::snmp_access::{AccessError, SnmpAccess};
use futures_util::stream::{self, StreamExt};
use inventory::Millis;
use inventory::inventory_file::Inventory;
use inventory::observation::{DeviceFact, DeviceTable, Observation, ObservationSource};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// The requests under way at one switch. An agent handles one at a time. A second request that
/// already waits at the agent hides the travel time; more would only let timeouts run.
const AT_ONCE: usize = 2;

/// The number of switches asked at once. With a thousand, their answers would wait for this process
/// longer than a request waits for its answer. With fewer, the silent ones, each with a second or
/// two of patience, would hold the others up.
pub const SWITCHES_AT_ONCE: usize = 128;

/// The files that a process needs beside the sockets for its switches.
const OTHER_FILES: u64 = 256;

/// Raises the limit of open files, usually 1,024, so that each switch can have a socket. If the
/// system refuses, the error shows where a socket is missing.
fn allow_sockets(switches: usize) {
    let wanted = switches as u64 + OTHER_FILES;
    if let Ok((now, most)) = getrlimit(Resource::RLIMIT_NOFILE)
        && now < wanted
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, wanted.min(most), most);
    }
}

/// A client per switch, in the inventory's order, by name. Switches with one credential share its
/// keys.
///
/// # Errors
/// [`AccessError`] if a credential cannot be used.
pub fn clients(inventory: &Inventory) -> Result<Vec<(String, SnmpClient)>, AccessError> {
    allow_sockets(inventory.switches.len());
    let mut ready: HashMap<&str, SnmpAccess> = HashMap::new();
    let mut port = SessionPort::default();
    let switches = inventory.switches.iter().enumerate();
    let clients = switches.map(|(number, (name, switch))| {
        if number.is_multiple_of(SHARED_BY) {
            port = SessionPort::default();
        }
        let access = match ready.get(switch.snmp.as_str()) {
            Some(access) => access.clone(),
            None => {
                let access = SnmpAccess::new(
                    &switch.snmp,
                    inventory
                        .credential(switch)
                        .ok_or_else(|| AccessError::Unknown {
                            switch: name.clone(),
                            credential: switch.snmp.clone(),
                        })?,
                )?;
                ready.insert(&switch.snmp, access.clone());
                access
            }
        };
        Ok((
            name.clone(),
            SnmpClient::new(switch, &access, &inventory.timing, port.clone()),
        ))
    });
    clients.collect()
}

/// Reads every table of every switch. A switch that does not answer gives one
/// [`DeviceFact::Failed`] without a table.
///
/// # Errors
/// [`AccessError`] if a credential cannot be used; nothing was asked then.
pub async fn read_all_switches(inventory: &Inventory) -> Result<Vec<Observation>, AccessError> {
    let clients = clients(inventory)?;
    let looks = clients
        .iter()
        .enumerate()
        .map(|(at, (name, client))| async move { (at, read_switch(name, client).await) });
    let mut all: Vec<(usize, Vec<Observation>)> = stream::iter(looks)
        .buffer_unordered(SWITCHES_AT_ONCE)
        .collect()
        .await;
    // In the inventory's order, whatever the order of answers: the same network gives the same
    // text.
    all.sort_unstable_by_key(|(at, _)| *at);
    Ok(all.into_iter().flat_map(|(_, seen)| seen).collect())
}

/// Reads every table of one switch, System first. If that gets no answer, no other table is asked
/// for.
pub async fn read_switch(name: &str, client: &SnmpClient) -> Vec<Observation> {
    let observe = |fact| Observation {
        at: now(),
        reporter: name.to_owned(),
        source: ObservationSource::Snmp,
        fact,
    };
    let first = client.read(DeviceTable::System).await;
    let mute = matches!(first, DeviceFact::Failed { table: None, .. });
    let mut seen = vec![observe(first)];
    if !mute {
        let rest = DeviceTable::ALL
            .into_iter()
            .filter(|t| *t != DeviceTable::System);
        seen.extend(
            stream::iter(rest.map(|t| async move { client.read(t).await }))
                .buffered(AT_ONCE)
                .map(observe)
                .collect::<Vec<_>>()
                .await,
        );
    }
    seen
}

/// The wall clock.
pub fn now() -> Millis {
    Millis(
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_millis() as u64),
    )
}
