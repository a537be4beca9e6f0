//! Real answers and a real report against docs/api.schema.json.
use super::*;
use api::mapping::{MappingProgress, MappingStatus};
use api::{
    AgentStatus, AlarmCode, AlarmEvent, AlarmLine, AlarmSeverity, AlarmSubject, EpochInfo,
    EventLevel, EventLine, FurtherNetwork, JobPoint, JobStatus, LinkLoad, PathStatus,
    PendingChange, StageTimes, SwitchStatus,
};
use directory::job_record::{CallTotal, JobRecord};
use inventory::alarm::{Alarm, AlarmKind};
use inventory::cluster_reason::ClusterReason;
use inventory::evidence::Evidence;
use inventory::host_report::{
    DiscoveryProtocol, HeardContent, HeardFrame, Nic, ProbedPath, RoundTrip, TracedFlows,
};
use inventory::networks::Network;
use inventory::observation::{BridgeId, NeighbourId, SystemCapabilities};
use inventory::topology::{
    AggregateMember, Cluster, Link, LinkGrade, LinkState, Node, NodeKind, Topology, WayAddress,
};
use inventory::{BitsPerSec, Bytes, Mac};
use policy::learned::{LearnedTiming, RankLayout};
use policy::recorded_name::RecordedName;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const MAC: Mac = Mac([2, 0, 0, 0, 0, 0xab]);
const RATE: BitsPerSec = BitsPerSec::GIGABIT;

/// A network with every field and every kind of value. Nothing takes a default here or below, so a
/// new field does not compile until it has a value, and then it must be in the schema.
fn topology() -> Topology {
    let kinds = [
        NodeKind::Switch,
        NodeKind::Host,
        NodeKind::Router,
        NodeKind::Unmanaged,
    ];
    let states = [
        (LinkState::Forwarding, LinkGrade::Certain),
        (LinkState::Blocked, LinkGrade::Inferred),
        (LinkState::Unknown, LinkGrade::Ambiguous),
        (LinkState::Multipath, LinkGrade::Certain),
    ];
    Topology {
        nodes: kinds
            .map(|kind| Node {
                name: "s0".into(),
                kind,
                chassis: Some(MAC),
                stale: true,
            })
            .into(),
        links: states
            .map(|(state, grade)| Link {
                members: vec![AggregateMember {
                    a_port: "swp1".into(),
                    b_port: "eth0".into(),
                }],
                rate_bps: RATE,
                state,
                grade,
                evidence: vec![Evidence::Stated, Evidence::BehindBridge("u0".into())],
                ..Link::new("s0", "swp1", "n0", "eth0")
            })
            .into(),
        clusters: vec![Cluster {
            name: "main".into(),
            hosts: vec!["n0".into()],
            reasons: vec![ClusterReason::Stated, ClusterReason::More(2)],
        }],
        alarms: vec![Alarm::node("s0", AlarmKind::Loop)],
        root_bridge: Some("s0".into()),
        further_root_bridges: vec!["s1".into()],
        networks: vec![Network {
            prefix: Some("10.1.0.0/16".parse().unwrap()),
            name: "s1".into(),
            switches: vec!["s1".into()],
            hosts: vec!["n0".into()],
            addresses: BTreeMap::from([("n0".into(), vec!["10.1.0.5".parse().unwrap()])]),
            vlans: vec![10],
        }],
        network: Some("s1".into()),
        way_addresses: vec![WayAddress {
            node: "s0".into(),
            port: "ge1".into(),
            address: "10.1.0.7".parse().unwrap(),
        }],
    }
}

