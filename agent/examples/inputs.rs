//! Answers, traps, answers to probes, reports, walks, inventories and plans to start fuzzing from:
//! `cargo run -p agent --example inputs -- fuzz/corpus` writes one folder a target.
use agent::host::probe::icmp::{IcmpEcho, echo_request};
use snmp::message::CommunityMessage;
use snmp::pdu::ResponsePdu;
use snmp::{Oid, Value, VarBind, Version};
use std::fs;
use std::path::Path;

const WALK: &str = concat!(
    "1.3.6.1.2.1.1.5.0|4|s0\n",
    "1.0.8802.1.1.2.1.3.1.0|2|4\n",
    "1.0.8802.1.1.2.1.3.2.0|4x|020000000009\n",
    "1.0.8802.1.1.2.1.3.7.1.3.1|4|swp1\n",
    "1.0.8802.1.1.2.1.4.1.1.5.0.1.1|4x|020000000008\n",
    "1.0.8802.1.1.2.1.4.1.1.7.0.1.1|4|swp2\n",
    "1.3.6.1.4.1.1916.1.13.2.1.3.1.0.0.2.0.0.0.0.8|4|s1\n",
    "1.3.6.1.4.1.1991.1.1.3.20.1.2.1.1.3.1.1|4|s1\n",
    "1.3.6.1.4.1.3320.127.1.4.1.1.2.0.1.1|2|1\n",
    "1.3.6.1.4.1.6527.3.1.2.59.4.1.1.5.0.1.1.1|4x|020000000008\n",
    "1.3.6.1.4.1.11863.6.35.1.2.2.1.4.1.1|4|02:00:00:00:00:08\n",
    "1.3.6.1.4.1.14988.1.1.11.1.1.8.1|2|1\n",
    "1.3.6.1.2.1.17.1.4.1.2.1|2|1\n",
    "1.3.6.1.2.1.17.7.1.2.2.1.2.1.2.0.0.0.0.7|2|1\n",
);
const TEXT: &str = ".1.3.6.1.2.1.1.5.0 = STRING: \"s1\"\n.1.3.6.1.2.1.2.2.1.8.1 = INTEGER: \
                    up(1)\n.1.0.8802.1.1.2.1.3.2.0 = Hex-STRING: 02 00 00 00 \n00 08 \n";
const INVENTORY: &str = concat!(
    "switches: {s0: {address: 10.0.0.1}, s1: {address: \"[fe80::1]:1161\", snmp: secure}}\n",
    "snmp:\n",
    "  default: {version: 2c, community: {env: C}}\n",
    "  secure: {version: 3, user: u, auth: {protocol: sha256, key: {file: /k}}, priv: ",
    "{protocol: aes, key: privpass12}}\n",
    "hosts: {n0: {mac: \"02:00:00:00:00:01\", ranks: 2}, n1: {address: 10.77.0.2}}\n",
    "timing: {hold_down: 500ms, poll: 1s, retries: 0}\n",
    "traps: {listen: \"0.0.0.0:162\"}\n",
);
const PLAN: &str = "switches: [s0, s1]\nhosts: {n0: {switch: s0, port: swp1}}\nlinks: \
                    [{a: s0, a_port: swp9, b: s1, b_port: swp9, rate: 10G}]\n";
