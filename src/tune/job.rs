//! Launches of the benchmark program, on real hosts or in a lab, and their output.
use super::Args;
use super::algorithms::ForcedAlgorithms;
use anyhow::{Context, anyhow, bail};
use directory::job_record::{JobRecord, reading};
use directory::layout::JOBS;
use forecast::tuning::pairs;
use inventory::Bytes;
use inventory::unreadable::UnreadableFile;
use lab::Lab;
use lab::mpi::MpiJob;
use policy::decision_table::{Collective, Way};
use policy::measurements::{MEASURED, row};
use serde::Deserialize;
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The longest time until a job record that rank 0 wrote at its end is visible here.
const PATIENCE: Duration = Duration::from_secs(10);

/// Loads the runtime before any library that the launcher loads, on the host of each rank:
/// launchers differ in the variables that they pass on.
const PRELOAD: &str = r#"export LD_PRELOAD="$0${LD_PRELOAD:+:$LD_PRELOAD}"; exec "$@""#;

/// The exit status of `timeout` after it ended a job.
const OUT_OF_TIME: i32 = 124;

/// Messages between two hosts of each size, in each launch.
const PINGS: u64 = 20;

/// The first calls of a communicator count already.
const AT_ONCE: &str = "HEDDLE_AFTER=0";

/// Starts jobs.
pub(super) struct JobLauncher<'a> {
    args: &'a Args,
    dir: PathBuf,
    bench: PathBuf,
    lab: Option<Lab>,
    /// The network that is measured, if there are several.
    network: Option<String>,
}

/// The calls of a job in which every other row bypasses the runtime.
pub(super) struct ComparedCalls<'a> {
    /// The sizes of their blocks.
    pub(super) sizes: &'a [Bytes],
    /// If given, no other collectives and sizes than these, and no more calls than it takes until
    /// it is clear which of the two is faster.
    pub(super) only: Option<&'a BTreeSet<(Collective, Bytes)>>,
    /// Pairs of rows, besides the first ones.
    pub(super) pairs: u64,
}

/// The output of a job.
pub(super) struct JobOutput {
    /// The library's version.
    pub(super) library: String,
    /// The host of each rank.
    pub(super) hosts: Vec<String>,
    /// The epoch it followed; 0 without the runtime.
    pub(super) epoch: u64,
    /// The ways that its calls went.
    pub(super) gone: Vec<Way>,
    /// Its measurements.
    pub(super) series: Vec<BenchSeries>,
}

/// First line of the benchmark program.
#[derive(Deserialize)]
struct BenchIntroduction {
    library: String,
    pid: u32,
    hosts: Vec<String>,
}

/// Any other line: a collective and the times of its calls.
#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct BenchSeries {
    pub(super) collective: String,
    pub(super) block: Bytes,
    /// The average time of a call in each row of calls.
    pub(super) seconds: Vec<f64>,
    /// The same for the rows between that bypassed the runtime, if that was asked for.
    #[serde(default)]
    pub(super) own: Vec<f64>,
}

/// The collective of this name; `None` for ping-pongs.
pub(super) fn collective(name: &str) -> Option<Collective> {
    name.parse()
        .ok()
        .filter(|collective| MEASURED.contains(collective))
}

impl<'a> JobLauncher<'a> {
    pub(super) fn new(args: &'a Args) -> anyhow::Result<JobLauncher<'a>> {
        let lab = args.lab.as_deref().map(Lab::open).transpose()?;
        let named = args
            .dir
            .clone()
            .or_else(|| lab.as_ref().map(Lab::shared_dir))
            .context("--dir, or --lab")?;
        let dir = named.canonicalize().map_err(|cause| {
            anyhow!(
                "{}; nothing was measured",
                UnreadableFile::new(&named, cause)
            )
        })?;
        if lab.is_none() {
            refuse_missing(args.launcher.first().map_or("", String::as_str))?;
        }
        Ok(JobLauncher {
            args,
            dir,
            bench: crate::bench::program(args.mpi)?,
            lab,
            network: None,
        })
    }

    /// The same for jobs that have to follow this network.
    pub(super) fn on_network(self, network: Option<String>) -> JobLauncher<'a> {
        JobLauncher { network, ..self }
    }

