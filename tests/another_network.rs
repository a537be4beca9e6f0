//! The MPI library uses another network than the published tree's, or its rates are not the published
//! ones. Needs root and the programs of tests/mpi and tests/lab.
use crate::common::HEDDLE;
use crate::common::epochs::{AT_ONCE, published, records, ways};
use crate::common::job::{BOTH, TestJobOutput, compiled};
use crate::common::lab::RunningLab;
use crate::common::machine_share::MachinePart;
use crate::common::runtime::bench_path;
use directory::job_record::JobRecord;
use directory::reading::current_epoch;
use inventory::{Mpi, TopologyFile};
use lab::conditions::{JobConditions, LibraryNetwork};
use policy::decision_table::Collective;
use policy::shown_rates::faster_links;
use std::process::Command;
use std::time::Duration;

const TWO: &str = include_str!("../lab/topologies/two.yaml");

/// Runs calls of MPI_Alltoall with blocks of 64 KiB after the epoch was published anew; gives its lines
/// and its record.
fn job(
    up: &RunningLab,
    (mpi, library): (&str, Mpi),
    network: LibraryNetwork,
    topology: &str,
    launched_by: &[&str],
) -> (TestJobOutput, JobRecord) {
    let dir = published(&up.lab.dir(), topology);
    let bench = bench_path(mpi);
    let program = [&bench, "--size", "65536", "--iterations", "8", "--check"];
    let words = launched_by.iter().copied().chain(program);
    let job = lab::mpi::MpiJob {
        timeout: Some(Duration::from_secs(120)),
        conditions: JobConditions {
            network,
            ..JobConditions::default()
        },
        ..lab::mpi::MpiJob::new(library)
    };
    let mut command = up.lab.mpirun(&job, words);
    let output = command.env(AT_ONCE.0, AT_ONCE.1).output().expect("mpirun");
    let text = TestJobOutput::new(&output, mpi);
    assert!(text.out.contains("every byte checked"), "{}", text.out);
    (text, records(&dir).remove(0))
}

/// Runs a program with these settings over the library's usual network.
fn output_of(
    source: &str,
    up: &RunningLab,
    (mpi, library): (&str, Mpi),
    settings: &[(&str, &str)],
) -> TestJobOutput {
    let job = lab::mpi::MpiJob {
        timeout: Some(Duration::from_secs(120)),
        ..lab::mpi::MpiJob::new(library)
    };
    let mut command = up.lab.mpirun(&job, [compiled(source, mpi, &[])]);
    command.envs(settings.iter().copied());
    TestJobOutput::new(&command.output().expect("mpirun"), mpi)
}

fn both() -> impl Iterator<Item = (&'static str, Mpi)> {
    BOTH.into_iter().zip([Mpi::OpenMpi, Mpi::Mpich])
}

#[test]
fn where_the_library_uses_another_network_heddle_stands_aside_and_names_it() {
    let up = RunningLab::with(MachinePart::Half, "another", TWO);
    for library in both() {
        let (answer, record) = job(
            &up,
            library,
            LibraryNetwork::Management,
            &up.topology(),
            &[],
        );
        let line = "the library sends over mgmt0, 10.78.";
        let tree =
            "; the published tree is that of 10.77.0.0/16; the MPI library's own routines run";
        let is_named = |text: &str| text.contains(line);
        let named: Vec<&String> = answer.heddle.iter().filter(|text| is_named(text)).collect();
        assert!(
            named.len() == 1 && named[0].ends_with(tree),
            "{:?}",
            answer.heddle
        );
        assert!(record.aside.as_deref().is_some_and(is_named), "{record:?}");
        let dir = up.lab.dir().join("shared");
        let doctor = Command::new(HEDDLE)
            .args(["doctor", "--mpi", "--dir"])
            .arg(&dir)
            .output()
            .expect("heddle");
        assert!(is_named(&String::from_utf8_lossy(&doctor.stdout)));
        assert!(ways(&dir).iter().all(|way| way.ends_with("native")));
    }
}

