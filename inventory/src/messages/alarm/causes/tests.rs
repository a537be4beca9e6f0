//! Wrong credentials and silent switches, with the hosts behind them.
use super::*;
use crate::messages::alarm::arguments::HostNotFound;
use crate::messages::evidence::DevicePort;
use crate::model::observation::CredentialRefusal;

fn switch(name: &str, refused: Option<&CredentialRefusal>) -> Alarm {
    let problem = "no".to_owned();
    let kind = match refused.cloned() {
        Some(refusal) => AlarmKind::SwitchRefuses {
            refusal,
            problem,
            answered: false,
        },
        None => AlarmKind::SwitchUnheard { problem },
    };
    Alarm::node(name, kind)
}

fn unfound(host: &str) -> Alarm {
    let why = HostNotFound::TrunksOnly(vec![DevicePort::new("s2", "swp1")]);
    Alarm::node(host, AlarmKind::HostUnfound { why })
}

fn lines_of(alarms: &[Alarm]) -> Vec<AlarmLine> {
    causes_first(&alarms.iter().collect::<Vec<_>>())
}

#[test]
fn one_wrong_key_is_one_line() {
    let refused = CredentialRefusal {
        credential: "user \"mon\"".to_owned(),
        reason: "wrong auth key or protocol".to_owned(),
    };
    let mut alarms: Vec<Alarm> = (0..6).rev().map(|n| unfound(&format!("n{n}"))).collect();
    alarms.extend([switch("s0", Some(&refused)), switch("s1", Some(&refused))]);
    let lines = lines_of(&alarms);
    let [line] = &lines[..] else {
        panic!("{lines:#?}")
    };
    assert_eq!(
        line.text,
        "2 switches refuse user \"mon\": wrong auth key or protocol: s0, s1; nothing new is known \
         of them: correct the credential under snmp in the inventory, or on the switches; 6 hosts \
         are not seen, and may be behind it: n0, n1, n2, n3 and 2 more"
    );
    assert_eq!((line.subject.name(), line.symptoms.len()), (Some("s0"), 8));
}

#[test]
fn hosts_behind_one_silent_switch_are_in_its_line() {
    let lines = lines_of(&[unfound("n1"), switch("s1", None)]);
    assert_eq!(lines.len(), 1, "{lines:#?}");
    assert!(
        lines[0]
            .text
            .ends_with("; host n1 is not seen, and may be behind it")
    );
    assert_eq!(lines[0].symptoms, [unfound("n1")]);
}

#[test]
fn hosts_that_may_be_behind_several_are_one_line() {
    let lines = lines_of(&[
        unfound("n1"),
        unfound("n2"),
        switch("s1", None),
        switch("s2", None),
    ]);
    let subjects: Vec<_> = lines.iter().map(|line| line.subject.to_string()).collect();
    assert_eq!(subjects, ["network", "s1", "s2"]);
    assert!(
        lines[0]
            .text
            .starts_with("2 hosts are not seen: n1, n2; they may be behind switches")
    );
}

#[test]
fn what_follows_from_nothing_stands_alone() {
    let lines = lines_of(&[unfound("n1"), unfound("n2")]);
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0].text, unfound("n1").to_string());
    let hidden = Alarm::node(
        "n1",
        AlarmKind::HostHidden {
            behind: vec!["s9".to_owned()],
        },
    );
    assert_eq!(lines_of(&[hidden.clone(), switch("s1", None)]).len(), 2);
    assert_eq!(lines_of(&[hidden, switch("s9", None)]).len(), 1);
}

#[test]
fn a_stale_switch_still_tells_where_its_hosts_were() {
    let stale = AlarmKind::SwitchStale {
        problem: "no".to_owned(),
    };
    assert_eq!(
        lines_of(&[unfound("n1"), Alarm::node("s1", stale)]).len(),
        2
    );
}

#[test]
fn a_line_is_as_severe_as_its_own_alarm() {
    let stalled = AlarmKind::DirectoryStalled {
        problem: "/d: the file system has not answered for 5 s".to_owned(),
    };
    let alarm = Alarm::other("directory", stalled);
    assert!(matches!(alarm.origin(), AlarmOrigin::Cause(_)));
    assert_eq!(lines_of(&[alarm])[0].severity, AlarmSeverity::Error);
}