    /// Where there are several networks: launches a short job in which no way is forced, so that its ranks
    /// look over which one the library sends.
    pub(super) fn check_network(&self) -> anyhow::Result<()> {
        if self.network.is_none() {
            return Ok(());
        }
        tell!("a short launch shows over which network the library sends");
        let largest: Vec<Bytes> = self.args.size.iter().max().copied().into_iter().collect();
        let calls = ["--collective=both", "--at-least=4"];
        self.with_runtime(&self.dir, &[], &largest, &calls)
            .map(drop)
    }

    /// The statement that spares ranks that look: where ways are forced, nobody looks.
    fn stated_network(&self) -> impl Iterator<Item = String> {
        let network = self.network.iter();
        network.map(|name| format!("HEDDLE_NETWORK={name}"))
    }

    /// The shared directory.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Runs a job with the runtime, in which these ways take turns: in the first launch of several
    /// one round, in others as many as were asked for.
    pub(super) fn run_in_turns(&self, ways: &[Way], is_first: bool) -> anyhow::Result<JobOutput> {
        let names: Vec<String> = ways.iter().map(ToString::to_string).collect();
        let rounds = if is_first { 1 } else { self.args.rounds } + 1; // The first one does not count.
        let [alltoall, allgather] = [Collective::Alltoall, Collective::Allgather].map(|of| {
            let served = ways.iter().filter(|way| way.serves(of));
            rounds * served.count() as u64
        });
        let rows = format!("--at-least={PINGS},{alltoall},{allgather}");
        let seconds = if is_first { 0.0 } else { self.args.seconds };
        let turns = format!("HEDDLE_TURNS={}", names.join(","));
        let environment: Vec<String> = self.stated_network().chain([turns]).collect();
        self.with_runtime(
            &self.dir,
            &environment,
            &self.args.size,
            &["--collective=all", &rows, &format!("--seconds={seconds}")],
        )
    }

    /// Runs a job with the runtime, following a shared directory like any other job. Every other
    /// row of calls bypasses the runtime. The first pairs make plans and connections.
    pub(super) fn compare(
        &self,
        dir: &Path,
        calls: &ComparedCalls<'_>,
    ) -> anyhow::Result<JobOutput> {
        let rows = 2 * (calls.pairs + pairs::FIRST as u64);
        let mut words = vec![
            "--collective=both".to_owned(),
            "--compare".to_owned(),
            format!("--at-least={rows}"),
            format!("--seconds={}", self.args.seconds),
        ];
        if let Some(only) = calls.only {
            let names: Vec<String> = only
                .iter()
                .map(|(collective, size)| format!("{collective}:{}", size.0))
                .collect();
            words.push(format!("--only={}", names.join(",")));
            words.push("--until-clear".to_owned());
        }
        let flags: Vec<&str> = words.iter().map(String::as_str).collect();
        let environment: Vec<String> = self.stated_network().collect();
        self.with_runtime(dir, &environment, calls.sizes, &flags)
    }

    fn with_runtime(
        &self,
        dir: &Path,
        environment: &[String],
        sizes: &[Bytes],
        flags: &[&str],
    ) -> anyhow::Result<JobOutput> {
        let environment: Vec<String> = environment
            .iter()
            .cloned()
            .chain([format!("HEDDLE_DIR={}", dir.display()), AT_ONCE.to_owned()])
            .collect();
        let before = kept_records(dir);
        let (introduction, series) = self.launch(true, &environment, sizes, flags)?;
        let record = record(dir, &introduction, &before)?;
        if let Some(why) = record.aside {
            bail!("the runtime stood aside, so there is nothing to compare: {why}");
        }
        if let (Some(followed), Some(network)) = (record.network, &self.network)
            && followed != *network
        {
            bail!(
                "the library sends over network \"{followed}\", not \"{network}\"; nothing was measured: \
                 give the launcher the options with which the library sends there, or take \
                 --network {followed}"
            );
        }
        let gone = record
            .calls
            .iter()
            .filter_map(|call| call.way.known().copied())
            .collect();
        Ok(JobOutput {
            library: introduction.library,
            hosts: introduction.hosts,
            epoch: record.epoch,
            gone,
            series,
        })
    }

