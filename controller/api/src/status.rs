//! One answer about a running controller, as monitoring asks for it.
//!
//! The text follows the rules for plugins of Nagios: a first line with the state, then figures
//! behind a bar; more lines after it. The exit status is the state.
use crate::{AlarmSeverity, Snapshot};
use inventory::counted;
use inventory::networks::Network;
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// The most alarms in the text.
const MOST_ALARMS: usize = 20;

/// The state of a service (Nagios plugin guidelines, "Plugin Return Codes").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ServiceState {
    /// All is well.
    Ok,
    /// Somebody should look at it.
    Warning,
    /// It does not do its work.
    Critical,
    /// Nothing shows it.
    Unknown,
}

impl ServiceState {
    /// 0, 1, 2 or 3.
    pub fn exit_status(self) -> u8 {
        self as u8
    }
}

impl fmt::Display for ServiceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ServiceState::Ok => "OK",
            ServiceState::Warning => "WARNING",
            ServiceState::Critical => "CRITICAL",
            ServiceState::Unknown => "UNKNOWN",
        })
    }
}

/// The controller in figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ControllerStatus {
    pub state: ServiceState,
    pub version: String,
    /// The shared directory.
    pub directory: String,
    /// The number of the published epoch; `None`: none is published.
    pub epoch: Option<u64>,
    /// The seconds since it was published.
    pub epoch_age: Option<u64>,
    pub hosts: u32,
    /// The switches of the inventory.
    pub switches: usize,
    /// The switches that do not answer, or did not yet.
    pub silent: Vec<String>,
    /// Alarms by severity.
    pub alarms: AlarmCounts,
    /// The alarms, the gravest first.
    pub lines: Vec<String>,
    /// The jobs that run.
    pub jobs: usize,
    /// A change waits for its hold-down.
    pub pending: bool,
    /// The networks, that of the schedules first, if there are several.
    pub networks: Vec<Network>,
}

/// The numbers of alarms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct AlarmCounts {
    /// Nothing new can be published.
    pub error: usize,
    /// A part of the network is not served, or is not certain.
    pub warning: usize,
    /// Good to know.
    pub info: usize,
}

impl ControllerStatus {
    /// Sums a snapshot up.
    pub fn new(snapshot: &Snapshot) -> ControllerStatus {
        let epoch = snapshot.epochs.last();
        let silent: Vec<String> = snapshot
            .switches
            .iter()
            .filter(|s| s.problem.is_some() || s.seen.is_none())
            .map(|s| s.name.clone())
            .collect();
        let alarms = AlarmCounts {
            error: count(AlarmSeverity::Error, snapshot),
            warning: count(AlarmSeverity::Warning, snapshot),
            info: count(AlarmSeverity::Info, snapshot),
        };
        let mut sorted: Vec<_> = snapshot.alarms.iter().collect();
        sorted.sort_by_key(|alarm| std::cmp::Reverse(alarm.severity));
        let nothing_answers = !silent.is_empty() && silent.len() == snapshot.switches.len();
        let state = match epoch {
            None => ServiceState::Critical,
            Some(_) if alarms.error > 0 || nothing_answers => ServiceState::Critical,
            Some(_) if alarms.warning > 0 || !silent.is_empty() => ServiceState::Warning,
            Some(_) => ServiceState::Ok,
        };
        ControllerStatus {
            state,
            version: snapshot.version.clone(),
            directory: snapshot.directory.clone(),
            epoch: epoch.map(|e| e.number),
            epoch_age: epoch.map(|e| snapshot.at.since(e.at).as_secs()),
            hosts: epoch.map_or(0, |e| e.hosts),
            switches: snapshot.switches.len(),
            silent,
            alarms,
            lines: sorted.into_iter().map(|alarm| alarm.text.clone()).collect(),
            jobs: snapshot.jobs.iter().filter(|job| job.running).count(),
            pending: snapshot.pending.is_some(),
            networks: snapshot.topology.networks.clone(),
        }
    }
}

fn count(severity: AlarmSeverity, snapshot: &Snapshot) -> usize {
    let same = snapshot.alarms.iter().filter(|a| a.severity == severity);
    same.count()
}

impl fmt::Display for ControllerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AlarmCounts {
            error,
            warning,
            info,
        } = self.alarms;
        write!(f, "HEDDLE {} - ", self.state)?;
        match self.epoch.zip(self.epoch_age) {
            Some((epoch, age)) => {
                let age = coarse(Duration::from_secs(age));
                let hosts = counted(self.hosts as usize, "host");
                write!(f, "epoch {epoch} ({age} old), {hosts}, ")?;
            }
            None => f.write_str("no epoch published, ")?,
        }
        write!(
            f,
            "{} of {} silent, ",
            self.silent.len(),
            counted(self.switches, "switch")
        )?;
        write!(
            f,
            "{}, {} | ",
            counted(error + warning + info, "alarm"),
            counted(self.jobs, "job")
        )?;
        // 'label'=value[UOM];[warn];[crit];[min];[max]
        write!(f, "epoch={}c ", self.epoch.unwrap_or_default())?;
        if let Some(age) = self.epoch_age {
            write!(f, "epoch_age={age}s ")?;
        }
        let silent = self.silent.len();
        writeln!(
            f,
            "hosts={} switches_silent={silent};0;;0;{} alarms_error={error};;0;0 \
             alarms_warning={warning};0;;0 alarms_info={info};;;0 jobs={};;;0",
            self.hosts, self.switches, self.jobs
        )?;
        self.write_reasons(f)
    }
}

