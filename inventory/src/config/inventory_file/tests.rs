use super::*;

const GOOD: &str = r#"
switches:
  s0: {address: 10.78.1.1}
  s1: {address: "10.78.1.2:1161", snmp: secure}
snmp:
  default: {version: 2c, community: public}
  secure: {version: 3, user: mon, auth: {protocol: sha256, key: authpass12}, priv: {protocol: aes, key: privpass12}}
hosts: {n0: {}, n1: {mac: "02:00:00:00:00:01", address: 10.77.0.2, ranks: 2}}
timing: {hold_down: 1s, poll: 250ms}
traps: {listen: "0.0.0.0:162"}
clusters: {west: [n0], east: [n1]}
routers: [r0]
unmanaged: [u0]
links: [{a: s0, a_port: swp1, b: s1, b_port: swp1, rate: 10G, state: blocked}, {a: s1, a_port: swp2, b: u0}, {a: u0, b: n1}, {a: r0, b: s0}]
"#;

fn error(text: &str) -> String {
    Inventory::parse("i.yaml", text).unwrap_err().to_string()
}

#[test]
fn reads_what_the_operator_writes() {
    let i = Inventory::parse("i.yaml", GOOD).unwrap();
    assert_eq!(i.switches["s0"].address, "10.78.1.1".parse().unwrap());
    assert_eq!(i.switches["s1"].address, "10.78.1.2:1161".parse().unwrap());
    assert!(
        matches!(i.credential(&i.switches["s0"]), Some(Credential::Community(c)) if c.expose() == Some("public"))
    );
    assert!(
        matches!(i.credential(&i.switches["s1"]), Some(Credential::User(u)) if u.name == "mon" && u.privacy.is_some())
    );
    assert_eq!((i.hosts["n0"].ranks, i.hosts["n1"].ranks), (None, Some(2)));
    assert_eq!(
        (i.timing.hold_down, i.timing.poll, i.timing.retries),
        (Duration::from_secs(1), Duration::from_millis(250), 2)
    );
    let list = Inventory::parse(
        "i.yaml",
        &GOOD.replace(
            "hosts: {n0: {}, n1: {mac: \"02:00:00:00:00:01\", address: 10.77.0.2, ranks: 2}}",
            "hosts: [n0, n1]",
        ),
    );
    assert_eq!(list.unwrap().hosts.keys().collect::<Vec<_>>(), ["n0", "n1"]);
    let bare = Inventory::parse(
        "i.yaml",
        "switches: {s0: {address: fd00::1}}\nsnmp: \
         {default: {version: 2c, community: a}}\nhosts:\n  n0:\n  n1:\n",
    );
    assert_eq!(bare.unwrap().hosts["n1"], InventoryHost::default());
}

#[test]
fn names_and_addresses_may_be_ranges_and_switches_be_known_to_the_dns() {
    let text = "switches:\n  leaf[1-2]: {}\n  s[1-3]: {address: '10.0.0.[9-11]'}\n  core: \
                {address: 'core.example.org:1161'}\n  edge:\nsnmp: {default: {version: 2c, \
                community: a}}\nhosts:\n  n[01-03]: {address: '10.77.0.[1-3]', ranks: 4}\n  \
                m[1-2]:\nclusters: {west: ['n[01-03]', m1]}\nunmanaged: ['u[1-2]']\n";
    let inventory = Inventory::parse("i.yaml", text).unwrap();
    let places: Vec<String> = inventory
        .switches
        .iter()
        .map(|(name, switch)| format!("{name} {}", switch.address))
        .collect();
    assert_eq!(
        places,
        [
            "leaf1 leaf1:161",
            "leaf2 leaf2:161",
            "s1 10.0.0.9:161",
            "s2 10.0.0.10:161",
            "s3 10.0.0.11:161",
            "core core.example.org:1161",
            "edge edge:161"
        ]
    );
    assert_eq!(
        inventory.hosts["n03"].address,
        Some("10.77.0.3".parse().unwrap())
    );
    assert_eq!(
        (inventory.hosts["n01"].ranks, inventory.hosts["m2"].ranks),
        (Some(4), None)
    );
    assert_eq!(
        inventory.clusters["west"],
        ["n01", "n02", "n03", "m1"].map(str::to_owned)
    );
    assert_eq!(inventory.unmanaged, ["u1", "u2"].map(str::to_owned));
    let list = Inventory::parse(
        "i.yaml",
        "switches: [leaf1, core]\nsnmp: {default: {version: 2c, community: a}}\nhosts: n[1-3]\n",
    )
    .unwrap();
    assert_eq!((list.switches.len(), list.hosts.len()), (2, 3));
}

