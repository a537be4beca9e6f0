//! Readers of bytes that another program may have written. Each reader has the properties of every
//! accepted input.
//!
//! The fuzz targets call these functions. The tests of `directory` (directory/tests/readers.rs)
//! call them, too, with slightly mutated valid inputs.
use directory::epoch::{Epoch, LeanEpoch, WayEvidence};
use directory::job_record::{JobRecord, reading};
use directory::pointer::EpochPointer;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use inventory::stages::flows::{KnownFlow, WayCable};
use inventory::stages::hops::WayHop;
use inventory::{Bytes, Millis, Topology, TopologyFile, Tree};
use policy::decision_table::{Collective, DecisionTable, Mpi, Way};
use policy::learned::figures::JobLesson;
use policy::learned::{LearnedFigures, LearnedPlace, LearnedTiming, RecordedTiming};
use policy::measurements::TuningRuns;
use schedules::alltoall::AlltoallSchedule;
use schedules::json::{self, Schedule};
use schedules::lg::{self, ClusterPartition};
use schedules::{allgather, verify};
use simulation::watched::{BlockArrivals, judge};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::LazyLock;

type FuzzFiles = BTreeMap<String, Vec<u8>>;

const TOPOLOGY: &str = "switches: [s0, s1]\nrouters: [r0]\nhosts: \
                        {n0: {switch: s0}, n1: {switch: s0}, n2: {switch: s1, rate: 10G}}\nlinks: \
                        [{a: s0, b: r0, rate: 10G, delay: 5ms}, \
                        {a: r0, b: s1, rate: 10G}]\nclusters: {west: [n0, n1], east: [n2]}\n";
/// Another network of the same hosts.
const MANAGEMENT: &str =
    "switches: [m0]\nhosts: {n0: {switch: m0, rate: 100M}, n1: {switch: m0, rate: 100M}}\n";
const PLAN: &str = "alltoall.plan";
const MANIFEST: &str = "manifest.json";

/// The epoch whose files are replaced one at a time.
static EPOCH: LazyLock<Epoch> = LazyLock::new(|| {
    let parsed = |name: &str, text| TopologyFile {
        name: Some(name.to_owned()),
        ..TopologyFile::parse("seed", text).expect("a good file")
    };
    let mut topology = parsed("data", TOPOLOGY);
    let management = parsed("management", MANAGEMENT);
    topology
        .networks
        .insert("management".to_owned(), management);
    let planned = Epoch::plan(
        7,
        Millis(1),
        topology,
        Topology::default(),
        WayEvidence::default(),
    );
    let hop = WayHop {
        from: "s0".to_owned(),
        at: "r0".to_owned(),
        cable: 0,
        address: [10, 0, 0, 1].into(),
    };
    let flow = KnownFlow {
        from: "n0".to_owned(),
        to: "n2".to_owned(),
        port: 61_000,
        cables: vec![WayCable {
            from: "s0".to_owned(),
            at: "r0".to_owned(),
            cable: 0,
        }],
    };
    Epoch {
        hops: vec![hop],
        flows: vec![flow],
        ..planned.expect("a tree")
    }
});

static FILES: LazyLock<FuzzFiles> = LazyLock::new(|| EPOCH.files().into_iter().collect());

/// An epoch's pointer, each of its files, and the broadcast of ranks. The first octet selects one.
/// A file comes with a manifest that lists it unchanged. The plan, which is compressed and has a
/// checksum, is also tested by the numbers inside.
pub fn epoch(bytes: &[u8]) {
    let Some((which, bytes)) = bytes.split_first() else {
        return;
    };
    let mut files = FILES.clone();
    match which {
        0 => pointer(bytes),
        1 => broadcast(bytes),
        2 => folder(&files, bytes.to_vec()),
        3 => {
            files.insert(PLAN.to_owned(), packed(bytes));
            folder(&files, manifest(&files));
        }
        which => {
            let mut names = files.keys().filter(|name| *name != MANIFEST).cycle();
            let name = names.nth(usize::from(*which)).expect("files").clone();
            files.insert(name, bytes.to_vec());
            folder(&files, manifest(&files));
        }
    }
}

