use super::*;
use proptest::prelude::*;
use schedules::synchronization::SyncKind;
use schedules::synchronization::scheme::{SyncMechanism, SyncScheme};

#[test]
fn where_nothing_is_known_the_library_goes_its_own_way() {
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
    assert_eq!(
        table.choose(Collective::Alltoall, Bytes(u64::MAX)),
        Way::Native
    );
}

/// A table with all-to-alls of one library over tcp from 65536 on.
fn usual() -> DecisionTable {
    let from = |from, way: &str, mpi| DecisionEntry {
        from: Bytes(from),
        way: way.parse().unwrap(),
        mpi,
        grounds: DecisionGrounds::Elsewhere,
    };
    let entries = vec![
        from(0, "native", None),
        from(65_536, "aapc tcp", Some(Mpi::Mpich)),
    ];
    DecisionTable::default().with_entries(Collective::Alltoall, entries)
}

#[test]
fn libraries_differ() {
    let way = |mpi| {
        usual()
            .for_mpi(mpi)
            .choose(Collective::Alltoall, Bytes(65_536))
    };
    assert_eq!(way(Mpi::OpenMpi), Way::Native);
    assert_eq!(way(Mpi::Mpich).to_string(), "aapc tcp");
    let any = usual().for_each_mpi().for_mpi(Mpi::Mpich);
    any.check().unwrap();
    assert_eq!(any.choose(Collective::Alltoall, Bytes(65_536)), Way::Native);
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
fn a_file_has_each_collective_once_and_lacks_only_what_nobody_measured() {
    let native = r#"[{"from":0,"way":"native"}]"#;
    let read = |text: String| {
        DecisionTable::from_json(text.as_bytes())
            .map_err(|e| e.to_string())
            .map(|_| ())
    };
    assert_eq!(
        read(format!(r#"{{"alltoall":{native},"allgather":{native}}}"#)),
        Ok(())
    );
    for (text, reason) in [
        (format!(r#"{{"alltoall":{native}}}"#), "allgather"),
        (
            format!(r#"{{"alltoall":{native},"allgather":{native},"alltoall":{native}}}"#),
            "duplicate",
        ),
        (
            format!(r#"{{"alltoall":{native},"allgather":{native},"scan":{native}}}"#),
            "scan",
        ),
    ] {
        let refusal = read(text.clone()).unwrap_err();
        assert!(refusal.contains(reason), "{text}: {refusal}");
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
            "native, bundled, bundled-phases, aapc or lg",
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
    let entries = usual().entries(Collective::Alltoall).to_vec();
    let allgatherv = usual().with_entries(Collective::Allgatherv, entries.clone());
    assert!(refusal(allgatherv).contains("allgatherv: entry from 65536"));
    let lg = DecisionEntry {
        way: Way::Lg,
        ..entries[0]
    };
    let alltoallv = usual().with_entries(Collective::Alltoallv, vec![lg]);
    assert!(refusal(alltoallv).contains("alltoallv: entry from 0: expected native, bundled"));
    let allreduce = usual().with_entries(Collective::Allreduce, entries);
    assert!(refusal(allreduce).contains("allreduce: entry from 65536: expected native or relay"));
}

#[test]
fn where_there_are_no_connections_the_entry_before_decides() {
    let entries = |ways: [&str; 3]| {
        DecisionTable::default().with_entries(
            Collective::Alltoall,
            ways.into_iter()
                .enumerate()
                .map(|(k, name)| DecisionEntry {
                    from: Bytes(k.min(1) as u64),
                    way: name.parse().unwrap(),
                    mpi: None,
                    grounds: DecisionGrounds::Measured,
                })
                .collect(),
        )
    };
    let table = entries(["native", "aapc", "aapc tcp"]);
    table.check().unwrap();
    let free = |way: Way| !way.is_over_tcp();
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
fn without_tcp_every_size_has_the_way_that_calls_then_go() {
    let entry = |(from, way): (u64, &str)| DecisionEntry {
        from: Bytes(from),
        way: way.parse().unwrap(),
        mpi: None,
        grounds: DecisionGrounds::Measured,
    };
    let ways = [
        vec![(0, "native"), (9, "aapc tcp"), (99, "native")],
        vec![(0, "native"), (9, "aapc"), (9, "aapc tcp"), (99, "native")],
        vec![(0, "aapc tcp"), (99, "aapc")],
    ];
    for ways in ways {
        let entries = ways.into_iter().map(entry).collect();
        let table = DecisionTable::default().with_entries(Collective::Alltoall, entries);
        let without = table.clone().without_tcp();
        without.check().unwrap();
        for block in [0, 8, 9, 98, 99].map(Bytes) {
            let way = table.choose_where(Collective::Alltoall, block, |way| !way.is_over_tcp());
            assert_eq!(without.choose(Collective::Alltoall, block), way);
        }
        let shown = without.entries(Collective::Alltoall);
        assert!(shown.windows(2).all(|pair| pair[0].way != pair[1].way));
    }
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
            Way::Rings,
            Way::Lg,
            Way::Bundled,
            Way::Relay,
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
        "relay tcp",
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
                .contains("expected native, bundled, bundled-phases, aapc"),
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