impl ControllerStatus {
    /// The lines after the first one.
    fn write_reasons(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.silent.is_empty() {
            let named: Vec<&str> = self.silent.iter().take(8).map(String::as_str).collect();
            let more = match self.silent.len() - named.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            writeln!(f, "silent switches: {}{more}", named.join(", "))?;
        }
        if self.pending {
            writeln!(f, "a change was seen and is in its hold-down")?;
        }
        for (number, network) in self.networks.iter().enumerate() {
            let hosts = counted(network.hosts.len(), "host");
            let switches = counted(network.switches.len(), "switch");
            let served = match (number, network.hosts.len()) {
                (0, _) => "the main one",
                (_, 0 | 1) => "no schedules for a host alone",
                _ => "for jobs whose MPI library uses it",
            };
            writeln!(
                f,
                "network {}: {hosts} on {switches}; {served}",
                network.name
            )?;
        }
        for line in self.lines.iter().take(MOST_ALARMS) {
            // A bar would begin figures.
            writeln!(f, "alarm: {}", line.replace('|', "/"))?;
        }
        if self.lines.len() > MOST_ALARMS {
            writeln!(f, "{} more alarms", self.lines.len() - MOST_ALARMS)?;
        }
        writeln!(
            f,
            "publishes into {}, version {}",
            self.directory, self.version
        )
    }
}

/// A time in its largest unit: `3 h`.
fn coarse(time: Duration) -> String {
    match time.as_secs() {
        s if s < 120 => format!("{s} s"),
        s if s < 7_200 => format!("{} min", s / 60),
        s if s < 172_800 => format!("{} h", s / 3_600),
        s => format!("{} days", s / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AlarmLine, EpochInfo, SwitchStatus};
    use inventory::Millis;

    fn snapshot() -> Snapshot {
        Snapshot {
            at: Millis(10_000_000),
            version: "0.1.0".into(),
            directory: "/srv/heddle".into(),
            switches: vec![switch("s0"), switch("s1")],
            epochs: vec![EpochInfo {
                number: 41,
                at: Millis(1_000_000),
                hosts: 12,
                ..EpochInfo::default()
            }],
            ..Snapshot::default()
        }
    }

    fn switch(name: &str) -> SwitchStatus {
        SwitchStatus {
            name: name.into(),
            seen: Some(Millis(1)),
            ..SwitchStatus::default()
        }
    }

    fn alarm(severity: AlarmSeverity) -> AlarmLine {
        AlarmLine {
            text: format!("a | {severity:?}"),
            severity,
            ..AlarmLine::default()
        }
    }

    #[test]
    fn a_quiet_controller_is_ok_in_one_line_with_figures() {
        let status = ControllerStatus::new(&snapshot());
        assert_eq!(
            status.to_string(),
            "HEDDLE OK - epoch 41 (2 h old), 12 hosts, 0 of 2 switches silent, 0 alarms, 0 jobs | \
             epoch=41c epoch_age=9000s hosts=12 switches_silent=0;0;;0;2 alarms_error=0;;0;0 \
             alarms_warning=0;0;;0 alarms_info=0;;;0 jobs=0;;;0\npublishes into /srv/heddle, \
             version 0.1.0\n"
        );
        assert_eq!(status.state.exit_status(), 0);
    }

    #[test]
    fn each_of_several_networks_has_a_line() {
        let mut s = snapshot();
        s.topology.networks = vec![network("d1", 2), network("m1", 1)];
        let text = ControllerStatus::new(&s).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1..3],
            [
                "network d1: 12 hosts on 2 switches; the main one",
                "network m1: 12 hosts on 1 switch; for jobs whose MPI library uses it",
            ]
        );
    }

    fn network(name: &str, switches: usize) -> Network {
        Network {
            name: name.into(),
            switches: vec![String::new(); switches],
            hosts: vec![String::new(); 12],
            ..Network::default()
        }
    }

    #[test]
    fn the_gravest_thing_decides() {
        assert_eq!(
            exit_status_after(|s| s.alarms.push(alarm(AlarmSeverity::Info))),
            0
        );
        assert_eq!(
            exit_status_after(|s| s.alarms.push(alarm(AlarmSeverity::Warning))),
            1
        );
        assert_eq!(
            exit_status_after(|s| s.switches[0].problem = Some("no answer".into())),
            1
        );
        assert_eq!(exit_status_after(|s| s.switches[0].seen = None), 1);
        assert_eq!(
            exit_status_after(|s| s.alarms.push(alarm(AlarmSeverity::Error))),
            2
        );
        assert_eq!(exit_status_after(|s| s.epochs.clear()), 2);
        assert_eq!(
            exit_status_after(|s| s.switches.iter_mut().for_each(|s| s.seen = None)),
            2
        );
    }

    fn exit_status_after(change: fn(&mut Snapshot)) -> u8 {
        let mut s = snapshot();
        change(&mut s);
        ControllerStatus::new(&s).state.exit_status()
    }

    #[test]
    fn alarms_follow_the_gravest_first_and_no_text_looks_like_figures() {
        let mut s = snapshot();
        s.alarms = vec![alarm(AlarmSeverity::Info); 30];
        s.alarms.push(alarm(AlarmSeverity::Error));
        s.switches[1].problem = Some("no answer".into());
        let text = ControllerStatus::new(&s).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1..3], ["silent switches: s1", "alarm: a / Error"]);
        assert!(text.contains("\n11 more alarms\n") && text.matches('|').count() == 1);
    }
}