fn pointer(text: &[u8]) {
    if let Ok(pointer) = String::from_utf8_lossy(text).parse::<EpochPointer>() {
        assert_eq!(pointer.to_string().parse(), Ok(pointer));
    }
}

fn broadcast(bytes: &[u8]) {
    if let Ok(lean) = LeanEpoch::from_bytes(bytes) {
        assert_eq!(LeanEpoch::from_bytes(&lean.to_bytes()), Ok(lean));
    }
}

/// A folder of these files whose manifest has these bytes.
fn folder(files: &FuzzFiles, manifest: Vec<u8>) {
    let pointer = EpochPointer::new(EPOCH.number, &manifest);
    let read = |name: &str, limit: u64| {
        let bytes = if name == MANIFEST {
            Some(&manifest)
        } else {
            files.get(name)
        };
        let bytes = bytes.ok_or(io::ErrorKind::NotFound)?;
        Ok(bytes[..bytes.len().min(limit as usize + 1)].to_vec())
    };
    let lean = LeanEpoch::open(&pointer, read);
    let Ok(epoch) = Epoch::open(&pointer, read) else {
        return;
    };
    let mut whole = LeanEpoch::from(&epoch);
    if let Ok(lean) = &lean {
        // A network without a table, as in epochs of former versions, gets one from whoever reads all.
        whole
            .further_tables
            .retain(|name, _| lean.further_tables.contains_key(name));
    }
    assert_eq!(
        lean,
        Ok(whole),
        "whoever reads all reads the same as who reads a part"
    );
    let Ok(tree) = epoch.topology.tree() else {
        return;
    };
    let whole = epoch
        .schedules
        .alltoall
        .as_ref()
        .map_or(Ok(()), |plan| verify::alltoall(&tree, plan));
    let right = whole.and_then(|()| verify::allgather(&tree, &epoch.schedules.allgather));
    if right.is_ok() {
        let files: FuzzFiles = epoch.files().into_iter().collect();
        let read = |name: &str, _| {
            files
                .get(name)
                .cloned()
                .ok_or(io::ErrorKind::NotFound.into())
        };
        assert_eq!(
            Epoch::open(&EpochPointer::new(epoch.number, &files[MANIFEST]), read),
            Ok(epoch)
        );
    }
}

/// The manifest of these files.
fn manifest(files: &FuzzFiles) -> Vec<u8> {
    let files: Vec<serde_json::Value> = files
        .iter()
        .filter(|(name, _)| *name != MANIFEST)
        .map(|(name, bytes)| {
            let digest = EpochPointer::new(1, bytes).digest.to_string();
            serde_json::json!({"name": name, "bytes": bytes.len(), "digest": digest})
        })
        .collect();
    serde_json::json!({"epoch": EPOCH.number, "at": 1, "heddle": "0", "files": files})
        .to_string()
        .into_bytes()
}

const MARK: &[u8] = b"heddle alltoall plan, version 2\n";

fn packed(numbers: &[u8]) -> Vec<u8> {
    let mut file = ZlibEncoder::new(MARK.to_vec(), Compression::fast());
    file.write_all(numbers)
        .and_then(|()| file.finish())
        .expect("a vector takes all that is written")
}

fn unpacked(plan: &[u8]) -> Vec<u8> {
    let mut numbers = Vec::new();
    let stream = plan.strip_prefix(MARK).expect("a plan file");
    io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(stream), &mut numbers)
        .expect("a compressed stream");
    numbers
}

