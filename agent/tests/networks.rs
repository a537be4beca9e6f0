//! Recordings of real networks and devices, and what is known of them: `make test-networks
//! NETWORKS=FOLDER`. They are other people's data, so the folder is no part of this repository;
//! without it these tests are not run at all.
//!
//! A network is a folder with `expected.yaml`, and walks beside it or in `snmprec/`; a single
//! device is `NAME.snmprec.xz` with `NAME.expected.yaml`.
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

/// What LibreNMS makes of a row.
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

/// The interfaces' names that another word for a port may mean: LLDP's number, id or description,
/// or an operator's alias.
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
        let (topology, _) = found(&walks);
        let recorded: BTreeSet<String> = read_folder(&walks)
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
        // Aggregates that stand for their members where nothing recorded names the members.
        let expected = network
            .links
            .iter()
            .map(|l| ordered(&l.a, &l.a_port, &l.b, &l.b_port));
        let (mut count, mut missing) = (0, Vec::new());
        for cable in expected {
            count += 1;
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
        println!(
            "{name:28} {count:8} {:5} {:5} {:7}",
            count - missing.len(),
            seen.len(),
            missing.len()
        );
        for (what, list) in [("false", &seen), ("missing", &missing)] {
            for cable in list {
                wrong += &format!("{name}: {what} {}\n", cable.join(" "));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_device_gives_its_neighbours() {
    let mut wrong = String::new();
    let mut checked = 0;
    for file in files(&networks(), ".expected.yaml") {
        let name = file
            .file_name()
            .unwrap()
            .to_string_lossy()
            .replace(".expected.yaml", "");
        let device: ExpectedDevice =
            serde_yaml::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let alone = tempfile::tempdir().unwrap();
        fs::copy(
            file.with_file_name(format!("{name}.snmprec.xz")),
            alone.path().join(format!("{name}.snmprec.xz")),
        )
        .unwrap();
        let (topology, views) = found(alone.path());
        let cables: Vec<[String; 4]> = topology.links.iter().flat_map(cables).collect();
        let said = |text: &str| text.to_lowercase().replace(['-', ' '], ":");
        let mut bad = Vec::new();
        for row in &device.lldp_neighbors_decoded_by_us {
            checked += 1;
            // The list takes LLDP's local port numbers for ifIndexes; LibreNMS looks them up where
            // the device has a table.
            let looked_up = |port: &String| {
                let told = device
                    .librenms_expected_links
                    .iter()
                    .filter(|t| t.name.as_ref() == Some(port));
                told.filter_map(|t| t.port.as_ref())
                    .any(|there| there.starts_with(&row.port))
            };
            let near = |port: &String| {
                *port == row.local
                    || called(&views[&name], &row.local).contains(port)
                    || looked_up(port)
            };
            let who = |node: &String| *node == row.name || said(node) == said(&row.chassis);
            let there = |port: &String| said(port) == said(&row.port) || *port == row.port_descr;
            let fits = |[a, p, b, q]: &[String; 4]| {
                *a == name && near(p) && who(b) && there(q)
                    || *b == name && near(q) && who(a) && there(p)
            };
            if !cables.iter().any(fits) {
                bad.push(format!(
                    "{name}: missing {} -> {} ({}) {} ({})\n",
                    row.local, row.name, row.chassis, row.port, row.port_descr
                ));
            }
        }
        println!(
            "{name:28} {:3} rows {:3} missing {:3} cables",
            device.lldp_neighbors_decoded_by_us.len(),
            bad.len(),
            cables.len()
        );
        if !bad.is_empty() {
            let links = topology.links.iter().map(|l| {
                format!(
                    "    {} {} - {} {} {}\n",
                    l.a, l.a_port, l.b, l.b_port, l.grade
                )
            });
            bad.extend(links);
        }
        wrong.extend(bad);
    }
    assert!(wrong.is_empty(), "of {checked} rows:\n{wrong}");
}

/// The recordings of the networks were made from walks as text, which are still beside them.
#[test]
fn the_walks_as_text_say_the_same() {
    let mut checked = 0;
    for folder in fs::read_dir(networks().join("opennms")).unwrap() {
        let folder = folder.unwrap().path();
        let texts = tempfile::tempdir().unwrap();
        let names: Vec<String> = read_folder(&folder.join("snmprec"))
            .unwrap()
            .recordings
            .into_iter()
            .map(|r| r.name)
            .collect();
        for walk in files(&folder.join("walks"), ".xz") {
            // NAME.vlan.N, NAME-walk, NAME_ADDRESS and NAME.properties: whatever their recorders
            // called them.
            let file = walk.file_name().unwrap().to_string_lossy().into_owned();
            let name = names
                .iter()
                .filter(|n| file.starts_with(*n))
                .max_by_key(|n| n.len())
                .unwrap();
            let context = file
                .split_once(".vlan")
                .and_then(|(_, rest)| rest.trim_start_matches('.').split('.').next());
            let context = context.map(|vlan| format!("@{vlan}"));
            fs::copy(
                &walk,
                texts
                    .path()
                    .join(format!("{name}{}.txt.xz", context.unwrap_or_default())),
            )
            .unwrap();
        }
        let (of_text, text_views) = found(texts.path());
        let (of_records, record_views) = found(&folder.join("snmprec"));
        for (name, view) in &record_views {
            let text = &text_views[name];
            assert_eq!(
                (&text.system, &text.lldp),
                (&view.system, &view.lldp),
                "{}: {name}",
                folder.display()
            );
            assert_eq!(
                (&text.bridge, &text.fdb, &text.arp),
                (&view.bridge, &view.fdb, &view.arp),
                "{}: {name}",
                folder.display()
            );
            for (of_text, of_record) in text
                .interfaces
                .iter()
                .flatten()
                .zip(view.interfaces.iter().flatten())
            {
                // The text has PAgP's table, too, which the recordings leave out.
                let of_text = InterfaceRow {
                    aggregate: of_record.aggregate,
                    ..of_text.clone()
                };
                assert_eq!(of_text, *of_record, "{}: {name}", folder.display());
            }
            let rows = |v: &DeviceView| v.interfaces.as_ref().map(Vec::len);
            assert_eq!(rows(text), rows(view), "{}: {name}", folder.display());
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
