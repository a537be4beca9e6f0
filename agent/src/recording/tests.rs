//! Folders of walks, good and bad. The small network is a recording of the lab:
//! `lab/topologies/tiny.yaml`.
use super::*;
use infer::infer_recorded;
use inventory::Mac;
use inventory::device_view::{DeviceView, DeviceViews, apply};
use inventory::observation::{LldpTable, NeighbourId, StpState};
use lzma_rust2::{XzOptions, XzWriter};
use proptest::prelude::*;
use std::io::Write;
use std::path::Path;

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

fn packed(text: &[u8]) -> Vec<u8> {
    let mut writer = XzWriter::new(Vec::new(), XzOptions::with_preset(1)).unwrap();
    writer.write_all(text).unwrap();
    writer.finish().unwrap()
}

fn views(folder: &Path) -> (DeviceViews, Vec<String>) {
    let folder = read_folder(folder).unwrap();
    let mut views = DeviceViews::new();
    for observation in folder
        .recordings
        .into_iter()
        .flat_map(|r| r.observations(Millis(1)))
    {
        apply(&mut views, &observation);
    }
    (views, folder.notes)
}

const SNMPREC: &[u8] =
    b"1.3.6.1.2.1.1.5.0|4|s0\n1.0.8802.1.1.2.1.3.1.0|2|4\n1.0.8802.1.1.2.1.3.2.0|4x|020000000009\n";
const WALK: &[u8] = b".1.3.6.1.2.1.1.5.0 = STRING: \"s0\"\n.1.0.8802.1.1.2.1.3.1.0 = INTEGER: \
                      macAddress(4)\n.1.0.8802.1.1.2.1.3.2.0 = Hex-STRING: 02 00 00 00 00 09 \n";

#[test]
fn both_formats_say_the_same_packed_or_not() {
    let folder = folder(&[
        ("a.snmprec", SNMPREC),
        ("b.txt", WALK),
        ("c", WALK),
        ("d.example.org.snmprec.xz", &packed(SNMPREC)),
        ("e.walk.xz", &packed(WALK)),
        ("notes.md", b"# no walk\n"),
        (".hidden", WALK),
    ]);
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    let (views, notes) = views(folder.path());
    assert_eq!(
        (views.keys().map(String::as_str).collect::<Vec<_>>(), notes),
        (vec!["a", "b", "c", "d.example.org", "e"], vec![])
    );
    assert!(
        views.values().all(|v| output(v)
            == (
                "s0".to_owned(),
                Some(NeighbourId::Mac(Mac([2, 0, 0, 0, 0, 9])))
            )),
        "{views:#?}"
    );
}

fn output(v: &DeviceView) -> (String, Option<NeighbourId>) {
    (
        v.system.as_ref().unwrap().name.clone(),
        v.lldp.as_ref().unwrap().chassis.clone(),
    )
}

#[test]
fn a_context_belongs_to_its_device() {
    let vlan = b"1.3.6.1.2.1.17.1.4.1.2.3|2|103\n1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.0.5|2|3\n";
    let folder = folder(&[
        ("s0.snmprec", SNMPREC),
        ("s0@10.snmprec.xz", &packed(vlan)),
        ("s0@20.snmprec", b"garbage"),
    ]);
    let (views, notes) = views(folder.path());
    assert_eq!(views.len(), 1);
    assert_eq!(views["s0"].fdb.as_ref().unwrap().len(), 1);
    assert_eq!(views["s0"].bridge.as_ref().unwrap().ports[0].if_index, 103);
    assert!(
        notes[0].starts_with("s0@20.snmprec: no record in it")
            && notes[0].ends_with("this context is left out"),
        "{notes:?}"
    );
}

#[test]
fn a_port_that_forwards_in_some_vlans_only_is_unknown_and_reported() {
    let plain = format!("1.3.6.1.2.1.2.2.1.2.103|4|swp3\n{}", vlan(5));
    for (other, state, reported) in [
        (
            2,
            None,
            &[
                "s0: spanning tree holds swp3 in different states from VLAN to VLAN; whether the \
                 links there carry frames is unknown",
            ][..],
        ),
        (5, Some(StpState::Forwarding), &[]),
    ] {
        let folder = folder(&[
            ("s0.snmprec", plain.as_bytes()),
            ("s0@20.snmprec", vlan(other).as_bytes()),
        ]);
        let (views, notes) = views(folder.path());
        assert_eq!(
            (views["s0"].bridge.as_ref().unwrap().ports[0].state, notes),
            (state, reported.iter().map(|t| (*t).to_owned()).collect())
        );
    }
}

fn vlan(state: u8) -> String {
    format!(
        "1.3.6.1.2.1.17.2.5.0|4x|8000020000000001\n1.3.6.1.2.1.17.1.4.1.2.3|2|103\n\
             1.3.6.1.2.1.17.2.15.1.3.3|2|{state}\n"
    )
}

