//! Epochs written, read, refused, and read back.
use super::*;
use crate::layout::MANIFEST;
use inventory::Bytes;
use inventory::stages::flows::WayCable;
use policy::decision_table::{Collective, DecisionGrounds, Mpi};
use policy::learned::figures::JobLesson;
use policy::learned::{LearnedTiming, RecordedTiming};
use proptest::prelude::*;
use proptest::sample::Index;
use samples::trees::{any_tree_text, star_text};
use std::collections::HashMap;

type EpochFiles = HashMap<String, Vec<u8>>;

fn epoch(text: &str) -> Epoch {
    let topology = TopologyFile::parse("t.yaml", text).unwrap();
    Epoch::plan(
        41,
        Millis(1_700_000_000_000),
        topology,
        Topology::default(),
        WayEvidence::default(),
    )
    .unwrap()
}

fn published(epoch: &Epoch) -> (EpochPointer, EpochFiles) {
    let files = epoch.files();
    assert_eq!(files.last().unwrap().0, MANIFEST);
    let pointer = EpochPointer::new(epoch.number, &files.last().unwrap().1);
    (pointer, files.into_iter().collect())
}

/// A reader as the module requires: it stops one octet after the limit.
fn reader(files: &EpochFiles) -> impl FnMut(&str, u64) -> io::Result<Vec<u8>> + '_ {
    |name, limit| match files.get(name) {
        Some(bytes) => Ok(bytes[..bytes.len().min(limit as usize + 1)].to_vec()),
        None => Err(io::Error::new(io::ErrorKind::NotFound, "no such file")),
    }
}

#[test]
fn pointer_text() {
    let pointer = EpochPointer::new(41, b"");
    let text = "41 sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(pointer.to_string(), text);
    assert_eq!(pointer.folder(), "epochs/00000041");
    assert_eq!(format!("{text}\n").parse(), Ok(pointer));
    let upper = text.to_uppercase();
    for bad in [
        "",
        "\n",
        "41",
        "41 ",
        "0 ",
        "+41 ",
        "41 sha256:",
        &text[..text.len() - 1],
        &text[1..].replace("1 ", "0 "),
        &upper,
        &format!("{text} "),
    ] {
        assert!(bad.parse::<EpochPointer>().is_err(), "{bad:?}");
    }
    assert!(
        "41 sha1:x"
            .parse::<EpochPointer>()
            .unwrap_err()
            .to_string()
            .contains("expected an epoch number")
    );
}