/// The lab's topology with its management network, which no switch of it carries, as one more switch.
fn with_management(up: &RunningLab) -> String {
    let mut data: TopologyFile = TopologyFile::parse("data", &up.topology()).expect("a topology");
    let mut management = TopologyFile {
        name: Some("management".to_owned()),
        switches: vec!["m0".to_owned()],
        hosts: data.hosts.clone(),
        ..TopologyFile::default()
    };
    for (number, host) in (1..).zip(management.hosts.values_mut()) {
        host.switch = "m0".to_owned();
        host.rate.0 /= 2; // Slower, so that it is not the main one.
        host.address = Some([10, 78, 128, number].into());
    }
    data.name = Some("data".to_owned());
    data.networks.insert("management".to_owned(), management);
    data.to_yaml()
}

#[test]
fn where_the_epoch_has_the_librarys_network_its_tree_is_followed() {
    let up = RunningLab::with(MachinePart::Half, "two-trees", TWO);
    let both_networks = with_management(&up);
    for library in both() {
        let (output, record) = job(
            &up,
            library,
            LibraryNetwork::Management,
            &both_networks,
            &[],
        );
        assert_eq!(record.aside, None, "{:?}", output.heddle);
        assert_eq!(record.network.as_deref(), Some("management"));
        assert!(record.epoch > 0);
        // Nobody has to name a network that is not there.
        let named = ["env", "HEDDLE_NETWORK=storage"];
        let (output, record) = job(&up, library, LibraryNetwork::Data, &both_networks, &named);
        let line = "HEDDLE_NETWORK: there is no network \"storage\"; there are data, management";
        let is_reported = output.heddle.iter().any(|text| text.contains(line));
        assert!(is_reported, "{:?}", output.heddle);
        assert!(record.aside.is_some());
        let named = ["env", "HEDDLE_NETWORK=management"];
        let (_, record) = job(
            &up,
            library,
            LibraryNetwork::Management,
            &both_networks,
            &named,
        );
        assert_eq!(record.network.as_deref(), Some("management"));
    }
}

/// Ranks that looked together need not look again in a smaller communicator: its first call goes its way.
#[test]
fn where_all_ranks_know_the_network_a_part_of_them_does_not_look_again() {
    let up = RunningLab::with(MachinePart::Half, "halves", TWO);
    for (mpi, library) in both() {
        let dir = published(&up.lab.dir(), &up.topology());
        let settings = [AT_ONCE, ("HEDDLE_LEARN", "off")];
        let text = output_of("halves.c", &up, (mpi, library), &settings);
        assert_eq!(text.out.lines().count(), 2, "{}", text.out);
        let calls = |ranks: usize| {
            let made = records(&dir).into_iter();
            made.filter(|record| record.hosts.len() == ranks)
                .flat_map(|record| record.calls)
                .map(|calls| format!("{} {}", calls.calls, calls.way))
                .collect::<Vec<_>>()
        };
        assert_eq!(calls(4), ["1 native", "2 ring tcp"]);
        assert_eq!(calls(2), ["1 ring tcp"; 2]);
    }
}

/// A row's ranks hear more from the other row, over the same tree, than from each other.
#[test]
fn where_most_comes_from_hosts_outside_a_communicator_its_calls_are_served() {
    let up = RunningLab::with(MachinePart::Half, "rows", TWO);
    for (mpi, library) in both() {
        let dir = published(&up.lab.dir(), &up.topology());
        let text = output_of("rows.c", &up, (mpi, library), &[AT_ONCE]);
        let rows = records(&dir);
        assert!(
            rows.len() == 2 && rows.iter().all(|row| row.aside.is_none()),
            "{:?}",
            text.heddle
        );
    }
}

