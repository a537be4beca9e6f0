//! The state of a bridge in sysfs.
//!
//! Source: Documentation/ABI of the kernel for `/sys/class/net/<bridge>/bridge/` and
//! `<port>/brport/`; the forwarding database is `struct __fdb_entry` of linux/if_bridge.h.
use inventory::Mac;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A bridge identifier in the form of a BPDU (IEEE 802.1D-2004, 9.2.5): priority, then address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct RawBridgeId(pub(super) [u8; 8]);

/// A bridge at one moment. Times are in hundredths of a second, like those of the MIB.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct KernelBridge {
    pub(super) address: Mac,
    pub(super) priority: u32,
    pub(super) root: RawBridgeId,
    pub(super) root_cost: u32,
    pub(super) root_port: u32,
    pub(super) max_age: u32,
    pub(super) hello: u32,
    pub(super) forward_delay: u32,
    pub(super) ageing: u32,
    /// A topology change is going on: the root bridge announced it, or this bridge detected it.
    pub(super) topology_change: bool,
    pub(super) ports: Vec<KernelBridgePort>,
    pub(super) stations: Vec<KernelFdbEntry>,
}

/// A port of the bridge.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct KernelBridgePort {
    pub(super) name: String,
    pub(super) number: u16,
    pub(super) if_index: u32,
    /// The kernel's numbering: 0 disabled, 1 listening, 2 learning, 3 forwarding, 4 blocking.
    pub(super) state: u8,
    pub(super) priority: u32,
    pub(super) path_cost: u32,
    pub(super) designated_root: RawBridgeId,
    pub(super) designated_cost: u32,
    pub(super) designated_bridge: RawBridgeId,
    pub(super) designated_port: u16,
    pub(super) mtu: u32,
    pub(super) frames_in: u64,
    pub(super) frames_out: u64,
    pub(super) discards: u64,
}

/// An entry of the forwarding database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KernelFdbEntry {
    pub(super) address: Mac,
    /// Port number; 0: the bridge itself.
    pub(super) port: u16,
    /// An address of the bridge's own.
    pub(super) local: bool,
}

impl KernelBridge {
    /// Reads everything.
    pub(super) fn read(name: &str) -> io::Result<KernelBridge> {
        let mut bridge = KernelBridge::read_states(name)?;
        let directory = device(name);
        let bridge_directory = directory.join("bridge");
        bridge.address = text(&directory.join("address"))?.parse().map_err(invalid)?;
        bridge.priority = number(&bridge_directory.join("priority"))?;
        bridge.root = bridge_id(&text(&directory.join("bridge/root_id"))?)?;
        bridge.root_cost = number(&bridge_directory.join("root_path_cost"))?;
        bridge.root_port = number(&bridge_directory.join("root_port"))?;
        bridge.max_age = number(&bridge_directory.join("max_age"))?;
        bridge.hello = number(&bridge_directory.join("hello_time"))?;
        bridge.forward_delay = number(&bridge_directory.join("forward_delay"))?;
        bridge.ageing = number(&bridge_directory.join("ageing_time"))?;
        for port in &mut bridge.ports {
            complete(port, name)?;
        }
        bridge.stations = stations(&directory.join("brforward"))?;
        Ok(bridge)
    }

    /// Reads only the parts that have to be read often: ports with their states, and the topology
    /// change flag.
    pub(super) fn read_states(name: &str) -> io::Result<KernelBridge> {
        let directory = device(name);
        let topology_change = is_set("topology_change", &directory)?
            || is_set("topology_change_detected", &directory)?;
        let mut ports = Vec::new();
        for entry in fs::read_dir(directory.join("brif"))? {
            // The port may be unplugged while the directory is read.
            ports.extend(port_state(&entry?.path()).ok());
        }
        ports.sort_by_key(|p| p.number);
        Ok(KernelBridge {
            topology_change,
            ports,
            ..KernelBridge::default()
        })
    }
}