#[test]
fn every_file_cut_altered_longer_or_missing_is_named() {
    let epoch = epoch(&star_text(&[2, 2]));
    let (pointer, files) = published(&epoch);
    type EpochDamage = (&'static str, fn(&mut EpochFiles, &str));
    let damages: [EpochDamage; 4] = [
        ("missing", |files, name| drop(files.remove(name))),
        ("empty", |files, name| files.get_mut(name).unwrap().clear()),
        ("altered", |files, name| {
            files.get_mut(name).unwrap()[3] ^= 1
        }),
        ("longer", |files, name| {
            files.get_mut(name).unwrap().push(b' ')
        }),
    ];
    for name in files.keys() {
        for (damage, apply) in damages {
            let mut damaged = files.clone();
            apply(&mut damaged, name);
            let error = Epoch::open(&pointer, reader(&damaged)).unwrap_err();
            assert_eq!(&error.file, name, "{damage}");
            assert!(
                error
                    .to_string()
                    .starts_with(&format!("epoch 41, {name}: ")),
                "{error}"
            );
            let lean_reads = [MANIFEST, TOPOLOGY, TABLE].contains(&name.as_str());
            assert_eq!(
                LeanEpoch::open(&pointer, reader(&damaged)).is_err(),
                lean_reads,
                "{damage} {name}"
            );
        }
    }
}

#[test]
fn every_cut_and_every_flipped_bit_is_refused() {
    let epoch = epoch(&star_text(&[2, 1]));
    let (pointer, files) = published(&epoch);
    for (name, good) in &files {
        let mut bad = good.clone();
        for at in 0..good.len() {
            assert!(
                is_refused(name, &good[..at], &files, &pointer),
                "{name} cut to {at}"
            );
            bad[at] ^= 1 << (at % 8);
            assert!(
                is_refused(name, &bad, &files, &pointer),
                "{name} with octet {at} altered"
            );
            bad[at] = good[at];
        }
    }
    let current = pointer.to_string();
    for at in 0..current.len() {
        assert_ne!(current[..at].parse(), Ok(pointer));
    }
}

fn is_refused(
    name: &str,
    bytes: &[u8],
    files: &HashMap<String, Vec<u8>>,
    pointer: &EpochPointer,
) -> bool {
    let mut damaged = files.clone();
    damaged.insert(name.to_owned(), bytes.to_vec());
    Epoch::open(pointer, reader(&damaged)).is_err_and(|e| e.file == name)
}

#[test]
fn an_outline_needs_no_pointer_and_names_what_is_altered() {
    let epoch = epoch(&star_text(&[2, 2]));
    let (_, files) = published(&epoch);
    let outline = EpochOutline::open(41, reader(&files)).unwrap();
    assert_eq!((outline.at, outline.omitted.len()), (epoch.at, 0));
    assert_eq!(
        (outline.network, outline.topology, outline.table),
        (
            Topology::clone(&epoch.network),
            TopologyFile::clone(&epoch.topology),
            epoch.schedules.table
        )
    );
    assert!(
        EpochOutline::open(42, reader(&files))
            .unwrap_err()
            .to_string()
            .contains("it is that of epoch 41")
    );
    for name in [NETWORK, TOPOLOGY, TABLE] {
        let mut damaged = files.clone();
        damaged.get_mut(name).unwrap()[3] ^= 1;
        assert_eq!(
            EpochOutline::open(41, reader(&damaged)).unwrap_err().file,
            name
        );
    }
}

#[test]
fn an_epoch_of_another_format_is_refused_with_both_numbers() {
    let (_, mut files) = published(&epoch(&star_text(&[3])));
    let old = String::from_utf8(files[MANIFEST].clone()).unwrap();
    assert!(
        !old.contains("format"),
        "the first readers refuse the field"
    );
    let new = old.replacen('{', "{ \"format\": 2, \"shape\": \"another\",", 1);
    files.insert(MANIFEST.to_owned(), new.into_bytes());
    let pointer = EpochPointer::new(41, &files[MANIFEST]);
    let problem = Epoch::open(&pointer, reader(&files)).unwrap_err().problem;
    assert!(
        problem.starts_with("it has format 2, and this heddle (")
            && problem.contains("reads format 1"),
        "{problem}"
    );
}

#[test]
fn a_manifest_of_another_epoch_is_refused() {
    let (_, files) = published(&epoch(&star_text(&[2])));
    let stolen = EpochPointer::new(42, &files[MANIFEST]);
    assert!(
        Epoch::open(&stolen, reader(&files))
            .unwrap_err()
            .to_string()
            .contains("it is that of epoch 41")
    );
}

#[test]
fn a_whole_epoch_that_contradicts_itself_is_refused() {
    let mut mixed = epoch(&star_text(&[2, 2]));
    mixed.schedules.alltoall = epoch(&star_text(&[3])).schedules.alltoall; // Of other hosts.
    let (pointer, files) = published(&mixed);
    assert!(
        Epoch::open(&pointer, reader(&files))
            .unwrap_err()
            .to_string()
            .contains("alltoall.plan: its hosts are not those of topology.yaml")
    );
}

#[test]
fn of_very_many_hosts_no_plan_is_written_and_the_manifest_says_so() {
    let many = epoch(&star_text(&[MOST_PLANNED / 2, MOST_PLANNED / 2 + 1]));
    assert_eq!(
        (many.schedules.alltoall.is_none(), many.schedules.bound.load),
        (true, 512 * 513)
    );
    let (pointer, files) = published(&many);
    assert!(!files.contains_key(ALLTOALL));
    let manifest = String::from_utf8(files[MANIFEST].clone()).unwrap();
    assert!(
        manifest.contains("\"name\": \"alltoall.plan\"")
            && manifest.contains("1025 hosts: the all-to-all of all"),
        "{manifest}"
    );
    assert_eq!(
        LeanEpoch::open(&pointer, reader(&files)),
        Ok(LeanEpoch::from(&many))
    );
    assert_eq!(Epoch::open(&pointer, reader(&files)), Ok(many));
}

#[test]
fn a_plan_that_is_neither_there_nor_listed_as_omitted_is_missed() {
    let epoch = epoch(&star_text(&[2, 2]));
    let (_, files) = published(&epoch);
    assert!(
        !String::from_utf8_lossy(&files[MANIFEST]).contains("omitted"),
        "nothing is, and older readers know no such word"
    );
    let silent = String::from_utf8(files[MANIFEST].clone())
        .unwrap()
        .replace("alltoall.plan", "another.file");
    let silent: EpochFiles = files
        .into_iter()
        .chain([(MANIFEST.to_owned(), silent.into_bytes())])
        .collect();
    let error = Epoch::open(&EpochPointer::new(41, &silent[MANIFEST]), reader(&silent))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("alltoall.plan: manifest.json does not list it"),
        "{error}"
    );
}

