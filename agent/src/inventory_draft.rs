//! An inventory file out of what a search found, for an operator to read and to change.
//!
//! Guarantee: the text is a valid inventory, whatever names devices gave themselves; what heddle
//! cannot use stands in a comment with its reason.
use crate::neighbour_search::{FoundNeighbourhood, FoundSwitch, MissedNeighbour};
use inventory::host_lists::{ListedHosts, without_domains};
use inventory::natural_order::natural;
use inventory::sanitize;
use inventory::topology_file::plain_name;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write;

/// The longest name of a switch or host.
const LONGEST_NAME: usize = 64;
/// The longest description in a comment.
const LONGEST_COMMENT: usize = 72;

/// Words that YAML takes for something else than a text.
const RESERVED: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// For a host that several switches hear.
const SEVERAL_NETWORKS: &str = "
# Some hosts are heard by several switches. If these are of several networks, heddle tells them apart, and
# calls each like its root bridge. Other names go by addresses:
#   networks: {data: {prefix: 10.1.0.0/16}, management: {prefix: 10.2.0.0/16}}
";

/// A written inventory, and its figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InventoryDraft {
    /// The file's text.
    pub text: String,
    /// The switches that answered.
    pub switches: usize,
    pub hosts: usize,
}

/// Writes an inventory: the switches that answered, and the hosts of `listed`, or else those that
/// the switches hear. `command` and `credential` are written as they stand.
pub fn draft(
    command: &str,
    credential: &str,
    found: &FoundNeighbourhood,
    listed: &ListedHosts,
) -> InventoryDraft {
    let names = switch_names(&found.switches);
    let taken: HashSet<&str> = names.iter().map(String::as_str).collect();
    let mut text = format!(
        "# Written by: {}\n# Change it as you like; docs/inventory.md explains every key. Next:\n\
         #   heddle discover --inventory THIS_FILE\n\nswitches:\n",
        one_line(command)
    );
    let rows = names.iter().zip(&found.switches).map(|(name, switch)| {
        let address = yaml_text(&address(switch));
        let descr = one_line(&switch.list.descr);
        (
            format!("{}: {{address: {address}}}", yaml_text(name)),
            descr,
        )
    });
    write_rows(&mut text, rows.collect());
    write_missed(&mut text, &found.missed, listed);
    let _ = write!(text, "\nsnmp:\n  default: {credential}\n");
    let hosts = write_hosts(&mut text, found, listed, &taken);
    InventoryDraft {
        text,
        switches: names.len(),
        hosts,
    }
}

/// A name for each switch: its own without its domain, if that tells it from the others.
fn switch_names(switches: &[FoundSwitch]) -> Vec<String> {
    let own: Vec<String> = switches.iter().map(|s| fit(&s.list.name)).collect();
    let short = without_domains(&own);
    let mut taken = HashSet::new();
    own.iter()
        .zip(switches)
        .map(|(own, switch)| {
            let place = fit(&format!("switch-{}", address(switch)));
            let wanted = short.get(own).filter(|name| !name.is_empty());
            let free = wanted.filter(|name| !taken.contains(*name));
            let name = free.cloned().unwrap_or(place);
            taken.insert(name.clone());
            name
        })
        .collect()
}

/// The address as an inventory has it: without port 161.
fn address(switch: &FoundSwitch) -> String {
    match switch.address.fixed() {
        Some(address) if address.port() == 161 => address.ip().to_string(),
        _ => {
            let text = switch.address.to_string();
            text.strip_suffix(":161").unwrap_or(&text).to_owned()
        }
    }
}

fn write_missed(text: &mut String, missed: &[MissedNeighbour], listed: &ListedHosts) {
    // A listed host that calls itself a bridge runs containers: no switch is missing.
    let hosts: HashSet<String> = without_domains(listed.keys()).into_values().collect();
    let missed: Vec<&MissedNeighbour> = missed
        .iter()
        .filter(|m| !hosts.contains(short(&m.name)))
        .collect();
    if missed.is_empty() {
        return;
    }
    text.push_str(
        "# These call themselves switches, but could not be read. State each one with another\n\
         # credential (docs/inventory.md), or under \"unmanaged:\" with its links. A machine that\n\
         # runs containers calls itself a bridge, too: list it under \"hosts:\".\n",
    );
    for MissedNeighbour {
        name,
        address,
        named_by,
        why,
    } in missed
    {
        let name = if name.is_empty() { "(no name)" } else { name };
        let place = address.as_ref().map_or("-".to_owned(), |a| a.to_string());
        let by = named_by.as_deref().unwrap_or("you");
        let line = format!("{name}, {place}, named by {by}: {why}");
        let _ = writeln!(text, "#  {}", sanitize::visible(&line));
    }
}