const DOT: &str = concat!(
    "graph G {\n",
    "  // a plan\n",
    "  graph [hostidtype=\"hostname\", LLDP=\"match_type=portdescr\"];\n",
    "  \"s0\":\"swp1\" -- \"s1\":\"swp1\" [speed=\"10G\"];\n",
    "  n0 -> s0:swp2;\n",
    "}\n",
);
const REPORT: &str = concat!(
    r#"{"host":"n0","slots":2,"nics":[{"name":"eth0","mac":"02:00:00:00:01:00","#,
    r#""addresses":[["10.0.1.1",24]],"rate":1000000000,"up":true,"master":"bond0","#,
    r#""in_octets":1,"out_octets":2}],"heard":[{"nic":"eth0","at":1,"#,
    r#""said":{"neighbour":{"protocol":"lldp","chassis":{"mac":"02:00:00:00:00:01"},"#,
    r#""port":{"text":"swp2"},"port_descr":"to n0","name":"s0","#,
    r#""capabilities":{"bridge":true,"router":false}}}},{"nic":"eth0","at":1,"#,
    r#""said":{"bpdu":{"root_bridge":{"priority":32768,"address":"02:00:00:00:00:01"},"#,
    r#""root_path_cost":4,"bridge":{"priority":32768,"address":"02:00:00:00:00:02"},"#,
    r#""port":32770}}}],"paths":[{"to":"n2","address":"10.0.1.2","hops":["10.0.1.254","#,
    r#"null],"reached":true,"round_trip":{"min_us":9000,"median_us":9100,"samples":6}}]}"#,
);
/// Names of hosts, as a file of Slurm's, of an Ansible inventory and of mpirun has them.
const HOSTS: [&str; 3] = [
    "NodeName=n[0-1] CPUs=2\nNodeName=gpu01\n",
    "all:\n  children:\n    nodes:\n      hosts:\n        n[0:1]:\n        gpu01:\n",
    "n[0-1] slots=2  # a comment\n[nodes]\ngpu01 ansible_host=10.0.0.1\n",
];
/// Measured places of five hosts behind an unmanaged bridge.
const MAPPED: &str = concat!(
    r#"{"places":[{"bridge":"s0-swp3","hosts":["n2","n3","n4","n5","n6"],"beside":["n0","n1"],"#,
    r#""at":1,"rounds":40,"moved":7000000,"trunks":[{"side":["n4","n5","n6"],"rate":100000000,"#,
    r#""probability":998,"filled":12}],"rates":{"n2":20000000},"link_losses":{"n2":"#,
    r#"{"card":"eth0","times":1}},"switches":{"n2":"s0"}}],"#,
    r#""ways":{"cables":[{"cable":{"from":"s0","at":"s0-swp3","cable":0},"#,
    r#""switch":"s0","port":"swp3","is_sent":true}],"flows":[{"from":"n0","to":"n2","port":61000,"#,
    r#""cables":[{"from":"s0","at":"s0-swp3","cable":0}]}],"is_complete":false},"spent":[[1,7]]}"#,
);
/// A linkDown of SNMPv2c, and the start of one of SNMPv3.
const TRAPS: [&[u8]; 2] = [
    b"\x30\x3b\x02\x01\x01\x04\x01c\xa7\x33\x02\x01\x01\x02\x01\x00\x02\x01\x00\x30\x28\
      \x30\x0d\x06\x08\x2b\x06\x01\x02\x01\x01\x03\x00\x43\x01\x00\x30\x17\x06\x0a\x2b\x06\
      \x01\x06\x03\x01\x01\x04\x01\x00\x06\x09\x2b\x06\x01\x06\x03\x01\x01\x05\x03",
    b"\x30\x3e\x02\x01\x03\x30\x11\x02\x04\x2b\x96\x64\x49\x02\x03\x00\xff\xe3\x04\x01\x04\
      \x02\x01\x03\x04\x10\x30\x0e\x04\x00\x02\x01\x00\x02\x01\x00\x04\x00\x04\x00\x04\x00\
      \x30\x14\x04\x00\x04\x00\xa0\x0e\x02\x04\x10\xe7\x85\xd5\x02\x01\x00\x02\x01\x00\x30\
      \x00",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let corpus = std::env::args().nth(1).ok_or("usage: inputs DIR")?;
    let texts = [
        ("walks", WALK),
        ("walks", TEXT),
        ("inventory", INVENTORY),
        ("plan", PLAN),
        ("plan", DOT),
        ("mapped", MAPPED),
        ("ranges", "n[00-03,7]-ib,gpu[1-2][a,b]"),
    ];
    let seeds = texts
        .map(|(target, text)| (target, text.as_bytes().to_vec()))
        .into_iter()
        .chain(HOSTS.map(|hosts| ("hosts", hosts.as_bytes().to_vec())))
        .chain(TRAPS.map(|trap| ("traps", trap.to_vec())))
        .chain(answers().into_iter().map(|answer| ("answers", answer)))
        .chain(vendors_answers().map(|answer| ("answers", answer)))
        .chain(probed().map(|packet| ("probe", packet)))
        .chain(reports().map(|report| ("report", report)));
    for (number, (target, bytes)) in seeds.enumerate() {
        let folder = Path::new(&corpus).join(target);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("input-{number}")), bytes)?;
    }
    Ok(())
}