#[test]
fn the_table_has_what_jobs_on_all_hosts_learned_and_the_epoch_a_copy() {
    let before = epoch(&star_text(&[2, 2]));
    let tree = before.topology.tree().unwrap();
    let place = LearnedPlace::new(&tree, &[0, 1, 2, 3], Mpi::Mpich);
    let lesson = JobLesson {
        user: "ann".to_owned(),
        job: 1,
        at: Millis(1),
        timings: [timing("native", 2000), timing("ring tcp", 1000)]
            .map(RecordedTiming::from)
            .into(),
    };
    let mut learned = LearnedFigures::default();
    learned.merge(&place, lesson);
    let evidence = WayEvidence::learned(learned);
    let (topology, network) = (before.topology.clone(), before.network.clone());
    let epoch = Epoch::plan(42, Millis(1), topology, network, evidence).unwrap();
    let entry = |mpi| {
        let table = epoch.schedules.table.clone().for_mpi(mpi);
        *table.entry(Collective::Allgather, Bytes(100)).unwrap()
    };
    assert_eq!(entry(Mpi::Mpich).grounds, DecisionGrounds::Learned);
    assert_eq!(entry(Mpi::Mpich).way.to_string(), "ring tcp");
    assert_eq!(entry(Mpi::OpenMpi).grounds, DecisionGrounds::Elsewhere);
    let (pointer, files) = published(&epoch);
    assert!(files.contains_key(LEARNED));
    assert_eq!(Epoch::open(&pointer, reader(&files)), Ok(epoch));
}

fn timing(way: &str, mean_ns: u64) -> LearnedTiming {
    LearnedTiming {
        collective: Collective::Allgather,
        from: Bytes(64),
        way: way.parse().unwrap(),
        samples: 9,
        mean_ns,
        error_ns: 1,
    }
}

