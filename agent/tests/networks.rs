//! Recordings of real networks and devices, and the facts known of them: `make test-networks
//! NETWORKS=FOLDER`. They are other people's data, so the folder is not part of this repository.
//! Without it these tests do not run.
//!
//! A network is a folder with `expected.yaml`, and with walks beside that file or in `snmprec/`. A
//! single device is `NAME.snmprec.xz` with `NAME.expected.yaml`.
mod pcap;

use agent::recording::read_folder;
use infer::infer_recorded;
use inventory::Millis;
use inventory::device_view::{DeviceView, DeviceViews, apply};
use inventory::observation::InterfaceRow;
use inventory::topology::{Link, LinkGrade, Topology};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct ExpectedNetwork {
    links: Vec<ExpectedCable>,
}

#[derive(Deserialize)]
struct ExpectedCable {
    a: String,
    a_port: String,
    b: String,
    b_port: String,
}

#[derive(Deserialize)]
struct ExpectedDevice {
    #[serde(default)]
    lldp_neighbors_decoded_by_us: Vec<LldpNeighbourRow>,
    #[serde(default)]
    librenms_expected_links: Vec<LibrenmsLink>,
}

/// The reading of a row by LibreNMS.
#[derive(Deserialize)]
struct LibrenmsLink {
    #[serde(rename = "ifName")]
    name: Option<String>,
    #[serde(rename = "remote_port")]
    port: Option<String>,
}

#[derive(Deserialize)]
struct LldpNeighbourRow {
    local: String,
    chassis: String,
    port: String,
    #[serde(rename = "portDesc")]
    port_descr: String,
    #[serde(rename = "sysName")]
    name: String,
}

fn networks() -> PathBuf {
    let folder = std::env::var_os("HEDDLE_NETWORKS")
        .expect("HEDDLE_NETWORKS: not set; name the folder with the recordings");
    PathBuf::from(folder)
}

/// The names of the interfaces that another word for a port may mean: LLDP's number, id or
/// description, or an operator's alias.
fn called(view: &DeviceView, word: &str) -> Vec<String> {
    let interfaces = view.interfaces.iter().flatten();
    interfaces
        .filter(|i| i.index.to_string() == word || i.alias == word || i.descr == word)
        .map(|i| i.name.clone())
        .collect()
}

fn found(folder: &Path) -> (Topology, DeviceViews) {
    let mut views = DeviceViews::new();
    for recording in read_folder(folder).unwrap().recordings {
        for observation in recording.observations(Millis(1)) {
            apply(&mut views, &observation);
        }
    }
    (infer_recorded(&views), views)
}

/// Every file below a folder with this ending.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all.extend(files(&path, ending)),
            false if path.to_string_lossy().ends_with(ending) => all.push(path),
            false => {}
        }
    }
    all.sort();
    all
}

/// The cables of a link, the end with the smaller name first.
fn cables(link: &Link) -> Vec<[String; 4]> {
    let ports = match &link.members[..] {
        [] => vec![(&link.a_port, &link.b_port)],
        members => members.iter().map(|m| (&m.a_port, &m.b_port)).collect(),
    };
    ports
        .into_iter()
        .map(|(p, q)| ordered(&link.a, p, &link.b, q))
        .collect()
}

fn ordered(a: &str, p: &str, b: &str, q: &str) -> [String; 4] {
    let (first, second) = if (a, p) <= (b, q) {
        ((a, p), (b, q))
    } else {
        ((b, q), (a, p))
    };
    [first.0, first.1, second.0, second.1].map(str::to_owned)
}

