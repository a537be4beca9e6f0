//! An inventory that lists no switch, while switches send LLDP unasked: the agents of the hosts tell the
//! switches, flows the rates between them, and a cable that moves is followed without flows.
use crate::common::machine_share::MachinePart;
use crate::measured::MeasuredLab;
use std::time::Instant;

const NET: &str = "net-10.77.0.0-16";

fn owned(names: [&str; 6]) -> Vec<String> {
    names.map(str::to_owned).to_vec()
}

/// The rate of the cable that leads from a switch to the bridge of the network.
fn rate(lab: &MeasuredLab, switch: &str) -> Option<String> {
    let links = lab.published()?.links.into_iter();
    let mut rates = links.filter(|link| [&link.a, &link.b].iter().any(|end| **end == switch));
    Some(rates.next()?.rate.to_string())
}

#[test]
fn hosts_tell_the_switches_that_they_hear() {
    let mut lab = MeasuredLab::hearing(MachinePart::Whole);
    let started = Instant::now();
    lab.start_controller();
    lab.start_agents();
    let found = owned(["s0", "s0", "s1", "s1", "s2", "s2"]);
    lab.await_places(&found, "");
    eprintln!(
        "the switches were published after {:.1?}",
        started.elapsed()
    );
    let done = lab.order().wait_with_output().unwrap();
    let output = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{output}{}", lab.logs());
    eprintln!("{output}");
    lab.await_so("flows tell the rates", || {
        ["s0", "s2"]
            .iter()
            .all(|switch| rate(&lab, switch).as_deref() == Some("20M"))
    });
    assert_eq!(lab.places(), found, "{output}");
    let switches = lab.published().unwrap().switches;
    assert_eq!(switches.len(), 4, "{switches:?}");
    assert!(switches.iter().any(|name| name == NET), "{switches:?}");
    // From now on what they say holds for 90 s, as on real switches.
    lab.speak_rarely();
    let moved = Instant::now();
    lab.move_host("n5", "s0");
    eprintln!("the cable took {:.1?} to move", moved.elapsed());
    lab.await_places(&owned(["s0", "s0", "s1", "s1", "s2", "s0"]), &output);
    eprintln!("a moved cable was published after {:.1?}", moved.elapsed());
    // The trunks that flows found stay.
    assert_eq!(rate(&lab, "s0").as_deref(), Some("20M"), "{}", lab.logs());
    assert!(
        !lab.log("controller.log")
            .contains("keeps it on \"s2\"; its port"),
        "{}",
        lab.logs()
    );
}