#[test]
fn writes_itself_without_secrets() {
    let i = Inventory::parse("i.yaml", GOOD).unwrap();
    let text = serde_yaml::to_string(&i).unwrap();
    assert!(
        !text.contains("public") && !text.contains("pass12") && text.contains("250ms"),
        "{text}"
    );
    assert!(!format!("{i:?}").contains("pass12"));
    let again = Inventory::parse("i.yaml", &text).unwrap();
    assert_eq!(
        (again.switches, again.hosts, again.timing, again.clusters),
        (i.switches, i.hosts, i.timing, i.clusters)
    );
    assert_eq!(
        (again.routers, again.unmanaged, again.links),
        (i.routers, i.unmanaged, i.links)
    );
}

/// A text in [`GOOD`], a wrong one in its place, the line of the message and a part of it.
const WRONG: &[(&str, &str, u32, &str)] = &[
    (
        "s0: {address: 10.78.1.1}",
        "s0: {adress: 10.78.1.1}",
        3,
        "address",
    ),
    ("10.78.1.1}", "switch one}", 3, "expected an IP address"),
    ("10.78.1.1}", "10.78.1.300}", 3, "expected an IP address"),
    ("10.78.1.1}", "switch-one:0}", 3, "port 0 cannot be asked"),
    ("s0: {", "s[0-4]: {", 3, "5 names with 1 addresses"),
    ("s0: {", "s[0-1]x: {", 3, "2 names with 1 addresses"),
    ("10.78.1.2:1161", "10.78.1.1", 4, "is that of switch \"s0\""),
    ("s1: {address", "s0: {address", 4, "\"s0\" declared twice"),
    (
        "snmp: secure",
        "snmp: secret",
        4,
        "unknown credential \"secret\"; known under snmp: default, secure",
    ),
    ("community: public", "comunity: public", 6, "community"),
    ("version: 2c", "version: 1", 6, "expected 2c or 3"),
    ("community: public", "community: 815", 6, "quotes"),
    ("sha256", "sha257", 7, "sha256"),
    ("authpass12", "short", 7, "at least 8"),
    (
        "auth: {protocol: sha256, key: authpass12}, ",
        "",
        7,
        "priv needs auth",
    ),
    (
        "n0: {}",
        "n0: {mac: \"02:00:00:00:00:01\"}",
        8,
        "host \"n1\": MAC address 02:00:00:00:00:01 is claimed by host \"n0\"",
    ),
    (
        "n0: {}",
        "n0: {mac: \"02:00:00:00:00\"}",
        8,
        "six hexadecimal octets",
    ),
    ("n0: {}", "n1: {}", 8, "\"n1\" declared twice"),
    ("n0: {}", "s1: {}", 8, "a switch has this name"),
    ("n0: {}", "n0: {ranks: 0}", 8, "expected 1 to 65536"),
    (
        "n0: {}",
        "n0: {address: 224.0.0.5}",
        8,
        "host \"n0\": address 224.0.0.5: a multicast address; expected the host's own",
    ),
    (
        "n0: {}",
        "n0: {address: 255.255.255.255}",
        8,
        "a broadcast address",
    ),
    (
        "n0: {}",
        "n0: {address: \"::\"}",
        8,
        "a network's own address",
    ),
    ("250ms", "250", 9, "500ms"),
    ("250ms", "0s", 9, "timing poll"),
    ("0.0.0.0:162", "everywhere", 10, "socket address"),
    (
        "east: [n1]",
        "east: [n7]",
        11,
        "cluster \"east\": unknown host \"n7\"",
    ),
    (
        "east: [n1]",
        "east: [n0]",
        11,
        "host \"n0\" is in cluster \"west\" already",
    ),
    ("east: [n1]", "west: [n1]", 11, "\"west\" declared twice"),
    ("east: [n1]", "e/st: [n1]", 11, "1 to 64 letters"),
    ("[r0]", "[n0]", 12, "routers: name \"n0\" is taken"),
    ("[u0]", "[r0]", 13, "unmanaged: name \"r0\" is taken"),
    (
        "a: s0, a_port",
        "a: n0, a_port",
        14,
        "link n0-s1: \"n0\" is none of switches, routers and unmanaged; a host comes second",
    ),
    ("b: n1}", "b: n7}", 14, "link u0-n7: \"n7\" is none of"),
    ("b: n1}", "b: u0}", 14, "both ends are the same"),
    (
        "a_port: swp2, b: u0",
        "a_port: swp1, b: u0",
        14,
        "link s1-u0: \"s1\" swp1 is an end of another link",
    ),
    (
        "{a: r0, b: s0}",
        "{a: r0, b: n1}",
        14,
        "\"n1\"  is an end of another link",
    ),
    (
        "state: blocked",
        "state: unknown",
        14,
        "expected forwarding or blocked",
    ),
    (
        "a_port: swp2",
        "a_port: \"\\e\"",
        14,
        "all of which can be seen",
    ),
];