/// The unexpected cables found between recorded devices, and the expected cables that were not
/// found.
fn compare(walks: &Path, expected: &[ExpectedCable]) -> (Vec<[String; 4]>, Vec<[String; 4]>) {
    let (topology, _) = found(walks);
    let recorded: BTreeSet<String> = read_folder(walks)
        .unwrap()
        .recordings
        .into_iter()
        .map(|r| r.name)
        .collect();
    let among = topology
        .links
        .iter()
        .filter(|l| recorded.contains(&l.a) && recorded.contains(&l.b));
    let mut seen: Vec<[String; 4]> = among
        .filter(|l| l.grade != LinkGrade::Ambiguous)
        .flat_map(cables)
        .collect();
    let mut missing = Vec::new();
    for cable in expected {
        let cable = ordered(&cable.a, &cable.a_port, &cable.b, &cable.b_port);
        // An aggregate stands for its members if no recording names them.
        let unnamed = cable[1].starts_with("Po (");
        let fits = |s: &[String; 4]| {
            if unnamed {
                s[0] == cable[0] && s[2] == cable[2]
            } else {
                *s == cable
            }
        };
        match seen.iter().position(fits) {
            Some(i) => drop(seen.remove(i)),
            None => missing.push(cable),
        }
    }
    (seen, missing)
}