fn is_set(file: &str, directory: &Path) -> io::Result<bool> {
    Ok(number::<u8>(&directory.join("bridge").join(file))? != 0)
}

fn port_state(directory: &Path) -> io::Result<KernelBridgePort> {
    let hexadecimal = text(&directory.join("port_no"))?;
    let number_ = u16::from_str_radix(hexadecimal.trim_start_matches("0x"), 16).map_err(invalid)?;
    let if_index = number(&directory.join("../ifindex"))?;
    let name = directory
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    Ok(KernelBridgePort {
        name,
        number: number_,
        if_index,
        state: number(&directory.join("state"))?,
        ..KernelBridgePort::default()
    })
}

/// Reads the rest of a port.
fn complete(port: &mut KernelBridgePort, bridge: &str) -> io::Result<()> {
    let directory = device(bridge).join("brif").join(&port.name);
    port.priority = number(&directory.join("priority"))?;
    port.path_cost = number(&directory.join("path_cost"))?;
    port.designated_root = bridge_id(&text(&directory.join("designated_root"))?)?;
    port.designated_cost = number(&directory.join("designated_cost"))?;
    port.designated_bridge = bridge_id(&text(&directory.join("designated_bridge"))?)?;
    port.designated_port = number(&directory.join("designated_port"))?;
    port.mtu = number(&directory.join("..").join("mtu"))?;
    port.frames_in = number(&directory.join("..").join("statistics/rx_packets"))?;
    port.frames_out = number(&directory.join("..").join("statistics/tx_packets"))?;
    port.discards = number(&directory.join("..").join("statistics/rx_dropped"))?;
    Ok(())
}

/// `struct __fdb_entry`, 16 octets each: address, low octet of the port, local, age, high octet of
/// the port. The file takes only offsets and lengths that are multiples of an entry.
fn stations(path: &Path) -> io::Result<Vec<KernelFdbEntry>> {
    let mut file = fs::File::open(path)?;
    let mut stations = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            return Ok(stations);
        }
        stations.extend(
            buffer[..length]
                .chunks_exact(16)
                .filter_map(|e| station(e.try_into().ok()?)),
        );
    }
}

fn station(entry: [u8; 16]) -> Option<KernelFdbEntry> {
    let address = Mac::from_octets(&entry[..6])?;
    Some(KernelFdbEntry {
        address,
        port: u16::from(entry[6]) | u16::from(entry[12]) << 8,
        local: entry[7] != 0,
    })
}

fn device(name: &str) -> PathBuf {
    Path::new("/sys/class/net").join(name)
}

fn text(path: &Path) -> io::Result<String> {
    fs::read_to_string(path).map(|t| t.trim().to_owned())
}

fn number<T: std::str::FromStr<Err: std::fmt::Display>>(path: &Path) -> io::Result<T> {
    text(path)?
        .parse()
        .map_err(|e| io::Error::other(format!("{}: {e}", path.display())))
}

/// `8000.024c01000000`.
fn bridge_id(text: &str) -> io::Result<RawBridgeId> {
    let digits: String = text.chars().filter(|c| *c != '.').collect();
    u64::from_str_radix(&digits, 16)
        .map(|id| RawBridgeId(id.to_be_bytes()))
        .map_err(invalid)
}

fn invalid(error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_bridge_ids_and_fdb_entries() {
        assert_eq!(
            bridge_id("8000.024c01000003").unwrap().0,
            [0x80, 0, 2, 0x4c, 1, 0, 0, 3]
        );
        assert!(bridge_id("root").is_err());
        let entry = [2, 0, 0, 0, 0, 9, 0x2c, 0, 1, 2, 3, 4, 1, 0, 0, 0];
        assert_eq!(
            station(entry),
            Some(KernelFdbEntry {
                address: Mac([2, 0, 0, 0, 0, 9]),
                port: 300,
                local: false
            })
        );
    }
}