    /// Runs a job without the runtime, in which the library is forced to these algorithms.
    pub(super) fn forced(&self, algorithms: &ForcedAlgorithms) -> anyhow::Result<Vec<BenchSeries>> {
        let environment: Vec<String> = algorithms
            .environment()
            .chain(["HEDDLE=off".to_owned()])
            .collect();
        let calls = format!("--at-least={}", self.args.rounds + 1);
        let (_, series) = self.launch(
            false,
            &environment,
            &self.args.size,
            &[
                "--collective=both",
                &calls,
                &format!("--seconds={}", self.args.seconds),
            ],
        )?;
        Ok(series)
    }

    fn launch(
        &self,
        runtime: bool,
        environment: &[String],
        sizes: &[Bytes],
        flags: &[&str],
    ) -> anyhow::Result<(BenchIntroduction, Vec<BenchSeries>)> {
        let rows: Vec<String> = sizes.iter().map(|&size| row(size).to_string()).collect();
        let sizes: Vec<String> = sizes.iter().map(|size| size.0.to_string()).collect();
        let mut program: Vec<String> = vec!["env".to_owned()];
        program.extend_from_slice(environment);
        // In a lab, mpirun loads the runtime.
        if runtime && self.lab.is_none() {
            let library = self.bench.with_file_name("libheddle.so");
            program
                .extend(["sh", "-c", PRELOAD, &library.display().to_string()].map(str::to_owned));
        }
        program.push(self.bench.display().to_string());
        program.extend([
            "--each".to_owned(),
            format!("--size={}", sizes.join(",")),
            format!("--rows={}", rows.join(",")),
        ]);
        program.extend(flags.iter().map(|flag| (*flag).to_owned()));
        let mut command = match &self.lab {
            Some(lab) => {
                let timeout = Some(Duration::from_secs_f64(self.args.limit));
                lab.mpirun(
                    &MpiJob {
                        shim: runtime,
                        timeout,
                        per_host: self.args.per_host,
                        ..MpiJob::new(self.args.mpi)
                    },
                    program,
                )
            }
            None => {
                // Some launchers hang when a job hangs.
                let mut command = Command::new("timeout");
                command
                    .args(["-k", "10", &self.args.limit.to_string()])
                    .args(&self.args.launcher)
                    .args(program);
                command
            }
        };
        let output = command
            .stderr(Stdio::inherit())
            .output()
            .context("the launcher")?;
        if !output.status.success() {
            bail!("{}", failed(output.status));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        read(&text).with_context(|| format!("output of the benchmark program: {text:?}"))
    }
}

/// The error of a job that failed.
fn failed(status: ExitStatus) -> String {
    let hint = match status.code() {
        Some(OUT_OF_TIME) => "it ran out of time; give it more: --limit SECONDS; ",
        _ => "",
    };
    format!("the job ended with {status}; {hint}its messages are above")
}

/// Refuses a launcher that does not exist, before anything runs.
fn refuse_missing(launcher: &str) -> anyhow::Result<()> {
    let is_there = if launcher.contains('/') {
        Path::new(launcher).is_file()
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(launcher).is_file())
    };
    if !is_there {
        bail!(
            "launcher \"{launcher}\": no such program on the search path; nothing was measured: \
             give the command that starts your jobs after \"--\", or load its module first"
        );
    }
    Ok(())
}

/// The ids of the records that there are.
fn kept_records(dir: &Path) -> HashSet<String> {
    let files = std::fs::read_dir(dir.join(JOBS));
    let paths = files
        .into_iter()
        .flatten()
        .flatten()
        .map(|file| file.path());
    paths
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect()
}

