//! Graphviz, in the form that PTM (Prescriptive Topology Manager) reads as a cabling plan too:
//! `"s0":"swp1" -- "s1":"swp1"`. A node is a table with a cell for each port, so that Graphviz finds
//! the port at which a cable ends.
//!
//! Graphviz takes what follows a colon in a port's name for a direction. Such a port has a number
//! for a name in its cell, and the cable an attribute that leads Graphviz there.
use inventory::natural_order::natural;
use inventory::topology::{Link, LinkGrade, LinkState, Node, NodeKind, Topology};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const INK: &str = "#1f2328";
const GREY: &str = "#57606a";
const BOTTLENECK: &str = "#d1570f";
const BLOCKED: &str = "#cf222e";
const DOUBT: &str = "#9a6700";

/// The cells of a node's ports, by the ports' names.
type PortCells<'a> = BTreeMap<&'a str, String>;

/// The network as a Graphviz file. `bottleneck` are the ends of the link that is drawn as such.
pub fn dot(topology: &Topology, bottleneck: Option<&(String, String)>) -> String {
    let mut out = format!(
        "graph network {{\n  graph [rankdir=LR, ranksep=1.2, bgcolor=white];\n  node [shape=plain, \
         fontname=\"sans-serif\", fontsize=11, fontcolor=\"{INK}\"];\n  edge [fontname=\"sans-serif\", \
         fontsize=10, color=\"{GREY}\", fontcolor=\"{INK}\"];\n"
    );
    let mut ports: BTreeMap<&str, BTreeSet<(_, &str)>> = BTreeMap::new();
    for link in &topology.links {
        for (name, port) in [(&link.a, &link.a_port), (&link.b, &link.b_port)] {
            let own = ports.entry(name).or_default();
            own.extend((!port.is_empty()).then(|| (natural(port), port.as_str())));
        }
    }
    let mut cells: BTreeMap<&str, PortCells<'_>> = BTreeMap::new();
    for node in &topology.nodes {
        let own_ports = ports.remove(node.name.as_str()).unwrap_or_default();
        let own: Vec<&str> = own_ports.into_iter().map(|(_, port)| port).collect();
        let of_node: PortCells<'_> = own
            .iter()
            .enumerate()
            .map(|(i, port)| (*port, cell_of(port, i)))
            .collect();
        let is_root = topology.is_root_bridge(&node.name);
        let _ = writeln!(
            out,
            "  {} [label={}];",
            quoted(&node.name),
            table(node, is_root, &own, &of_node)
        );
        cells.insert(&node.name, of_node);
    }
    for link in &topology.links {
        let is_bottleneck = bottleneck
            .is_some_and(|(a, b)| (*a == link.a && *b == link.b) || (*a == link.b && *b == link.a));
        let (a, b) = (end(&link.a, &link.a_port), end(&link.b, &link.b_port));
        let _ = write!(out, "  {a} -- {b} [{}", look(link, is_bottleneck));
        for (side, name, port) in [
            ("tailport", &link.a, &link.a_port),
            ("headport", &link.b, &link.b_port),
        ] {
            let cell = cells
                .get(name.as_str())
                .and_then(|own| own.get(port.as_str()));
            if let Some(cell) = cell.filter(|cell| *cell != port) {
                let _ = write!(out, ", {side}={}", quoted(cell));
            }
        }
        out.push_str("];\n");
    }
    out.push_str("}\n");
    out
}

/// The name of a port's cell: the port's own where Graphviz takes it as it is.
fn cell_of(port: &str, number: usize) -> String {
    if port
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "/._- ".contains(c))
    {
        port.to_owned()
    } else {
        format!("port {number}")
    }
}

/// A node with its ports below each other.
fn table(node: &Node, is_root: bool, ports: &[&str], cells: &PortCells<'_>) -> String {
    let (fill, border) = match node.kind {
        NodeKind::Host => ("#ffffff", "#c3ccd6"),
        _ => ("#eef3f8", GREY),
    };
    let style = if node.stale { "dashed" } else { "rounded" };
    let remark = match (is_root, node.stale) {
        (true, false) => " (root bridge)",
        (true, true) => " (root bridge, stale)",
        (false, true) => " (stale)",
        (false, false) => "",
    };
    let mut table = format!(
        "<<table border=\"1\" cellborder=\"0\" cellspacing=\"0\" cellpadding=\"3\" color=\"{border}\" \
         bgcolor=\"{fill}\" style=\"{style}\"><tr><td><b>{}</b>{remark}</td></tr>",
        marked_up(&node.name)
    );
    for port in ports {
        let _ = write!(
            table,
            "<tr><td port=\"{}\"><font color=\"{GREY}\" point-size=\"9\">{}</font></td></tr>",
            marked_up(&cells[port]),
            marked_up(port)
        );
    }
    table + "</table>>"
}

/// The attributes of a cable's line.
fn look(link: &Link, is_bottleneck: bool) -> String {
    let rate = link.rate_bps;
    let (word, style, color) = match (link.grade, link.state) {
        (LinkGrade::Ambiguous, _) => (" ambiguous", "dashed", DOUBT),
        (_, LinkState::Blocked) => (" blocked", "dotted", BLOCKED),
        (_, LinkState::Unknown) => (" STP unknown", "dashed", DOUBT),
        _ if is_bottleneck => (" bottleneck", "bold", BOTTLENECK),
        (LinkGrade::Inferred, _) => (" inferred", "solid", DOUBT),
        (LinkGrade::Certain, _) => return format!("label=\"{rate}\", style=solid"),
    };
    // A link without frames must not change the ranks of nodes (Graphviz, constraint).
    let constraint = if link.carries_frames() {
        ""
    } else {
        ", constraint=false"
    };
    format!(
        "label=\"{rate}{word}\", style={style}, color=\"{color}\", fontcolor=\"{color}\"{constraint}"
    )
}

fn end(name: &str, port: &str) -> String {
    if port.is_empty() {
        quoted(name)
    } else {
        format!("{}:{}", quoted(name), quoted(port))
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A text in Graphviz's markup.
fn marked_up(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn graphviz_quotes_what_it_must() {
        let mut t = sample();
        t.links[0].a_port = "a\"b\\".into();
        let dot = dot(&t, Some(&("s2".into(), "s0".into())));
        let cable =
            r#"  "s0":"a\"b\\" -- "s1":"swp1" [label="1G", style=solid, tailport="port 0"];"#;
        for part in [
            cable,
            "style=dotted",
            "\"s2\":\"swp5\" -- \"n3\" [",
            "<td port=\"swp10\">",
            "\"s0\":\"swp2\" -- \"s2\":\"swp1\" [label=\"1G bottleneck\"",
        ] {
            assert!(dot.contains(part), "{part} is missing:\n{dot}");
        }
    }
}
