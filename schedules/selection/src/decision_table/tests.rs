use super::*;
use proptest::prelude::*;
use schedules::synchronization::scheme::{SyncMechanism, SyncScheme};

#[test]
fn small_blocks_stay_native_and_libraries_differ() {
    let table = DecisionTable::default();
    table.check().unwrap();
    assert_eq!(
        DecisionTable::from_json(table.to_json().as_bytes()).unwrap(),
        table
    );
    assert!(
        !table.to_json().contains("gatherv"),
        "what nobody measured is not written"
    );
    let (open_mpi, mpich) = (
        table.clone().for_mpi(Mpi::OpenMpi),
        table.for_mpi(Mpi::Mpich),
    );
    for collective in [Collective::Alltoall, Collective::Allgather] {
        for small in [0, 65_535] {
            assert_eq!(open_mpi.choose(collective, Bytes(small)), Way::Native);
            assert_eq!(mpich.choose(collective, Bytes(small)), Way::Native);
        }
    }
    assert_eq!(
        mpich.choose(Collective::Alltoall, Bytes(65_536)),
        Way::Aapc {
            sync: SyncKind::Receiver.into(),
            over: DataCarrier::Mpi
        }
    );
    assert_eq!(
        open_mpi.choose(Collective::Alltoall, Bytes(u64::MAX)),
        Way::Native
    );
    assert_eq!(
        open_mpi.choose(Collective::Allgather, Bytes(65_536)),
        Way::Ring {
            over: DataCarrier::Mpi
        }
    );
    assert_eq!(
        mpich.choose(Collective::Allgather, Bytes(65_536)),
        Way::Native
    );
    assert_eq!(
        mpich.choose(Collective::Allgather, Bytes(u64::MAX)),
        Way::Ring {
            over: DataCarrier::Mpi
        }
    );
}

/// A table with these entries for all-to-all calls, read from JSON.
fn read_alltoall(entries: &str) -> Result<DecisionTable, String> {
    let ring = r#"[{"from":0,"way":{"ring":{}}}]"#;
    let text = format!(r#"{{"alltoall":[{entries}],"allgather":{ring}}}"#);
    DecisionTable::from_json(text.as_bytes()).map_err(|e| e.to_string())
}

#[test]
fn reads_each_way_of_a_collective() {
    for entries in [
        r#"{"from":0,"way":{"aapc":{"sync":"sender"}}}"#,
        r#"{"from":0,"way":"lg"},{"from":1,"way":"bundled"}"#,
    ] {
        assert!(read_alltoall(entries).is_ok(), "{entries}");
    }
}

#[test]
fn refuses_a_table_that_contradicts_itself() {
    for (entries, reason) in [
        ("", "alltoall: expected 1 to 256"),
        (r#"{"from":1,"way":"native"}"#, "from 0"),
        (
            r#"{"from":0,"way":"native"},{"from":0,"way":"native"}"#,
            "ascending",
        ),
        (r#"{"from":0,"way":"native","mpi":"mpich"}"#, "each MPI"),
        (
            r#"{"from":0,"way":{"ring":{}}}"#,
            "native, aapc, lg or bundled",
        ),
        (r#"{"from":0,"way":{"aapc":{"sync":"dummy"}}}"#, ""),
        (r#"{"from":0,"way":"bruck"}"#, "bruck"),
    ] {
        let refusal = read_alltoall(entries).unwrap_err();
        assert!(refusal.contains(reason), "{entries}: {refusal}");
    }
}

#[test]
fn refuses_a_way_that_does_not_serve_the_collective() {
    let refusal = |table: DecisionTable| {
        DecisionTable::from_json(table.to_json().as_bytes())
            .unwrap_err()
            .to_string()
    };
    let usual = DecisionTable::default;
    let allgatherv = DecisionTable {
        allgatherv: usual().alltoall,
        ..usual()
    };
    assert!(refusal(allgatherv).contains("allgatherv: entry from 65536"));
    for way in [Way::Lg, Way::Bundled] {
        let entry = DecisionEntry {
            way,
            ..usual().alltoall[0]
        };
        let alltoallv = DecisionTable {
            alltoallv: vec![entry],
            ..usual()
        };
        assert!(refusal(alltoallv).contains("alltoallv: entry from 0: expected native or aapc"));
    }
}

#[test]
fn where_there_are_no_connections_the_entry_before_decides() {
    let entries = |ways: [&str; 3]| {
        let entry = |(k, name): (usize, &str)| DecisionEntry {
            from: Bytes(k.min(1) as u64),
            way: name.parse().unwrap(),
            mpi: None,
            grounds: DecisionGrounds::Measured,
        };
        DecisionTable {
            alltoall: ways.into_iter().enumerate().map(entry).collect(),
            ..DecisionTable::default()
        }
    };
    let table = entries(["native", "aapc", "aapc tcp"]);
    table.check().unwrap();
    let free = |way: Way| way.carrier() != Some(DataCarrier::Tcp);
    assert_eq!(
        table.choose(Collective::Alltoall, Bytes(9)).to_string(),
        "aapc tcp"
    );
    assert_eq!(
        table
            .choose_where(Collective::Alltoall, Bytes(9), free)
            .to_string(),
        "aapc"
    );
    assert_eq!(
        table.choose_where(Collective::Alltoall, Bytes(0), free),
        Way::Native
    );
    assert!(
        entries(["native", "aapc tcp", "aapc"]).check().is_err()
            && entries(["native", "aapc", "aapc"]).check().is_err()
    );
}

#[test]
fn every_way_is_read_by_its_name() {
    let syncs = || {
        SyncScheme::table_5(&[2, 16])
            .into_iter()
            .filter(|sync| sync.mechanism() != SyncMechanism::Dummy)
    };
    for over in [DataCarrier::Mpi, DataCarrier::Tcp] {
        for way in syncs().map(|sync| Way::Aapc { sync, over }).chain([
            Way::Ring { over },
            Way::Lg,
            Way::Bundled,
            Way::Native,
        ]) {
            assert_eq!(way.to_string().parse(), Ok(way));
            assert_eq!(
                serde_json::from_str::<Way>(&serde_json::to_string(&way).unwrap()).unwrap(),
                way
            );
        }
    }
    assert_eq!(
        Way::Aapc {
            sync: SyncKind::Sender.into(),
            over: DataCarrier::Tcp
        }
        .to_string(),
        "aapc sender tcp"
    );
    let wrong = [
        "",
        "tcp",
        "native tcp",
        "lg tcp",
        "bundled tcp",
        "ring sender",
        "aapc fast",
        "aapc dummy",
        "aapc sender(0)",
        "aapc  tcp",
    ];
    for wrong in wrong {
        assert!(
            wrong
                .parse::<Way>()
                .unwrap_err()
                .to_string()
                .contains("expected native, aapc"),
            "{wrong}"
        );
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = DecisionTable::from_json(&bytes);
    }
}