#[test]
fn what_cannot_be_read_is_reported_with_its_place() {
    let cut = &packed(WALK)[..40];
    let folder = folder(&[
        (
            "a.snmprec",
            b"1.3.6.1.2.1.1.5.0|4|s0\nrubbish\n1.3.6.1.2.1.1.5.0|4|other\nmore\n",
        ),
        ("b.walk.xz", cut),
        ("c.snmprec", b""),
        ("d.txt", b"a shopping list\n"),
    ]);
    let (views, notes) = views(folder.path());
    assert_eq!(
        views["a"].system.as_ref().unwrap().name,
        "s0",
        "the first value counts"
    );
    assert_eq!(
        notes,
        [
            "a.snmprec:2: no record, and 1 more like it; left out",
            "a.snmprec:3: an object that came before; its first value counts"
        ]
    );
    let problem = |name: &str| views[name].stale.clone().unwrap().1;
    assert!(
        problem("b").starts_with("b.walk.xz: cannot be unpacked: "),
        "{}",
        problem("b")
    );
    assert_eq!(
        problem("c"),
        "c.snmprec: no record in it; expected snmprec or the output of snmpwalk -On"
    );
    assert!(!views.contains_key("d"));
}

#[test]
fn a_folder_without_walks_is_refused() {
    let empty = folder(&[("README.md", b"nothing")]);
    std::fs::create_dir(empty.path().join("snmprec")).unwrap();
    let problem = read_folder(empty.path()).unwrap_err().to_string();
    assert!(
        problem.contains("no recording in it")
            && problem.ends_with("subfolders are not looked into: snmprec"),
        "{problem}"
    );
    let twice = folder(&[("s0.snmprec", SNMPREC), ("s0.txt", WALK)]);
    let problem = read_folder(twice.path()).unwrap_err().to_string();
    assert!(
        problem.contains("s0.snmprec and s0.txt are both \"s0\""),
        "{problem}"
    );
    let none = read_folder(&twice.path().join("none")).unwrap_err();
    assert!(
        none.to_string()
            .ends_with("none: no such file or folder; nothing was read")
    );
}

#[test]
fn pipes_and_endless_files_are_not_waited_for() {
    let folder = folder(&[("s0.snmprec", SNMPREC)]);
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("zero.snmprec")).unwrap();
    std::os::unix::fs::symlink("gone", folder.path().join("gone.snmprec")).unwrap();
    assert_eq!(read_folder(folder.path()).unwrap().recordings.len(), 1);
}

/// Rows by the ten thousand, all alike: whatever compares each with each does not end soon.
#[test]
fn tables_without_measure_are_read_in_time() {
    const ROWS: u32 = if cfg!(debug_assertions) {
        10_000
    } else {
        100_000
    };
    let mut text = String::new();
    for row in 1..=ROWS {
        text += &format!("1.3.6.1.2.1.31.1.1.1.1.{row}|4|swp\n");
        text += &format!("1.3.6.1.2.1.2.2.1.2.{row}|4|port\n");
        text += &format!("1.3.6.1.4.1.14988.1.1.11.1.1.6.{row}|4|s{row}\n");
        text += &format!("1.3.6.1.4.1.14988.1.1.11.1.1.8.{row}|2|7\n");
        text += &format!(
            "1.3.6.1.4.1.6527.3.1.2.59.4.1.1.9.{row}.7.1.{0}|4|s{0}\n",
            row % 1000
        );
    }
    let facts = DeviceRecording::parse("s0", text.as_bytes()).unwrap().facts;
    let rows = facts.iter().find_map(|fact| match fact {
        DeviceFact::Lldp(table) => Some((table.neighbours.len(), table.cdp.neighbours.len())),
        _ => None,
    });
    assert_eq!(rows, Some((1000, ROWS as usize)));
}

#[test]
fn hostile_names_reach_no_terminal() {
    let evil = "1.3.6.1.2.1.1.5.0|4x|1B5B324A41E280AE42\n".as_bytes();
    let folder = folder(&[("s\u{1b}[2J.snmprec", evil)]);
    let (views, _) = views(folder.path());
    assert_eq!(views.keys().next().unwrap(), "s [2J");
    assert_eq!(views["s [2J"].system.as_ref().unwrap().name, "[2JA B");
}

/// The facts of any text, however strange. Reading it and judging it must end without a panic.
fn facts_of(text: &[u8]) -> Vec<DeviceFact> {
    let Some(recording) = DeviceRecording::parse("s0", text) else {
        return vec![];
    };
    let facts = recording.facts.clone();
    let mut views = DeviceViews::new();
    for observation in recording.observations(Millis(1)) {
        apply(&mut views, &observation);
    }
    let _ = infer_recorded(&views).tree();
    facts
}