/// A schedule as JSON.
pub fn schedule(bytes: &[u8]) {
    let Ok(schedule) = json::read(bytes) else {
        return;
    };
    match &schedule {
        Schedule::Alltoall(plan) => {
            let _ = verify::alltoall(&tree(), plan);
            assert_eq!(
                json::read(json::write_alltoall(plan).as_bytes()),
                Ok(schedule)
            );
        }
        Schedule::Lg(plan) => {
            let _ = verify::lg(&tree(), plan);
            assert_eq!(json::read(json::write_lg(plan).as_bytes()), Ok(schedule));
        }
        Schedule::Allgather(plan) => {
            let _ = plan
                .renumbered(&EPOCH.schedules.allgather.hosts)
                .map(|plan| verify::allgather(&tree(), &plan));
            assert_eq!(
                json::read(json::write_allgather(plan).as_bytes()),
                Ok(schedule)
            );
        }
    }
}

fn tree() -> Tree {
    EPOCH.topology.tree().expect("a tree")
}

/// A decision table, or the measurements from which one follows.
pub fn table(bytes: &[u8]) {
    if let Ok(tuning) = TuningRuns::from_json(bytes) {
        assert_eq!(forecast::tuning::table(&tuning, &tree()).check(), Ok(()));
        assert_eq!(
            TuningRuns::from_json(tuning.to_json().as_bytes()),
            Ok(tuning)
        );
    }
    if let Ok(table) = DecisionTable::from_json(bytes) {
        assert_eq!(
            DecisionTable::from_json(table.to_json().as_bytes()),
            Ok(table)
        );
    }
}

/// The figures that jobs learned, as the controller keeps them, and as a job tells them.
pub fn learned(bytes: &[u8]) {
    if let Ok(figures) = LearnedFigures::from_json(bytes) {
        let place = LearnedPlace::new(&tree(), &[0, 1, 2], Mpi::Mpich);
        let timings = figures.ways().for_place(&place);
        let table = EPOCH
            .schedules
            .table
            .clone()
            .with_learned(Mpi::Mpich, &timings);
        assert_eq!(table.check(), Ok(()));
        assert_eq!(
            LearnedFigures::from_json(figures.to_json().as_bytes()),
            Ok(figures)
        );
    }
    if let Ok(record) = reading::parse(bytes, JOB) {
        let json = serde_json::to_vec(&record).expect("plain data");
        assert!(reading::parse(&json, JOB).is_ok());
        judged(&record);
    }
}

/// The rates of blocks that a job tells of, judged against the tree.
fn judged(record: &JobRecord) {
    let rows = record.watched.iter().map(|window| &window.arrivals);
    for arrivals in rows.filter_map(|rows| BlockArrivals::from_rows(rows)) {
        assert_eq!(
            BlockArrivals::from_rows(&arrivals.rows()),
            Some(arrivals.clone())
        );
        let layout = record.layout.fits(3, 4).then(|| record.layout.host_of());
        if let Some(host_of) = layout {
            let suspicion = judge::judge(&tree(), &host_of, &arrivals);
            assert!(suspicion.is_none_or(|suspicion| suspicion.gain >= judge::LEAST_GAIN));
        }
    }
}

/// The id of the job record among the seeds.
const JOB: &str = "n0-1-1-1";

/// A job's figures of an all-to-all on all hosts.
fn timings() -> [RecordedTiming; 2] {
    let timing = |way: &str, mean_ns| LearnedTiming {
        collective: Collective::Alltoall,
        from: Bytes(1024),
        way: way.parse::<Way>().expect("a way"),
        samples: 9,
        mean_ns,
        error_ns: 1,
    };
    [timing("native", 900_000), timing("aapc tcp", 600_000)].map(RecordedTiming::from)
}

