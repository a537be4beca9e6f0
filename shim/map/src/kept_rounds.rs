//! The measured rounds as a file: a line for the hosts, then a line for each round as soon as it is
//! measured, so that nothing is lost however the job ends. `heddle map --from` reads it again.
use crate::job_hosts::MapHost;
use anyhow::{Context, anyhow, ensure};
use inventory::unreadable::{self, UnreadableFile};
use mapping::{HostFlow, MOST_HOSTS, MeasuredFlow, MeasuredRound};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// The payload rates that a flow can have, in bit/s.
const RATES: RangeInclusive<f64> = 0.0..=1e13;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
struct KeptHosts {
    hosts: Vec<MapHost>,
}

/// A round: for each flow its sender, its receiver and its rate in payload bits a second.
#[derive(Debug, Serialize, Deserialize)]
struct KeptRound(Vec<(usize, usize, f64)>);

/// The file beside the topology file.
pub(crate) fn path_beside(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".rounds");
    PathBuf::from(name)
}

/// A file that takes rounds.
pub(crate) struct RoundsFile {
    file: File,
    path: PathBuf,
    is_failing: bool,
}

impl RoundsFile {
    /// Begins the file anew.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn create(path: PathBuf, hosts: &[MapHost]) -> anyhow::Result<RoundsFile> {
        let file = File::create(&path).map_err(|cause| {
            let (shown, reason) = (path.display(), reason(&path, &cause));
            let hint = "name a file in a folder that you may write to: --output FILE";
            anyhow!("{shown}: {reason}; nothing was measured; {hint}")
        })?;
        let mut rounds = RoundsFile {
            file,
            path,
            is_failing: false,
        };
        let hosts = hosts.to_vec();
        rounds.line(&KeptHosts { hosts })?;
        Ok(rounds)
    }

    /// Adds a round. The measurement goes on without the file if its disk is full.
    pub(crate) fn add(&mut self, round: &MeasuredRound) {
        let flow = |f: &MeasuredFlow| (f.flow.from, f.flow.to, f.rate.round());
        let round = KeptRound(round.flows.iter().map(flow).collect());
        if let Err(error) = self.line(&round)
            && !std::mem::replace(&mut self.is_failing, true)
        {
            eprintln!("heddle map: {error}; the measurement goes on, and its rounds are not kept");
        }
    }

    fn line(&mut self, content: &impl Serialize) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(content)?;
        line.push(b'\n');
        let written = self.file.write_all(&line);
        written.map_err(|cause| UnreadableFile::new(&self.path, cause).into())
    }
}

/// The reason why a file cannot begin.
fn reason(path: &Path, cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::PermissionDenied if !path.exists() => {
            "this user may not create it there".to_owned()
        }
        _ => unreadable::reason(cause),
    }
}

/// The hosts and rounds of such a file. A last line that is not whole is left out.
///
/// # Errors
/// If it cannot be read, or holds something else.
pub(crate) fn read(path: &Path) -> anyhow::Result<(Vec<MapHost>, Vec<MeasuredRound>)> {
    const HINT: &str = "nothing was done; name a file that an earlier run kept: --from FILE.rounds";
    let text = fs::read_to_string(path)
        .map_err(|cause| anyhow!("{}; {HINT}", UnreadableFile::new(path, cause)))?;
    parse(&text).map_err(|problem| {
        let place = path.display();
        anyhow!("{place}: these are not rounds that heddle map measured: {problem:#}; {HINT}")
    })
}

fn parse(text: &str) -> anyhow::Result<(Vec<MapHost>, Vec<MeasuredRound>)> {
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let mut lines = whole.lines();
    let first = lines.next().context("no line ends")?;
    let KeptHosts { hosts } = serde_json::from_str(first).context("line 1 names no hosts")?;
    let count = hosts.len();
    ensure!(
        (3..=MOST_HOSTS).contains(&count),
        "{count} hosts in line 1, expected 3 to {MOST_HOSTS}"
    );
    let rounds = lines
        .enumerate()
        .map(|(place, line)| {
            let place = place + 2;
            let KeptRound(flows) = serde_json::from_str(line)
                .with_context(|| format!("line {place} is not a round"))?;
            let known = |(from, to, rate): &(usize, usize, f64)| {
                *from < hosts.len() && *to < hosts.len() && from != to && RATES.contains(rate)
            };
            ensure!(
                flows.len() <= hosts.len() && flows.iter().all(known),
                "line {place} has a flow that cannot be between {count} hosts"
            );
            Ok(MeasuredRound {
                flows: flows
                    .into_iter()
                    .map(|(from, to, rate)| MeasuredFlow {
                        flow: HostFlow { from, to },
                        rate,
                    })
                    .collect(),
            })
        })
        .collect::<anyhow::Result<_>>()?;
    Ok((hosts, rounds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts() -> Vec<MapHost> {
        (1..=3)
            .map(|n| MapHost {
                name: format!("n{n}"),
                address: format!("10.0.0.{n}:7").parse().unwrap(),
            })
            .collect()
    }

    #[test]
    fn rounds_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = path_beside(&folder.path().join("cluster.yaml"));
        let round = MeasuredRound {
            flows: vec![MeasuredFlow {
                flow: HostFlow { from: 0, to: 2 },
                rate: 19e6,
            }],
        };
        let mut file = RoundsFile::create(path.clone(), &hosts()).unwrap();
        file.add(&round);
        file.add(&round);
        assert_eq!(read(&path).unwrap(), (hosts(), vec![round.clone(); 2]));
        // The job ended in the middle of a line.
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(parse(&text[..text.len() - 3]).unwrap().1, [round]);
    }

    #[test]
    fn a_file_that_may_not_be_created_is_none_that_may_not_be_opened() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let folder = tempfile::tempdir().unwrap();
        let new = reason(&folder.path().join("c.yaml.rounds"), &denied);
        assert_eq!(new, "this user may not create it there");
        let old = reason(folder.path(), &denied);
        assert!(old.starts_with("this user may not open it"), "{old}");
    }

    #[test]
    fn foreign_bytes_are_refused() {
        let first = serde_json::to_string(&KeptHosts { hosts: hosts() }).unwrap();
        for rounds in [
            "[[0,3,1.0]]",
            "[[1,1,1.0]]",
            "[[0,1,1e999]]",
            "[[0,1,-1.0]]",
            "[[0,1,1e300]]",
            "{}",
            "[[0,1]]",
        ] {
            assert!(parse(&format!("{first}\n{rounds}\n")).is_err(), "{rounds}");
        }
        for text in ["", "\n", "{\"hosts\":[]}\n", "switches: [s0]\n"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
