//! Hosts that only databases know, where a bridge that nobody asks is between two switches.
use super::*;

/// n0 and n1 on s0, n2 and n3 on s1, n4 and n5 on the bridge between. Of n1, s1 knows nothing: too little for
/// databases that face each other. Of n6, s0 alone knows something.
fn parted() -> InferenceFixture {
    let hosts: Vec<String> = (0..=6)
        .map(|n| format!("n{n}: {{mac: \"02:68:00:00:00:0{n}\"}}"))
        .collect();
    let mut net = InferenceFixture::new(&["s0", "s1"], &format!("{{{}}}", hosts.join(", ")));
    let learned: [(&str, &[(u8, u8)]); 2] = [
        (
            "s0",
            &[(0, 5), (1, 6), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1)],
        ),
        ("s1", &[(0, 1), (2, 5), (3, 6), (4, 1), (5, 1)]),
    ];
    for (switch, rows) in learned {
        for (host, port) in rows {
            net.port(switch, *port, F);
            net.learns(switch, *port, host_mac(&format!("n{host}")));
        }
    }
    net
}

#[test]
fn a_port_that_leads_on_to_the_switch_of_a_host_is_not_its_place() {
    let t = parted().infer();
    for (switch, host) in [("s0", "n0"), ("s0", "n1"), ("s1", "n2"), ("s1", "n3")] {
        assert_eq!(link(&t, switch, host).grade, LinkGrade::Inferred);
    }
    for (switch, host) in [("s0", "n4"), ("s1", "n4"), ("s0", "n5"), ("s1", "n5")] {
        let link = link(&t, switch, host);
        assert_eq!(
            (link.grade, link.a_port.as_str()),
            (LinkGrade::Ambiguous, "swp1")
        );
    }
}

#[test]
fn a_host_behind_a_port_to_a_switch_that_did_not_learn_it_is_nowhere() {
    let t = parted().infer();
    let text = alarms(&t);
    assert!(
        text.contains("host \"n6\": seen nowhere: learned only on trunk ports (s0 swp1)"),
        "{text}"
    );
}