/// For each table its number, then the length of the answer to the first message of its walk, then
/// that answer: scalars, and the first row of each column.
fn answers() -> Vec<Vec<u8>> {
    let system = [
        ("1.3.6.1.2.1.1.1.0", text("Linux")),
        ("1.3.6.1.2.1.1.3.0", Value::TimeTicks(7)),
        ("1.3.6.1.2.1.1.5.0", text("s0")),
    ];
    let interfaces = [
        ("1.3.6.1.2.1.2.2.1.2.1", text("swp1")),
        ("1.3.6.1.2.1.2.2.1.3.1", Value::Integer(6)),
        ("1.3.6.1.2.1.2.2.1.5.1", Value::Gauge32(7)),
    ];
    let fdb = [
        ("1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.0.7", Value::Integer(1)),
        ("1.3.6.1.2.1.17.4.3.1.3.2.0.0.0.0.7", Value::Integer(3)),
    ];
    [(0, &system[..]), (1, &interfaces), (4, &fdb)]
        .map(|(table, values)| [&[table][..], &answer(values)].concat())
        .into()
}

/// The answers of devices whose neighbours only a vendor's table names: those for the standard
/// tables, which end with the device's model and have no row, and the first rows of the other.
fn vendors_answers() -> [Vec<u8>; 3] {
    const SCALARS_BEFORE: usize = 9;
    const COLUMNS: usize = 30;
    let device = |vendor: u32, row: &str, value: Value| {
        let none = ("1.3", Value::EndOfMibView);
        let model = Oid::from_slice(&[1, 3, 6, 1, 4, 1, vendor, 1]);
        let mut standard = vec![none.clone(); SCALARS_BEFORE];
        standard.push(("1.3.6.1.2.1.1.2.0", Value::ObjectIdentifier(model)));
        standard.extend(vec![none; COLUMNS]);
        [&[2][..], &answer(&standard), &answer(&[(row, value)])].concat()
    };
    [
        device(
            6527,
            "1.3.6.1.4.1.6527.3.1.2.59.3.1.1.2.7.1",
            Value::Integer(7),
        ),
        device(1991, "1.3.6.1.4.1.1991.1.1.3.20.1.2.1.1.3.7.1", text("s9")),
        device(
            1916,
            "1.3.6.1.4.1.1916.1.13.2.1.3.7.0.0.2.0.0.0.0.9",
            text("s9"),
        ),
    ]
}

/// The length of an answer, then the answer.
fn answer(values: &[(&str, Value)]) -> Vec<u8> {
    let values = values
        .iter()
        .map(|(oid, value)| VarBind::new(oid.parse::<Oid>().expect("an identifier"), value.clone()))
        .collect();
    let response = ResponsePdu::success(Version::V2c, 7, values)
        .expect("few values")
        .into_raw();
    let message = CommunityMessage::v2c("public", response)
        .and_then(|m| m.encode())
        .expect("a short message");
    [&(message.len() as u16).to_be_bytes()[..], &message].concat()
}

/// The answers to an echo request: a reply, and a router's message that quotes the request, by IPv4
/// and IPv6.
fn probed() -> [Vec<u8>; 4] {
    let ask = |ipv6| {
        echo_request(
            IcmpEcho {
                identifier: 7,
                sequence: 1,
            },
            ipv6,
        )
    };
    let v4 = |content: &[u8]| {
        [
            b"\x45\0\0\x3c\0\0\0\0\x40\x01\0\0\x0a\0\0\x01\x0a\0\x01\x02",
            content,
        ]
        .concat()
    };
    let v6 = |content: &[u8]| {
        [
            &b"\x60\0\0\0\0\x20\x3a\x40"[..],
            &[0xfe; 16],
            &[0xfd; 16],
            content,
        ]
        .concat()
    };
    let reply = |kind: u8, mut ask: Vec<u8>| {
        ask[0] = kind;
        ask
    };
    let expired = |kind: u8, quoted: &[u8]| [&[kind, 0, 0, 0, 0, 0, 0, 0], quoted].concat();
    [
        v4(&reply(0, ask(false))),
        v4(&expired(11, &v4(&ask(false)))),
        reply(129, ask(true)),
        expired(3, &v6(&ask(true))),
    ]
}

/// A report of one host, and reports of two hosts.
fn reports() -> [Vec<u8>; 2] {
    let other = REPORT
        .replace("\"n0\"", "\"n1\"")
        .replace("01:00", "01:01")
        .replace("10.0.1.1\"", "10.0.1.3\"");
    [REPORT.into(), [REPORT, &other].join("\0").into()]
}

fn text(text: &str) -> Value {
    Value::OctetString(text.as_bytes().to_vec().into())
}