fn snapshot() -> Snapshot {
    Snapshot {
        at: Millis(9),
        version: "0.1".into(),
        directory: "/srv/heddle".into(),
        topology: topology(),
        loads: vec![load()],
        further: vec![FurtherNetwork {
            topology: topology(),
            loads: vec![load()],
        }],
        switches: vec![switch()],
        agents: vec![agent()],
        epochs: vec![epoch()],
        pending: Some(PendingChange {
            since: Millis(7),
            due: Millis(10),
            changes: vec!["host n1: new".into()],
        }),
        jobs: vec![JobStatus {
            record: record(),
            running: true,
            history: vec![JobPoint {
                at: Millis(8),
                bytes_per_sec: 1.5e9,
                share: Some(0.7),
                epoch: 1,
            }],
        }],
        jobs_more: 3,
        events: [EventLevel::Info, EventLevel::Warning, EventLevel::Error]
            .map(|level| EventLine {
                at: Millis(8),
                level,
                text: "epoch 1 is published".into(),
                alarm: Some(AlarmEvent {
                    subject: AlarmSubject::node("s0"),
                    code: AlarmCode::SwitchStale,
                    over: true,
                }),
            })
            .into(),
        alarms: vec![AlarmLine {
            subject: AlarmSubject::node("s0"),
            kind: AlarmKind::SwitchStale {
                problem: "silent".into(),
            },
            text: "switch s0: silent".into(),
            severity: AlarmSeverity::Error,
            symptoms: vec![Alarm::node(
                "n0",
                AlarmKind::SwitchStale {
                    problem: "silent".into(),
                },
            )],
            cause: None,
        }],
        mapping: mapping(),
    }
}

fn mapping() -> MappingStatus {
    MappingStatus {
        allowed: true,
        request: 7,
        running: Some(MappingProgress {
            place: "s0-swp1".into(),
            hosts: 4,
            rounds: 2,
            moved: Bytes(9),
            budget: Bytes(10),
        }),
        waiting: vec!["s0-swp2".into()],
        results: vec!["s0-swp3: measured".into()],
        failures: 0,
    }
}

fn load() -> LinkLoad {
    LinkLoad {
        a: "s0".into(),
        b: "n0".into(),
        aapc_load: 11,
        capacity: 1,
        phases: 11,
        bottleneck: true,
        a_to_b: Some(BitsPerSec(0)),
        b_to_a: Some(RATE),
    }
}

fn switch() -> SwitchStatus {
    SwitchStatus {
        name: "s0".into(),
        address: "10.0.0.1".into(),
        seen: Some(Millis(3)),
        problem: Some("no answer".into()),
        root_bridge: true,
        top_changes: Some(4),
    }
}

fn agent() -> AgentStatus {
    AgentStatus {
        host: "n0".into(),
        seen: Some(Millis(3)),
        problem: Some("no report for 11 s".into()),
        inward: Some(BitsPerSec(0)),
        outward: Some(RATE),
        ways: vec![PathStatus {
            to: "n1".into(),
            hops: 1,
            reached: true,
            min_us: Some(90),
        }],
    }
}

fn epoch() -> EpochInfo {
    let second = Some(Duration::from_secs(1));
    EpochInfo {
        number: 1,
        at: Millis(5),
        changes: vec!["host n0: new".into()],
        phases: 12,
        bound_only: true,
        bottleneck: ("s0".into(), "n0".into()),
        hosts: 12,
        stages: StageTimes {
            seen: Millis(4),
            believed: second,
            inferred: second,
            planned: second,
            published: second,
            taken_up: second,
        },
    }
}

fn record() -> JobRecord {
    JobRecord {
        id: "n0-1-1".into(),
        program: "a.out".into(),
        user: "ann".into(),
        started: Millis(5),
        updated: Millis(8),
        hosts: vec!["n0".into(), "n1".into()],
        ranks: 4,
        layout: RankLayout::from_hosts(&[0, 0, 1, 1]),
        mpi: RecordedName::Unknown("mvapich".into()),
        epoch: 1,
        epoch_since: Millis(6),
        aside: Some("HEDDLE=off".into()),
        finished: true,
        calls: vec![CallTotal {
            collective: RecordedName::Unknown("scan".into()),
            way: RecordedName::Unknown("native".into()),
            block: 8,
            calls: 1,
            seconds: 1.0,
            bound_seconds: 0.5,
            bounded_seconds: Some(1.0),
        }],
        learned: vec![LearnedTiming {
            collective: RecordedName::Unknown("scan".into()),
            from: Bytes(8),
            way: RecordedName::Unknown("native".into()),
            samples: 5,
            mean_ns: 900,
            error_ns: 10,
        }],
        learning_cost_seconds: Some(0.5),
        learning_saved_seconds: Some(-0.5),
        watched: None,
        network: Some("s1".into()),
        fast_call: None,
    }
}