/// Two jobs' lessons, the record of one, and that of a job that watches.
fn learned_seeds() -> [(&'static str, Vec<u8>); 3] {
    let mut figures = LearnedFigures::default();
    for (job, hosts) in [(1, [0, 1, 2]), (2, [0, 0, 1])] {
        let lesson = JobLesson {
            user: "ann".to_owned(),
            job,
            at: Millis(job),
            timings: timings().into(),
        };
        let count = hosts[2] as usize + 1;
        let names = &EPOCH.schedules.allgather.hosts[..count];
        let between = tree().restrict(names).expect("known hosts");
        figures.merge(&LearnedPlace::new(&between, &hosts, Mpi::Mpich), lesson);
    }
    let learned = serde_json::to_string(&timings()).expect("plain data");
    let record = format!(
        r#"{{"id":"{JOB}","program":"a.out","user":"ann","started":1,"updated":2,
            "hosts":["n0","n1"],"ranks":4,"layout":[[0,2,2]],"mpi":"mpich","epoch":1,
            "epoch_since":1,"calls":[],"learned":{learned},"learning_cost_seconds":0.5}}"#
    );
    let watched = r#","layout":[[0,1,2],[1,2,1]],
        "watched":{"number":3,"arrivals":[".cdJ","c.aJ","cc.J","cJc."]}}"#;
    let watching = record
        .replace(r#","layout":[[0,2,2]]"#, "")
        .replace(r#"["n0","n1"]"#, r#"["n0","n1","n2"]"#)
        .replace(r#","learning_cost_seconds":0.5}"#, watched);
    [
        ("learned", figures.to_json().into_bytes()),
        ("learned", record.into_bytes()),
        ("learned", watching.into_bytes()),
    ]
}

/// A topology file; a small tree is also planned for.
pub fn topology(bytes: &[u8]) {
    let Ok(file) = TopologyFile::parse("fuzz", &String::from_utf8_lossy(bytes)) else {
        return;
    };
    let again = TopologyFile::parse("fuzz", &file.to_yaml());
    if file.networks.is_empty() {
        assert_eq!(again, Ok(file.clone()));
    } else {
        // Of switches and links of several networks the order is that of the main one.
        let again = again.expect("what is written is read");
        assert_eq!(TopologyFile::parse("fuzz", &again.to_yaml()), Ok(again));
    }
    match file.tree() {
        Ok(tree) if tree.nodes() <= 32 => {
            Epoch::plan(
                1,
                Millis(1),
                file,
                Topology::default(),
                WayEvidence::default(),
            )
            .expect("the verifier passes what is planned");
        }
        _ => {}
    }
}

/// Valid inputs of the five functions above, by their names.
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let with = |which: u8, bytes: &[u8]| ("epoch", [&[which], bytes].concat());
    let files = &*FILES;
    let plan = EPOCH.schedules.alltoall.as_ref().expect("few hosts");
    let AlltoallSchedule { hosts, .. } = plan;
    let ring = allgather::plan(&tree().restrict(&hosts[..2]).expect("known hosts"));
    let clusters =
        ClusterPartition::stated_or_found(&tree(), &EPOCH.topology).expect("good clusters");
    let mut seeds = vec![
        with(
            0,
            EpochPointer::new(EPOCH.number, &files[MANIFEST])
                .to_string()
                .as_bytes(),
        ),
        with(1, &LeanEpoch::from(&*EPOCH).to_bytes()),
        with(2, &files[MANIFEST]),
        with(3, &unpacked(&files[PLAN])),
        ("schedule", json::write_alltoall(plan).into_bytes()),
        (
            "schedule",
            json::write_lg(&lg::plan(&tree(), &clusters, None)).into_bytes(),
        ),
        ("schedule", json::write_allgather(&ring).into_bytes()),
        ("table", EPOCH.schedules.table.to_json().into_bytes()),
        ("topology", TOPOLOGY.as_bytes().to_vec()),
    ];
    seeds.extend(learned_seeds());
    let other_files = files
        .iter()
        .filter(|(name, _)| *name != MANIFEST)
        .map(|(_, bytes)| bytes);
    // As many numbers in a row select each of the files once.
    let count = other_files.clone().count();
    let numbered = (0..).zip(other_files);
    seeds.extend(numbered.map(|(at, bytes): (usize, _)| with((count + at) as u8, bytes)));
    seeds
}