/// Links that are ten times as fast as published are used as such.
#[test]
fn where_published_rates_are_too_low_calls_show_it() {
    let up = RunningLab::with(MachinePart::Half, "rates", TWO);
    let slow = up.topology().replace("20000000", "2000000");
    assert_ne!(slow, up.topology());
    let (_, tree) = TopologyFile::parse_tree("topology.yaml", &slow).expect("a tree");
    for library in both() {
        let (output, record) = job(&up, library, LibraryNetwork::Data, &slow, &[]);
        let line = "sooner than its rates allow: link s";
        assert!(
            output.heddle.iter().any(|text| text.contains(line)),
            "{:?}",
            output.heddle
        );
        let call = record.fast_call.as_ref().and_then(|call| call.known());
        let links = faster_links(&tree, &vec![1; record.hosts.len()], &call.expect("a call"));
        assert!(links[0].shown.0 > 10_000_000, "{links:?}");
        for calls in &record.calls {
            let paced = calls.bound_seconds / calls.seconds;
            assert!(paced > 1.25, "{calls:?}");
        }
    }
}

/// A host may have another name on another network, and MPI may use that one.
#[test]
fn a_host_that_calls_itself_otherwise_is_known_by_its_addresses() {
    const RENAMED: [&str; 6] = [
        "unshare",
        "--uts",
        "sh",
        "-c",
        "hostname ib-$(hostname) && exec \"$@\"",
        "sh",
    ];
    let up = RunningLab::with(MachinePart::Half, "renamed", TWO);
    for library in both() {
        let (output, record) = job(&up, library, LibraryNetwork::Data, &up.topology(), &RENAMED);
        assert!(
            record.aside.is_none() && record.epoch > 0,
            "{:?}",
            output.heddle
        );
        assert!(
            record.hosts.iter().all(|host| !host.starts_with("ib-")),
            "{record:?}"
        );
        let dir = up.lab.dir().join("shared");
        assert!(
            ways(&dir).iter().any(|way| way.contains("aapc")),
            "{:?}",
            ways(&dir)
        );
    }
}

/// The main network has no measurements then, and its jobs are not taken for those of the other one.
#[test]
fn each_network_is_tuned_by_itself() {
    let up = RunningLab::with(MachinePart::Whole, "tuned-nets", TWO);
    let dir = published(&up.lab.dir(), &with_management(&up));
    let tune = |network: &str, sends_over: &str| {
        let include = format!("OMPI_MCA_btl_tcp_if_include={sends_over}");
        let measuring = "tune --mpi openmpi --size 64k --ways ring --rounds 3 --seconds 0.1";
        let launching = "-- lab mpirun --mpi openmpi --no-shim --timeout 120 --name";
        let mut command = Command::new(HEDDLE);
        command.args(measuring.split(' ')).arg("--dir").arg(&dir);
        command.args(["--network", network]);
        let mut words = launching.split(' ');
        command.args(words.next()).arg(HEDDLE).args(words);
        command.args([up.lab.name(), "--", "env", &include]);
        let output = command.output().expect("heddle runs");
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), err)
    };
    let (success, err) = tune("storage", "10.78.0.0/16");
    let line = "there is no network \"storage\"; there are data, management";
    assert!(!success && err.contains(line), "{err}");
    let (success, err) = tune("data", "10.78.0.0/16");
    let line = "the library sends over network \"management\", not \"data\"";
    assert!(!success && err.contains(line), "{err}");
    let (success, err) = tune("management", "10.78.0.0/16");
    assert!(success, "{err}");

    let epoch = current_epoch(&dir).unwrap().unwrap();
    assert_eq!(
        (epoch.number, epoch.tuning.runs[0].network.as_deref()),
        (2, Some("management"))
    );
    let is_untuned = |network: &str| {
        let schedules = epoch.schedules_of(Some(network)).unwrap();
        schedules
            .table
            .is_untuned(Collective::Allgather, Mpi::OpenMpi)
    };
    assert!(is_untuned("data") && !is_untuned("management"));
    up.down();
}