#[test]
fn refuses_what_is_no_tree() {
    let apart = TopologyFile::parse(
        "t.yaml",
        "switches: [a, b]\nhosts: {x: {switch: a}, y: {switch: b}}",
    )
    .unwrap();
    let error = Epoch::plan(
        1,
        Millis(0),
        apart,
        Topology::default(),
        WayEvidence::default(),
    )
    .unwrap_err();
    assert!(error.to_string().contains("two parts"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn round_trip(text in any_tree_text(1..=16, 6)) {
        let epoch = epoch(&text);
        let (pointer, files) = published(&epoch);
        let lean = LeanEpoch::from(&epoch);
        prop_assert_eq!(LeanEpoch::open(&pointer, reader(&files)), Ok(lean.clone()));
        prop_assert_eq!(LeanEpoch::from_bytes(&lean.to_bytes()), Ok(lean));
        prop_assert_eq!(Epoch::open(&pointer, reader(&files)), Ok(epoch));
    }

    #[test]
    fn what_answers_along_ways_reaches_the_ranks(
        hops in prop::collection::vec((any::<std::net::IpAddr>(), 0u32..4), 0..5),
    ) {
        let hops = hops.into_iter().map(|(address, cable)| WayHop {
            from: "s0".into(),
            at: "s1".into(),
            cable,
            address,
        });
        let hops: Vec<WayHop> = hops.collect();
        let flows = hops.iter().map(|hop| KnownFlow {
            from: "n0".into(),
            to: "n1".into(),
            port: 61_000,
            cables: vec![WayCable { from: hop.from.clone(), at: hop.at.clone(), cable: hop.cable }],
        }).collect();
        let epoch = Epoch { hops, flows, ..epoch(&star_text(&[2, 2])) };
        let (pointer, files) = published(&epoch);
        for file in [HOPS, FLOWS] {
            prop_assert_eq!(files.contains_key(file), !epoch.hops.is_empty());
        }
        let lean = LeanEpoch::open(&pointer, reader(&files)).unwrap();
        prop_assert_eq!((&lean.hops, &lean.flows), (&epoch.hops, &epoch.flows));
        prop_assert_eq!(LeanEpoch::from_bytes(&lean.to_bytes()), Ok(lean));
        prop_assert_eq!(Epoch::open(&pointer, reader(&files)), Ok(epoch));
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        text in ".*",
    ) {
        let _ = LeanEpoch::from_bytes(&bytes);
        let _ = text.parse::<EpochPointer>();
        // The bytes as a manifest, and as every file that it could name.
        let pointer = EpochPointer::new(1, &bytes);
        let _ = Epoch::open(&pointer, |_, _| Ok(bytes.clone()));
    }

    #[test]
    fn mutated_broadcasts_are_read_or_refused(
        text in any_tree_text(1..=6, 3),
        at in any::<Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let mut bytes = LeanEpoch::from(&epoch(&text)).to_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if cut {
            bytes.truncate(at);
        }
        let _ = LeanEpoch::from_bytes(&bytes);
    }
}

const TWO_NETWORKS: &str = "\
switches: [d0, m0]
hosts:
  n0: {cards: [{switch: d0, network: data, rate: 10G}, {switch: m0, network: management}]}
  n1: {cards: [{switch: d0, network: data, rate: 10G}, {switch: m0, network: management}]}
  login: {switch: m0, network: management}
networks: {data: {prefix: 10.1.0.0/16}, management: {}}
";

#[test]
fn each_network_has_its_schedules_and_older_readers_find_the_main_one_alone() {
    let both = epoch(TWO_NETWORKS);
    assert_eq!(both.schedules.allgather.hosts.len(), 2);
    assert_eq!(both.further[0].allgather.hosts.len(), 3);
    let (pointer, mut files) = published(&both);
    assert_eq!(Epoch::open(&pointer, reader(&files)), Ok(both.clone()));
    let lean = LeanEpoch::open(&pointer, reader(&files)).unwrap();
    assert_eq!(lean, LeanEpoch::from(&both));
    assert_eq!(LeanEpoch::from_bytes(&lean.to_bytes()), Ok(lean.clone()));
    let main = std::str::from_utf8(&files["topology.yaml"]).unwrap();
    assert!(!main.contains("network"), "{main}");
    assert!(files.contains_key("networks/management/alltoall.plan"));

    let management = lean.clone().in_network("management").unwrap();
    assert_eq!(management.topology.hosts.len(), 3);
    let data = lean.clone().in_network("data").unwrap();
    assert_eq!(
        (data.table, data.topology.hosts.len()),
        (lean.table.clone(), 2)
    );
    let unknown = lean.in_network("storage").unwrap_err().to_string();
    assert!(unknown.contains("there are data, management"), "{unknown}");

    let altered = "networks/management/topology.yaml";
    files.insert(altered.to_owned(), b"switches: []".to_vec());
    let error = Epoch::open(&pointer, reader(&files)).unwrap_err();
    assert_eq!(error.file, altered);
}

#[test]
fn a_network_whose_name_leads_out_of_the_epoch_is_refused() {
    let both = epoch(TWO_NETWORKS);
    for name in ["..", "a/b", "data", ""] {
        let mut lean = LeanEpoch::from(&both);
        let management = lean.topology.networks.swap_remove("management").unwrap();
        let renamed = TopologyFile {
            name: Some(name.to_owned()),
            ..management
        };
        lean.topology.networks.insert(name.to_owned(), renamed);
        let error = LeanEpoch::from_bytes(&lean.to_bytes()).unwrap_err();
        assert!(error.problem.contains("cannot name a network"), "{error}");
    }
}