/// A report with everything that a host can tell.
fn full_report() -> HostReport {
    HostReport {
        host: "n0".into(),
        slots: 4,
        nics: vec![Nic {
            name: "eth0".into(),
            mac: Some(MAC),
            addresses: vec![
                ("10.0.0.2".parse().unwrap(), 24),
                ("fd00::2".parse().unwrap(), 64),
            ],
            rate: Some(RATE),
            up: true,
            master: Some("bond0".into()),
            in_octets: u64::MAX,
            out_octets: 0,
        }],
        frames: frames(),
        paths: vec![ProbedPath {
            to: "n1".into(),
            address: "10.0.0.1".parse().unwrap(),
            hops: vec![None, "10.0.0.254".parse().ok()],
            reached: true,
            round_trip: Some(RoundTrip {
                min_us: 90,
                median_us: 100,
                samples: 5,
            }),
        }],
        traces: vec![TracedFlows {
            to: "n1".into(),
            routers: std::collections::BTreeMap::from([("10.1.0.1".parse().unwrap(), 20)]),
            unanswered: 0,
            parted: true,
        }],
        traces_flows: true,
        measures: true,
        link_losses: std::collections::BTreeMap::from([("eth0".into(), 2)]),
    }
}

fn frames() -> Vec<HeardFrame> {
    let bridge = BridgeId {
        priority: 0x8000,
        address: MAC,
    };
    let address = NeighbourId::Address("10.0.0.3".parse().unwrap());
    let content = [
        neighbour(DiscoveryProtocol::Lldp, NeighbourId::Mac(MAC)),
        neighbour(DiscoveryProtocol::Cdp, address),
        HeardContent::Bpdu {
            root_bridge: bridge,
            root_path_cost: 4,
            bridge,
            port: 0x8001,
        },
    ];
    content
        .map(|content| HeardFrame {
            nic: "eth0".into(),
            at: Millis(4),
            content,
        })
        .into()
}

fn neighbour(protocol: DiscoveryProtocol, chassis: NeighbourId) -> HeardContent {
    HeardContent::Neighbour {
        protocol,
        chassis,
        port: NeighbourId::Text("swp1".into()),
        port_descr: "to n0".into(),
        name: "s0".into(),
        capabilities: Some(SystemCapabilities {
            bridge: true,
            router: false,
        }),
    }
}

/// The body of an answer that must be a good one.
#[track_caller]
fn body(answer: &str) -> Value {
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|e| panic!("{e}: {body}"))
}

/// The snapshot in the first event of the stream.
async fn first_event(address: SocketAddr) -> Value {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let (mut received, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let n = stream.read(&mut buffer).await.unwrap();
        assert!(n > 0, "the stream ended: {received:?}");
        received.extend_from_slice(&buffer[..n]);
        let text = String::from_utf8_lossy(&received);
        if let Some((_, data)) = text.split_once("event: snapshot\ndata: ")
            && let Some((json, _)) = data.split_once("\n\n")
        {
            return serde_json::from_str(json).unwrap();
        }
    }
}

/// Every JSON of the API, each by the name of its definition: what is served, and a report that is
/// taken.
async fn exchanged(served: &ServedApi) -> Value {
    let output = serde_json::to_value(full_report()).unwrap();
    let hosts = [("n0", "10.0.0.2"), ("n1", "10.0.0.1")]
        .map(|(name, address)| (name.to_owned(), address.parse().unwrap()));
    let _open = served
        .flows
        .begin(&hosts, 1, Duration::from_secs(1))
        .unwrap();
    let answer = report(served.address, "n0", AGENTS, &output.to_string()).await;
    let json = "Host: localhost\r\nContent-Type: application/json\r\n";
    let ordered = send(served.address, "POST /v1/map", json, "{}").await;
    json!({
        "Snapshot": [get("/v1/snapshot", served).await, first_event(served.address).await],
        "Topology": [get("/v1/topology", served).await],
        "Epochs": [get("/v1/epochs", served).await],
        "HostReport": [output],
        "ProbeDirections": [body(&answer)],
        "MappingTicket": [body(&ordered)],
    })
}