/// Lines similar to those of walks, so that mutations reach the tables.
fn line() -> impl Strategy<Value = String> {
    let object = prop::sample::select(vec![
        "1.0.8802.1.1.2.1.3.2.0",
        "1.0.8802.1.1.2.1.3.7.1.3.1",
        "1.0.8802.1.1.2.1.4.1.1.5.0.1.1",
        "1.0.8802.1.1.2.1.4.1.1.7.0.1.1",
        "1.0.8802.1.1.2.1.4.1.1.9.0.1",
        "1.3.111.2.802.1.1.13.1.4.1.1.6.0.1.1.1",
        "1.3.6.1.2.1.2.2.1.2.1",
        "1.3.6.1.2.1.2.2.1.8.1",
        "1.3.6.1.2.1.17.1.1.0",
        "1.3.6.1.2.1.17.1.4.1.2.1",
        "1.3.6.1.2.1.17.2.15.1.3.1",
        "1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.0.1",
        "1.3.6.1.2.1.17.7.1.2.2.1.2.10.2.0.0.0.0.1",
        "1.3.6.1.2.1.4.22.1.2.1.10.0.0.1",
        "1.3.6.1.4.1.9.9.23.1.2.1.1.6.1.1",
        "1.3.6.1.4.1.1916.1.13.2.1.3.1.0.0.2.0.0.0.0.8",
        "1.3.6.1.4.1.1991.1.1.3.20.1.2.1.1.3.1.1",
        "1.3.6.1.4.1.3320.127.1.4.1.1.2.0.1.1",
        "1.3.6.1.4.1.6527.3.1.2.59.4.1.1.5.0.1.1.1",
        "1.3.6.1.4.1.11863.6.35.1.2.2.1.4.1.1",
        "1.3.6.1.4.1.14988.1.1.11.1.1.8.1",
        "1.2.840.10006.300.43.1.2.1.1.13.1",
        "1.3.6.1.2.1.31.1.2.1.3.1.1",
        "1.4294967295.4294967296",
    ]);
    let tail = prop::collection::vec(any::<u32>(), 0..3)
        .prop_map(|t| t.iter().map(|n| format!(".{n}")).collect::<String>());
    let value = prop_oneof![
        any::<String>(),
        Just("00010203040506".to_owned()),
        any::<i64>().prop_map(|n| n.to_string()),
        Just("\"".to_owned()),
        Just("0x".to_owned()),
        Just("ab ".repeat(4000)),
    ];
    let form = prop::sample::select(vec![
        "|2|",
        "|4|",
        "|4x|",
        "|65|",
        "|6|",
        "|",
        " = STRING: \"",
        " = Hex-STRING: ",
        " = INTEGER: up(",
        " = ",
        "=",
    ]);
    (object, tail, form, value)
        .prop_map(|(object, tail, form, value)| format!("{object}{tail}{form}{value}"))
}

const CASES: u32 = if cfg!(debug_assertions) { 128 } else { 10_000 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn no_text_is_too_strange(lines in prop::collection::vec(line(), 0..40), cut in 0usize..2000) {
        let text = lines.join("\n");
        facts_of(text.as_bytes());
        facts_of(&text.as_bytes()[..cut.min(text.len())]);
        let again = format!("{text}\n{text}");
        let twice = facts_of(again.as_bytes()).len();
        let once = facts_of(format!("{text}\n").as_bytes()).len();
        prop_assert_eq!(twice, once, "a record that stands twice counts once");
    }

    #[test]
    fn no_octets_are_too_strange(text in prop::collection::vec(any::<u8>(), 0..600)) {
        facts_of(&text);
    }

    /// A walk and its snmprec give the same facts.
    #[test]
    fn the_formats_agree(
        names in prop::collection::vec("[ -~]{0,12}", 1..20),
        numbers in prop::collection::vec(any::<u32>(), 1..20),
    ) {
        let escaped = |name: &str| name.replace('\\', "\\\\").replace('"', "\\\"");
        let mut walk = String::new();
        let mut record = String::new();
        for (i, name) in names.iter().enumerate() {
            walk += &format!(".1.0.8802.1.1.2.1.3.7.1.3.{i} = STRING: \"{}\"\n", escaped(name));
            record += &format!("1.0.8802.1.1.2.1.3.7.1.3.{i}|4|{name}\n");
        }
        for (i, number) in numbers.iter().enumerate() {
            walk += &format!(".1.3.6.1.2.1.2.2.1.10.{i} = Counter32: \
                              {number}\n.1.3.6.1.2.1.2.2.1.8.{i} = INTEGER: up(1)\n");
            record += &format!("1.3.6.1.2.1.2.2.1.10.{i}|65|{number}\n");
            record += &format!("1.3.6.1.2.1.2.2.1.8.{i}|2|1\n");
        }
        let facts = facts_of(walk.as_bytes());
        prop_assert_eq!(&facts, &facts_of(record.as_bytes()));
        let ports = facts.iter().find_map(|fact| match fact {
            DeviceFact::Lldp(LldpTable { ports, .. }) => Some(ports.len()),
            _ => None,
        });
        prop_assert_eq!(ports, Some(names.iter().filter(|n| !n.is_empty()).count()));
    }
}