#[test]
fn every_network_gives_exactly_its_links() {
    let mut wrong = String::new();
    println!("{:28} expected found false missing", "network");
    for file in files(&networks(), "expected.yaml")
        .iter()
        .filter(|f| f.file_name().unwrap() == "expected.yaml")
    {
        let folder = file.parent().unwrap();
        let name = folder.file_name().unwrap().to_string_lossy();
        let network: ExpectedNetwork =
            serde_yaml::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let walks = if folder.join("snmprec").is_dir() {
            folder.join("snmprec")
        } else {
            folder.to_owned()
        };
        let (unexpected, missing) = compare(&walks, &network.links);
        let count = network.links.len();
        println!(
            "{name:28} {count:8} {:5} {:5} {:7}",
            count - missing.len(),
            unexpected.len(),
            missing.len()
        );
        for (what, list) in [("false", &unexpected), ("missing", &missing)] {
            for cable in list {
                wrong += &format!("{name}: {what} {}\n", cable.join(" "));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// One recorded device and its expected neighbours.
struct RecordedDevice {
    name: String,
    expected: ExpectedDevice,
    topology: Topology,
    views: DeviceViews,
}

impl RecordedDevice {
    /// Reads the recording that belongs to an `.expected.yaml`.
    fn read(file: &Path) -> RecordedDevice {
        let name = file
            .file_name()
            .unwrap()
            .to_string_lossy()
            .replace(".expected.yaml", "");
        let expected = serde_yaml::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let alone = tempfile::tempdir().unwrap();
        let recording = format!("{name}.snmprec.xz");
        fs::copy(
            file.with_file_name(&recording),
            alone.path().join(&recording),
        )
        .unwrap();
        let (topology, views) = found(alone.path());
        RecordedDevice {
            name,
            expected,
            topology,
            views,
        }
    }

    fn cables(&self) -> Vec<[String; 4]> {
        self.topology.links.iter().flat_map(cables).collect()
    }

    /// True if a cable leads from this device to the neighbour of `row`.
    fn has(&self, cables: &[[String; 4]], row: &LldpNeighbourRow) -> bool {
        let plain = |text: &str| text.to_lowercase().replace(['-', ' '], ":");
        // The list takes LLDP's local port numbers for ifIndexes. LibreNMS looks them up if the
        // device has a table.
        let looked_up = |port: &String| {
            let links = self.expected.librenms_expected_links.iter();
            links
                .filter(|link| link.name.as_ref() == Some(port))
                .filter_map(|link| link.port.as_ref())
                .any(|remote| remote.starts_with(&row.port))
        };
        let near = |port: &String| {
            *port == row.local
                || called(&self.views[&self.name], &row.local).contains(port)
                || looked_up(port)
        };
        // A neighbour whose identity is nobody's goes by the place at which it is seen.
        let nobody = row.name.is_empty() && row.chassis == "00:00:00:00:00:00";
        let who = |node: &String| {
            let placed = nobody && node.starts_with("unknown-");
            *node == row.name || plain(node) == plain(&row.chassis) || placed
        };
        let far = |port: &String| plain(port) == plain(&row.port) || *port == row.port_descr;
        cables.iter().any(|[a, p, b, q]| {
            *a == self.name && near(p) && who(b) && far(q)
                || *b == self.name && near(q) && who(a) && far(p)
        })
    }
}

#[test]
fn every_device_gives_its_neighbours() {
    let mut wrong = String::new();
    let mut checked = 0;
    for file in files(&networks(), ".expected.yaml") {
        let device = RecordedDevice::read(&file);
        let (name, rows) = (&device.name, &device.expected.lldp_neighbors_decoded_by_us);
        let cables = device.cables();
        checked += rows.len();
        let missing = rows.iter().filter(|row| !device.has(&cables, row));
        let mut bad: Vec<String> = missing
            .map(|row| {
                format!(
                    "{name}: missing {} -> {} ({}) {} ({})\n",
                    row.local, row.name, row.chassis, row.port, row.port_descr
                )
            })
            .collect();
        println!(
            "{name:28} {:3} rows {:3} missing {:3} cables",
            rows.len(),
            bad.len(),
            cables.len()
        );
        if !bad.is_empty() {
            bad.extend(device.topology.links.iter().map(|l| {
                format!(
                    "    {} {} - {} {} {}\n",
                    l.a, l.a_port, l.b, l.b_port, l.grade
                )
            }));
        }
        wrong.extend(bad);
    }
    assert!(wrong.is_empty(), "of {checked} rows:\n{wrong}");
}

/// Copies the walks of a network to `to`, under the names of its devices and VLANs.
fn copy_walks(folder: &Path, to: &Path) {
    let names: Vec<String> = read_folder(&folder.join("snmprec"))
        .unwrap()
        .recordings
        .into_iter()
        .map(|r| r.name)
        .collect();
    for walk in files(&folder.join("walks"), ".xz") {
        // The recorders named the files NAME.vlan.N, NAME-walk, NAME_ADDRESS or NAME.properties.
        let file = walk.file_name().unwrap().to_string_lossy().into_owned();
        let name = names
            .iter()
            .filter(|n| file.starts_with(*n))
            .max_by_key(|n| n.len())
            .unwrap();
        let context = file
            .split_once(".vlan")
            .and_then(|(_, rest)| rest.trim_start_matches('.').split('.').next())
            .map(|vlan| format!("@{vlan}"))
            .unwrap_or_default();
        fs::copy(&walk, to.join(format!("{name}{context}.txt.xz"))).unwrap();
    }
}

/// Checks that a device's walk as text gives the same tables as its recording.
fn assert_same_tables(of_text: &DeviceView, of_record: &DeviceView, device: &str) {
    assert_eq!(
        (&of_text.system, &of_text.lldp),
        (&of_record.system, &of_record.lldp),
        "{device}"
    );
    assert_eq!(
        (&of_text.bridge, &of_text.fdb, &of_text.arp),
        (&of_record.bridge, &of_record.fdb, &of_record.arp),
        "{device}"
    );
    let rows = |view: &DeviceView| view.interfaces.as_ref().map(Vec::len);
    assert_eq!(rows(of_text), rows(of_record), "{device}");
    let texts = of_text.interfaces.iter().flatten();
    for (of_text, of_record) in texts.zip(of_record.interfaces.iter().flatten()) {
        // The text also has PAgP's table and the counters of faults, which the recordings leave out.
        let of_text = InterfaceRow {
            aggregate: of_record.aggregate,
            faults: of_record.faults,
            ..of_text.clone()
        };
        assert_eq!(of_text, *of_record, "{device}");
    }
}

/// The recordings of the networks were made from walks as text. Those are still beside them.
#[test]
fn the_walks_as_text_say_the_same() {
    let mut checked = 0;
    for folder in fs::read_dir(networks().join("opennms")).unwrap() {
        let folder = folder.unwrap().path();
        let texts = tempfile::tempdir().unwrap();
        copy_walks(&folder, texts.path());
        let (of_text, text_views) = found(texts.path());
        let (of_records, record_views) = found(&folder.join("snmprec"));
        for (name, view) in &record_views {
            let device = format!("{}: {name}", folder.display());
            assert_same_tables(&text_views[name], view, &device);
            checked += 1;
        }
        let all = |t: &Topology| t.links.iter().flat_map(cables).collect::<BTreeSet<_>>();
        assert_eq!(
            (of_text.nodes.len(), all(&of_text)),
            (of_records.nodes.len(), all(&of_records)),
            "{}",
            folder.display()
        );
    }
    assert!(checked > 0);
}