async fn get(path: &str, served: &ServedApi) -> Value {
    body(&ask(served.address, path, "Host: localhost\r\n").await)
}

/// The schema of what [`exchanged`] gives. It says of reports what this version's agents send.
fn schema_of_all(schema: &Value) -> Value {
    let mut all = schema.clone();
    all["$defs"]["HostReport"]["additionalProperties"] = false.into();
    let names = [
        "Snapshot",
        "Topology",
        "Epochs",
        "HostReport",
        "ProbeDirections",
        "MappingTicket",
    ];
    let lists = names.map(|name| {
        (
            name.to_owned(),
            json!({"items": {"$ref": format!("#/$defs/{name}")}, "minItems": 1}),
        )
    });
    let whole = all.as_object_mut().unwrap();
    whole.remove("$ref");
    whole.insert("required".into(), json!(names));
    whole.insert("properties".into(), Map::from_iter(lists).into());
    all
}

/// The faults of a document, each with its place.
fn faults(schema: &Value, document: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(schema).unwrap();
    let errors = validator.validate(document).err().into_iter().flatten();
    errors
        .map(|e| format!("{}: {e}", e.instance_path))
        .collect()
}

async fn served(snapshot: ServedSnapshot) -> ServedApi {
    let served = start(None, Some(AGENTS)).await;
    served.shown.show(snapshot);
    served
}

#[tokio::test]
async fn every_answer_follows_the_schema_that_is_served() {
    let sparse = Snapshot {
        topology: Topology {
            nodes: vec![Node::new("n0", NodeKind::Host)],
            ..Topology::default()
        },
        loads: vec![LinkLoad::default()],
        switches: vec![SwitchStatus::default()],
        agents: vec![AgentStatus::default()],
        epochs: vec![EpochInfo {
            number: 1,
            ..EpochInfo::default()
        }],
        alarms: vec![AlarmLine::default()],
        ..Snapshot::default()
    };
    let [full, sparse] = [snapshot(), sparse].map(ServedSnapshot::new);
    for snapshot in [full, sparse, page::snapshot(page::hostile(), 2)] {
        let served = served(snapshot).await;
        let answer = ask(served.address, "/v1/schema", "Host: localhost\r\n").await;
        assert!(answer.contains("application/schema+json"), "{answer}");
        let schema = body(&answer);
        let exchanged = exchanged(&served).await;
        assert_eq!(
            faults(&schema_of_all(&schema), &exchanged),
            [""; 0],
            "{exchanged}"
        );
        assert_eq!(faults(&schema, &exchanged["Snapshot"][0]), [""; 0]);
    }
}

/// The places of all properties and of all values of enumerations: the list's place, the entry.
fn parts(schema: &Value, place: &str, found: &mut Vec<(String, String)>) {
    let Some(members) = schema.as_object() else {
        for (i, one) in schema.as_array().into_iter().flatten().enumerate() {
            parts(one, &format!("{place}/{i}"), found);
        }
        return;
    };
    for (key, value) in members {
        let place = format!("{place}/{key}");
        parts(value, &place, found);
        match (key.as_str(), value) {
            ("properties", Value::Object(all)) => {
                found.extend(all.keys().map(|name| (place.clone(), name.clone())));
            }
            ("enum", Value::Array(all)) => {
                found.extend((0..all.len()).map(|i| (place.clone(), i.to_string())));
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn the_schema_has_nothing_that_no_answer_has_and_allows_nothing_else() {
    let exchanged = exchanged(&served(ServedSnapshot::new(snapshot())).await).await;
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let mut all = Vec::new();
    parts(&schema, "", &mut all);
    assert!(all.len() > 150, "{}", all.len());
    for (place, name) in all {
        let mut less = schema_of_all(&schema);
        match less.pointer_mut(&place) {
            Some(Value::Object(list)) => drop(list.remove(&name)),
            Some(Value::Array(list)) => drop(list.remove(name.parse::<usize>().unwrap())),
            other => panic!("{place}: {other:?}"),
        }
        assert!(
            !faults(&less, &exchanged).is_empty(),
            "nothing is missed without {place}/{name}"
        );
    }
}