/// Waits for the job record of the runtime. Its file appears when the job's rank 0 ends, and on
/// this host perhaps later.
fn record(
    dir: &Path,
    introduction: &BenchIntroduction,
    before: &HashSet<String>,
) -> anyhow::Result<JobRecord> {
    let began = Instant::now();
    loop {
        if let Some(record) = find_record(dir, introduction, before) {
            return Ok(record);
        }
        if began.elapsed() > PATIENCE {
            let host = introduction.hosts.first().map_or("", String::as_str);
            bail!(
                "{}: no job record of process {} on \"{host}\": the library was not loaded, \
                 or all ranks are on one host, or that host does not see the directory",
                dir.join(JOBS).display(),
                introduction.pid
            );
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The record of a launch. An earlier one may have had the same process number: a host gives it again
/// after a while, and a container to each job.
fn find_record(
    dir: &Path,
    introduction: &BenchIntroduction,
    before: &HashSet<String>,
) -> Option<JobRecord> {
    let begins = format!("{}-{}-", introduction.hosts.first()?, introduction.pid);
    let records = reading::beginning_with(dir, &begins).ok()?;
    records
        .filter(|record| record.finished && !before.contains(&record.id))
        .max_by_key(|record| record.started)
}

/// The lines of the benchmark program. Launchers may write lines of their own between them.
fn read(text: &str) -> anyhow::Result<(BenchIntroduction, Vec<BenchSeries>)> {
    let mut introduction: BenchIntroduction = json_lines(text)
        .find_map(|line| serde_json::from_str(line).ok())
        .context("no line about the job")?;
    // "Open MPI v4.1.4, package: ...", "MPICH Version:      4.0.2"
    let version = introduction
        .library
        .split(", package")
        .next()
        .unwrap_or_default();
    introduction.library = version.split_whitespace().collect::<Vec<_>>().join(" ");
    let series: Vec<BenchSeries> = json_lines(text)
        .filter_map(|line| serde_json::from_str::<BenchSeries>(line).ok())
        .filter(|series| !series.seconds.is_empty())
        .collect();
    if series.is_empty() {
        bail!("no times")
    } else {
        Ok((introduction, series))
    }
}

fn json_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| line.starts_with('{'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn only_a_job_out_of_time_is_shown_the_limit() {
        assert!(failed_with(124).contains("--limit"));
        assert_eq!(
            failed_with(1),
            "the job ended with exit status: 1; its messages are above"
        );
    }

    fn failed_with(code: i32) -> String {
        failed(ExitStatus::from_raw(code << 8))
    }

    #[test]
    fn reads_the_benchmark_between_what_launchers_say() {
        let text = r#"Warning: eth0
{"library":"Open MPI  v4, package: x","pid":7,"hosts":["n0","n1"]}
{"collective":"alltoall","block":8,"seconds":[1e-3,2e-3]}
"#;
        let (introduction, series) = read(text).unwrap();
        assert_eq!(introduction.library, "Open MPI v4");
        let expected = BenchSeries {
            collective: "alltoall".to_owned(),
            block: Bytes(8),
            seconds: vec![1e-3, 2e-3],
            own: Vec::new(),
        };
        assert_eq!(
            (introduction.pid, introduction.hosts.len(), series),
            (7, 2, vec![expected])
        );
        assert!(read("").is_err());
    }

    /// Anybody may write to the folder of job records, under the name that a job's record will
    /// have.
    #[test]
    fn whatever_lies_beside_the_job_record_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let jobs = dir.path().join("jobs");
        fs::create_dir(&jobs).unwrap();
        let introduction = BenchIntroduction {
            library: String::new(),
            pid: 7,
            hosts: vec!["n0".to_owned()],
        };
        fs::write(dir.path().join("elsewhere"), record_json("n0-7-6-link", 90)).unwrap();
        symlink(dir.path().join("elsewhere"), jobs.join("n0-7-6-link.json")).unwrap();
        symlink("/dev/zero", jobs.join("n0-7-2-endless.json")).unwrap();
        File::create(jobs.join("n0-7-3-sparse.json"))
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        fs::write(
            jobs.join("n0-7-4-huge.json"),
            record_json("n0-7-4-huge", 80) + &" ".repeat(1 << 20),
        )
        .unwrap();
        mkfifo(&jobs.join("n0-7-5-pipe.json"), Mode::S_IRWXU).unwrap();
        fs::write(
            jobs.join("n0-7-8-unfinished.new"),
            record_json("n0-7-8-unfinished", 70),
        )
        .unwrap();
        let none = HashSet::new();
        assert!(find_record(dir.path(), &introduction, &none).is_none());
        fs::write(jobs.join("n0-7-1-a.json"), record_json("n0-7-1-a", 1)).unwrap();
        let found = find_record(dir.path(), &introduction, &none);
        assert_eq!(found.unwrap().id, "n0-7-1-a");
        let earlier = kept_records(dir.path());
        assert!(find_record(dir.path(), &introduction, &earlier).is_none());
    }

    fn record_json(id: &str, started: u64) -> String {
        format!(
            r#"{{"id":"{id}","program":"a","user":"u","started":{started},"updated":9,
                    "hosts":["n0"],"ranks":2,"mpi":"mpich","epoch":1,"epoch_since":1,
                    "finished":true,"calls":[]}}"#
        )
    }
}