/// Writes the hosts, and returns their number.
fn write_hosts(
    text: &mut String,
    found: &FoundNeighbourhood,
    listed: &ListedHosts,
    taken: &HashSet<&str>,
) -> usize {
    let (announced, cards) = found.hosts();
    if announced.values().any(|switches| switches.len() > 1) {
        text.push_str(SEVERAL_NETWORKS);
    }
    let announced: BTreeMap<String, String> = announced
        .into_iter()
        .map(|(name, switches)| (fit(&name), switches.join(", ")))
        .filter(|(name, _)| !name.is_empty())
        .collect();
    let (rows, others) = if listed.is_empty() {
        (announced_hosts(&announced), Vec::new())
    } else {
        listed_hosts(listed, &announced)
    };
    let (rows, clashes): (Vec<_>, Vec<_>) = rows
        .into_iter()
        .partition(|(name, _)| !taken.contains(name.as_str()));
    text.push_str(
        "\n# In rank order. heddle knows a host by LLDP under this name, or by what you state:\n",
    );
    text.push_str("#   node07: {mac: \"02:00:00:00:00:07\"}\n#   node08: {address: 10.77.0.8}      # its address on the cluster network\n");
    text.push_str(if rows.is_empty() {
        "hosts: {}\n"
    } else {
        "hosts:\n"
    });
    let count = rows.len();
    let rows = rows.into_iter();
    write_rows(
        text,
        rows.map(|(name, note)| (format!("{}: {{}}", yaml_text(&name)), note))
            .collect(),
    );
    for (name, _) in clashes {
        let _ = writeln!(text, "#  {name}: left out, a switch has this name");
    }
    if !others.is_empty() {
        text.push_str("# Heard by switches, but in no list of hosts:\n");
        for name in others {
            let _ = writeln!(text, "#  {name}: {{}}");
        }
    }
    if cards > 0 {
        let _ = writeln!(
            text,
            "# {cards} network card(s) speak LLDP without a name. They belong to hosts that need an \
             LLDP\n# daemon, heddle's agent, or their MAC address here."
        );
    }
    count
}

/// The hosts that switches hear, in natural order.
fn announced_hosts(announced: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let names = without_domains(announced.keys());
    let mut rows: Vec<(String, String)> = announced
        .iter()
        .map(|(name, switch)| (names[name].clone(), format!("heard by {switch}")))
        .collect();
    rows.sort_by_cached_key(|(name, _)| natural(name));
    rows
}

/// The listed hosts in their order, and those announced beside them.
fn listed_hosts(
    listed: &ListedHosts,
    announced: &BTreeMap<String, String>,
) -> (Vec<(String, String)>, Vec<String>) {
    let by: BTreeMap<&str, &String> = announced.iter().map(|(n, s)| (short(n), s)).collect();
    let names = without_domains(listed.keys());
    let mut used = BTreeSet::new();
    let mut rows = Vec::new();
    for (full, address) in listed {
        let name = fit(&names[full]);
        if name.is_empty() || !used.insert(name.clone()) {
            continue;
        }
        let note = match (by.get(short(&name)), address.as_str()) {
            (Some(switch), _) => format!("heard by {switch}"),
            (None, "") => "not heard by any switch".to_owned(),
            (None, address) => format!("not heard by any switch; listed at {address}"),
        };
        rows.push((name, note));
    }
    let known: HashSet<&str> = used.iter().map(|name| short(name)).collect();
    let unknown = announced.keys().filter(|name| !known.contains(short(name)));
    let others = unknown.cloned().collect();
    (rows, others)
}

/// Entries with comments behind them, in one column.
fn write_rows(text: &mut String, rows: Vec<(String, String)>) {
    let width = rows
        .iter()
        .map(|(row, _)| row.len())
        .max()
        .unwrap_or(0)
        .min(44);
    for (row, comment) in rows {
        let line = match comment.is_empty() {
            true => format!("  {row}"),
            false => format!("  {row:width$}  # {}", one_line(&comment)),
        };
        let _ = writeln!(text, "{line}");
    }
}