#[test]
fn names_file_line_and_expectation() {
    for (from, to, line, hint) in WRONG {
        assert!(GOOD.contains(from), "{from}");
        let message = error(&GOOD.replace(from, to));
        assert!(
            message.starts_with(&format!("i.yaml:{line}: ")) && message.contains(hint),
            "{to}: {message}"
        );
        assert!(!message.contains("pass12"), "{message}");
    }
    assert!(
        error("switches: {s0: {address: 10.0.0.1}}").contains("unknown credential \"default\"")
    );
    assert!(error("switches: {}").contains("at least one"));
    assert!(error("switches: [").starts_with("i.yaml:"));
    assert!(error("hosts: [n0, n0]\nswitches: {}").contains("\"n0\" declared twice"));
}

#[test]
fn mistakes_of_a_first_day_are_reported() {
    for (text, message) in [
        (
            "switches: [s0]\nhosts: {n0: {switch: s0}}\n",
            "i.yaml: this is a topology file, which states a network; expected an inventory",
        ),
        (
            "# none\n",
            "i.yaml: the file is empty, or has comments only",
        ),
        ("switches:\n\ts0: {}\n", "i.yaml:2: a tab indents this line"),
        (
            "\u{feff}switches: {s0: {address: 10.0.0.1}}\n",
            "i.yaml:1: switch \"s0\": unknown credential",
        ),
    ] {
        assert!(
            error(text).starts_with(message),
            "{text:?}: {}",
            error(text)
        );
    }
}

const WHOLE: &str = "a map of names, like default: {version: 2c, community: NAME}";
const CREDENTIAL: &str = "a map like {version: 2c, community: NAME}";
const SECRET: &str = "a text, digits in quotes, or {env: NAME}";

/// Wrong credentials, each with the text that is expected instead.
const WRONG_CREDENTIALS: &[(&str, &str)] = &[
    ("MySecret", WHOLE),
    ("[MySecret]", WHOLE),
    ("{default: MySecret}", CREDENTIAL),
    ("{default: [MySecret]}", CREDENTIAL),
    ("{default: {MySecret: {}}}", CREDENTIAL),
    ("{default: {version: 2c, MySecret}}", CREDENTIAL),
    (
        "{default: {version: 2c, community: a, MySecret: 1}}",
        CREDENTIAL,
    ),
    (
        "{default: {version: 2c, community: a}, default: MySecret}",
        WHOLE,
    ),
    ("{default: {community: MySecret}}", CREDENTIAL),
    ("{default: {version: MySecret}}", "2c or 3"),
    ("{default: {version: 2c, community: {MySecret: a}}}", SECRET),
    (
        "{default: {version: 2c, community: {env: {MySecret: a}}}}",
        SECRET,
    ),
    ("{default: {version: 2c, community: 4711}}", SECRET),
    ("{default: {version: 3, user: [MySecret]}}", "a name"),
    (
        "{default: {version: 3, user: u, auth: MySecret}}",
        "a map like {protocol: sha256, key: {env: NAME}}",
    ),
    (
        "{default: {version: 3, user: u, auth: {protocol: MySecret}}}",
        "one of md5, sha, sha224, sha256, sha384, sha512",
    ),
    (
        "{default: {version: 3, user: u, auth: {protocol: sha, key: [MySecret]}}}",
        SECRET,
    ),
    (
        "{default: {version: 3, user: u, priv: MySecret}}",
        "a map like {protocol: aes, key: {env: NAME}}",
    ),
    (
        "{default: {version: 3, user: u, priv: {MySecret: a}}}",
        "a map like {protocol: aes, key: {env: NAME}}",
    ),
    (
        "{default: {version: 3, user: u, priv: {protocol: MySecret}}}",
        "one of aes, aes192, aes256, aes192-cisco, aes256-cisco",
    ),
    (
        "{default: {version: 3, user: u, priv: {protocol: aes, key: {env: [}}}}",
        SECRET,
    ),
];

#[test]
fn what_stands_where_secrets_do_is_never_shown() {
    for (snmp, expected) in WRONG_CREDENTIALS {
        let message = error(&format!(
            "switches: {{s0: {{address: 10.0.0.1}}}}\nsnmp: {snmp}\n"
        ));
        assert!(
            !message.contains("MySecret") && !message.contains("4711"),
            "{message}"
        );
        assert!(
            message.starts_with("i.yaml:2: snmp, ")
                && message.contains(&format!("expected {expected}")),
            "{snmp}: {message}"
        );
        assert!(
            message.ends_with("; what stands there is not shown"),
            "{message}"
        );
    }
}

#[test]
fn what_is_expected_is_named_as_it_is_written() {
    for (text, expected) in [
        ("everything", "a map with switches, snmp and hosts"),
        ("switches: {s0: 10.0.0.1}", "a map like {address: 10.0.0.1}"),
        (
            "switches: {}\nhosts: {n0: 10.0.0.1}",
            "a map like {mac: \"02:00:00:00:00:01\"}",
        ),
        (
            "switches: {}\ntiming: fast",
            "a map like {poll: 500ms, full: 60s}",
        ),
        (
            "switches: {}\ntraps: 0.0.0.0:162",
            "a map like {listen: \"0.0.0.0:162\"}",
        ),
        (
            "switches: {}\nlinks: [s0-s1]",
            "a map like {a: s0, a_port: swp1, b: s1}",
        ),
    ] {
        let message = error(text);
        assert!(
            message.ends_with(&format!("expected {expected}")) && !message.contains("struct"),
            "{text}: {message}"
        );
    }
}

#[test]
fn secrets_come_from_elsewhere() {
    let text = GOOD
        .replace("key: authpass12", "key: {env: AUTH}")
        .replace("community: public", "community: {file: /c}");
    let mut i = Inventory::parse("i.yaml", &text).unwrap();
    i.resolve_secrets(|place| match place {
        SecretLocation::Env("AUTH") => Ok("12345678".to_owned()),
        SecretLocation::File("/c") => Ok("private\n".to_owned()),
        _ => Err("unexpected".to_owned()),
    })
    .unwrap();
    assert!(
        matches!(&i.snmp["default"], Credential::Community(c) if c.expose() == Some("private"))
    );
    let mut i = Inventory::parse("i.yaml", &text).unwrap();
    assert_eq!(
        i.resolve_secrets(|_| Ok("short".to_owned())).unwrap_err(),
        "credential \"secure\": auth key: expected at least 8 characters (RFC 3414, 11.2)"
    );
    let mut i = Inventory::parse("i.yaml", &text).unwrap();
    assert_eq!(
        i.resolve_secrets(|_| Ok("\n".to_owned())).unwrap_err(),
        "credential \"default\": file /c: it is empty; write the secret there"
    );
    let mut i = Inventory::parse("i.yaml", &text).unwrap();
    assert_eq!(
        i.resolve_secrets(|_| Err("not set".to_owned()))
            .unwrap_err(),
        "credential \"default\": file /c: not set"
    );
}

#[test]
fn ports_hold_what_is_stated_of_their_switches() {
    let i = Inventory::parse(
        "i.yaml",
        "switches: {'leaf[1-2]': {queue: 512k}, spine: {queue: 12M}}\nsnmp: {default: {version: 2c, community: c}}",
    );
    let queue = |switches: &[&str]| {
        let least = i
            .as_ref()
            .unwrap()
            .queue(switches.iter().copied(), &DeviceViews::new());
        least.map(|least| least.octets)
    };
    assert_eq!(queue(&["leaf1", "spine"]), Some(Bytes(512 << 10)));
    assert_eq!(
        [queue(&["spine"]), queue(&["spine", "s"])],
        [Some(Bytes(12 << 20)), None]
    );
}