fn short(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// A name that files may have.
fn fit(name: &str) -> String {
    plain_name(name.trim()).chars().take(LONGEST_NAME).collect()
}

/// A foreign text as the rest of a line.
fn one_line(text: &str) -> String {
    let visible = sanitize::visible(text);
    let mut short: String = visible.chars().take(LONGEST_COMMENT).collect();
    if short.len() < visible.len() {
        short.push('…');
    }
    short
}

/// A text in YAML: in quotes if it could be taken for something else.
fn yaml_text(text: &str) -> String {
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        && !RESERVED.iter().any(|word| text.eq_ignore_ascii_case(word));
    let is_address = text.parse::<std::net::Ipv4Addr>().is_ok();
    match is_word || is_address {
        true => text.to_owned(),
        false => format!("\"{text}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ManagedNeighbour, NeighbourList};
    use inventory::inventory_file::Inventory;
    use inventory::observation::SystemCapabilities;

    fn station(name: &str) -> ManagedNeighbour {
        ManagedNeighbour {
            name: name.into(),
            capabilities: Some(SystemCapabilities::default()),
            ..ManagedNeighbour::default()
        }
    }

    fn switch(name: &str, address: &str, hosts: &[&str]) -> FoundSwitch {
        FoundSwitch {
            address: address.parse().unwrap(),
            named_by: None,
            list: NeighbourList {
                name: name.into(),
                descr: "Model \u{1b}[31m # 1".into(),
                chassis: None,
                neighbours: hosts.iter().map(|h| station(h)).collect(),
            },
        }
    }

    fn read(draft: &InventoryDraft) -> Inventory {
        Inventory::parse("i.yaml", &draft.text).unwrap_or_else(|e| panic!("{e}\n{}", draft.text))
    }

    const CREDENTIAL: &str = "{version: 2c, community: {file: /etc/heddle/community}}";

    #[test]
    fn a_host_that_several_switches_hear_hints_at_networks() {
        let drafted = |hosts: [&[&str]; 2]| {
            let [data, management] = hosts;
            let found = FoundNeighbourhood {
                switches: vec![
                    switch("d0", "10.0.0.1", data),
                    switch("m0", "10.0.0.2", management),
                ],
                missed: Vec::new(),
            };
            let draft = draft("heddle init", CREDENTIAL, &found, &ListedHosts::new());
            read(&draft);
            draft.text
        };
        let both = drafted([&["n0", "n1"], &["n0"]]);
        for part in [
            "n0: {}  # heard by d0, m0",
            "n1: {}  # heard by d0\n",
            SEVERAL_NETWORKS,
        ] {
            assert!(both.contains(part), "{both}");
        }
        assert!(!drafted([&["n0"], &["n1"]]).contains(SEVERAL_NETWORKS));
        // The text that the hint shows is read as it stands.
        let shown = SEVERAL_NETWORKS.lines().last().unwrap();
        let text = format!("{both}{}\n", shown.trim_start_matches("#   "));
        assert_eq!(Inventory::parse("i.yaml", &text).unwrap().networks.len(), 2);
    }

    #[test]
    fn switches_and_hosts_are_read_back_under_short_names() {
        let found = FoundNeighbourhood {
            switches: vec![
                switch(
                    "leaf1.example.org",
                    "10.0.0.1",
                    &["node2.example.org", "node10"],
                ),
                switch("leaf2.example.org", "leaf2:1161", &["node10", "leaf1"]),
                switch("", "fd00::1", &["y", "12"]),
                switch("leaf1.other.org", "10.0.0.4", &["a b"]),
            ],
            missed: vec![MissedNeighbour {
                name: "dark\nhosts: [evil]".into(),
                address: Some("10.0.0.9".parse().unwrap()),
                named_by: Some("leaf1".into()),
                why: "no answer".into(),
            }],
        };
        let draft = draft(
            "heddle init 10.0.0.1",
            CREDENTIAL,
            &found,
            &ListedHosts::new(),
        );
        let inventory = read(&draft);
        let switches: Vec<&str> = inventory.switches.keys().map(String::as_str).collect();
        assert_eq!(
            switches,
            [
                "leaf1.example.org",
                "leaf2",
                "switch-fd00--1",
                "leaf1.other.org"
            ]
        );
        assert_eq!(
            inventory.switches["leaf2"].address.to_string(),
            "leaf2:1161"
        );
        let hosts: Vec<&str> = inventory.hosts.keys().map(String::as_str).collect();
        assert_eq!(hosts, ["12", "a-b", "leaf1", "node2", "node10", "y"]);
        assert_eq!((draft.switches, draft.hosts), (4, 6));
        assert!(!draft.text.contains('\u{1b}') && !draft.text.contains("\nhosts: [evil]"));
        assert!(
            draft
                .text
                .contains("10.0.0.9:161, named by leaf1: no answer")
        );
    }

    #[test]
    fn lists_decide_which_hosts_count_and_in_which_order() {
        let found = FoundNeighbourhood {
            switches: vec![switch("s0", "10.0.0.1", &["n2.x", "printer"])],
            missed: vec![MissedNeighbour {
                name: "n3.x".into(),
                address: None,
                named_by: None,
                why: "not asked".into(),
            }],
        };
        let listed: ListedHosts = [("n3", ""), ("n2", ""), ("n1", "10.1.0.1"), ("s0", "")]
            .map(|(n, a)| (n.to_owned(), a.to_owned()))
            .into_iter()
            .collect();
        let draft = draft("heddle init", CREDENTIAL, &found, &listed);
        let hosts: Vec<String> = read(&draft).hosts.into_keys().collect();
        assert_eq!(hosts, ["n3", "n2", "n1"]);
        for line in [
            "n2: {}  # heard by s0",
            "n1: {}  # not heard by any switch; listed at 10.1.0.1",
            "#  s0: left out, a switch has this name",
            "# Heard by switches, but in no list of hosts:\n#  printer: {}",
        ] {
            assert!(draft.text.contains(line), "{line}\n{}", draft.text);
        }
        assert!(
            !draft.text.contains("call themselves switches"),
            "n3 is a host"
        );
    }
}
