//! `heddle tune`
mod check;
mod job;
pub(crate) mod report;
mod trial;

use crate::flags::whole;
use crate::output::print;
use crate::{CommandOutcome, flags};
use anyhow::{Context, ensure};
use controller::history;
use controller::publish::KEEP;
use directory::epoch::{Epoch, VerifiedEpoch, WayEvidence};
use directory::publishing::{self, EpochStore, PublishError};
use directory::reading;
use drawing::tuning_page;
use forecast::calibration::CallCalibration;
use forecast::tuning::pairs::CallPairs;
use forecast::tuning::session::{LaunchedJob, TuningSession, contenders, promising};
use forecast::tuning::{self, algorithms};
use inventory::unreadable::UnreadableFile;
use inventory::{Bytes, Mpi, TopologyFile, Tree, counted};
use job::{ComparedCalls, JobLauncher};
use policy::decision_table::Way;
use policy::learned::LearnedFigures;
use policy::measurements::comparison::TunedComparison;
use policy::measurements::{TuningRun, TuningRuns};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Measure which way is fastest at which block size, for the next epoch
///
/// This launches the benchmark program with heddle's runtime several times. In each job the MPI
/// library's own routine and heddle's ways take turns, one row of calls each. Ways that are hopeless
/// by the predictions of heddle predict take no turns. The first launch has one row for each way and
/// size; a way that is clearly slower there at every size is left out of the others.
///
/// The table takes a way where it was faster by more than the noise, and was so again in a last
/// launch. In that launch the new table decides, and every other row of calls bypasses heddle. The
/// measurements are written to tuning.json in the shared directory, and the controller makes a new
/// epoch of them at once. If no controller runs, this command does.
///
/// Give the launcher of your jobs after "--", with its options and without a program, on as many
/// hosts as your jobs use:
///
///     heddle tune --dir /srv/heddle --mpi openmpi -- mpirun -n 24 --hostfile hosts
///
/// Where there are several networks, this measures the main one. With --network NAME give the launcher
/// the options with which the library sends there, too.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shared directory [default with --lab: the lab's]
    #[arg(long, value_name = "DIR", required_unless_present = "lab")]
    dir: Option<PathBuf>,
    /// Measure in this lab instead of on real hosts
    #[arg(long, value_name = "NAME", conflicts_with = "launcher")]
    lab: Option<String>,
    /// Ranks on each host of the lab
    #[arg(long, value_name = "K", default_value_t = 1, requires = "lab", value_parser = whole::<usize>(1..=1024))]
    per_host: usize,
    /// The MPI library
    #[arg(long, value_parser = flags::mpi())]
    mpi: Mpi,
    /// One of several networks, over which the library sends [default: the main one]
    #[arg(long, value_name = "NAME")]
    network: Option<String>,
    /// Block sizes in bytes, or with a unit as in 64k and 1M: what a rank sends to each other rank,
    /// or contributes to the allgather
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "1k,4k,16k,64k,256k,1M"
    )]
    size: Vec<Bytes>,
    /// The ways that take turns, besides the library's own routine [default: aapc with every
    /// synchronization that does not group phases into blocks, and ring, each over mpi and tcp; bundled; lg if the hosts are in several clusters]
    #[arg(long, value_name = "WAY,...", value_delimiter = ',')]
    ways: Vec<Way>,
    /// The number of launches of the job, the first one included if there are several
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2,
        value_parser = whole::<u32>(1..=100)
    )]
    launches: u32,
    /// The least number of rounds of all ways at each size in each launch but the first; there are
    /// more if --seconds leaves time
    #[arg(
        long,
        value_name = "N",
        default_value_t = 4,
        value_parser = whole::<u64>(3..=10_000)
    )]
    rounds: u64,
    /// The time for each collective and size in each launch, in seconds, if the rounds take less
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = flags::seconds)]
    seconds: f64,
    /// Measure each of the library's own algorithms, too, in launches of their own
    #[arg(long)]
    algorithms: bool,
    /// The time after which a launch is killed, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1800.0, value_parser = flags::seconds)]
    limit: f64,
    /// Write a report with plots of each way by size, too: one HTML file
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    report: Option<PathBuf>,
    /// Print the measurements and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Check the present decision table instead: no call may be more than 2 % slower than the
    /// library's own routine. The sizes are those of --size, those at which the table changes the
    /// way, and 8 bytes; every other row of calls bypasses heddle. Exit status 1: a call is slower
    #[arg(long, conflicts_with_all = ["dry_run", "algorithms", "ways"])]
    check: bool,
    /// The launcher of your jobs and its options
    #[arg(last = true, value_name = "LAUNCHER", required_unless_present = "lab")]
    launcher: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    let anywhere = JobLauncher::new(args)?;
    let dir = anywhere.dir().to_owned();
    let epoch = reading::current_epoch(&dir)?.with_context(|| {
        format!(
            "{}: no epoch published yet; run heddle controller or heddle publish first, because \
             heddle tune measures the schedules of the current epoch",
            dir.display()
        )
    })?;
    let network = network(args, &epoch, &dir)?;
    let launcher = anywhere.on_network(network.name.clone());
    if args.check {
        return check::run(args, &launcher, &epoch);
    }
    // Before hours of measuring, not after them.
    let report_file = args.report.as_deref().map(created).transpose()?;
    let directory = trial::TrialDirectory::new(&launcher)?;
    launcher.check_network()?;
    let tree = network.tree()?;
    let mut run = measure(args, &launcher, epoch.number, &network, &tree)?;
    run.trials = directory.trials(&launcher, &epoch, &run, args.rounds)?;
    let table = tuning::table(&TuningRuns::default().with(run.clone()), &tree);
    let tuning = reading::measurements(&dir).unwrap_or_default().with(run);
    let run = tuning.runs.last().context("the run just added")?;
    print(&report::text(run, &table))?;
    if let Some((path, mut file)) = report_file {
        let page = tuning_page::html(run, &table, &history::moment(run.at));
        file.write_all(page.as_bytes())
            .map_err(|cause| UnreadableFile::new(path, cause))?;
    }
    if args.dry_run {
        return Ok(CommandOutcome::Done);
    }
    publishing::write_measurements(&dir, &tuning)?;
    tell!("{}", next_epoch(&dir, tuning)?);
    Ok(CommandOutcome::Done)
}

/// The network of this name, or the main one.
fn network(args: &Args, epoch: &Epoch, dir: &Path) -> anyhow::Result<TopologyFile> {
    let all = TopologyFile::clone(&epoch.topology);
    match &args.network {
        Some(name) => all.in_network(name).with_context(|| {
            format!(
                "--network {name}: {}, epoch {}; nothing was measured",
                dir.display(),
                epoch.number
            )
        }),
        None => Ok(all.alone()),
    }
}

/// The file of the report, still empty.
fn created(path: &Path) -> anyhow::Result<(&Path, File)> {
    Ok((
        path,
        File::create(path).with_context(|| {
            format!(
                "--report {}: cannot be written; nothing was measured",
                path.display()
            )
        })?,
    ))
}

/// All launches. The kinds of launches alternate, so that other load of the hosts affects all of
/// them.
fn measure(
    args: &Args,
    launcher: &JobLauncher,
    epoch: u64,
    network: &TopologyFile,
    tree: &Tree,
) -> anyhow::Result<TuningRun> {
    let mut ways = contenders(&args.ways, network)?;
    if args.ways.is_empty() {
        let all = ways.clone();
        let calibration = CallCalibration::shipped();
        ways = promising(calibration, tree, args.mpi, &args.size, ways);
        let left: Vec<Way> = all.into_iter().filter(|way| !ways.contains(way)).collect();
        tell_left("hopeless by the predictions of heddle predict", &left);
    }
    let mut session = TuningSession::new(tree, epoch, ways);
    for launch in 1..=args.launches {
        tell!(
            "launch {launch} of {}: {} in turn",
            args.launches,
            counted(session.turns().len(), "way")
        );
        let is_first = launch == 1 && args.launches > 1;
        let output = launcher.run_in_turns(session.turns(), is_first)?;
        session.launched(LaunchedJob {
            library: &output.library,
            hosts: &output.hosts,
            epoch: output.epoch,
            gone: &output.gone,
        })?;
        for series in &output.series {
            match job::collective(&series.collective) {
                Some(collective) => session.add(collective, series.block, &series.seconds),
                None => session.add_pings(series.block, &series.seconds),
            }
        }
        if args.algorithms {
            force(args, launcher, launch, &mut session)?;
        }
        if launch < args.launches {
            tell_left("slower than others at every size", &session.narrow());
        }
    }
    for way in session.not_gone() {
        tell!(
            "{way}: no call can go this way here, so the table leaves it out{}",
            way.row().needs(*way)
        );
    }
    let run = session.finish(agent::now(), args.mpi)?;
    let network = network.name.clone();
    Ok(TuningRun { network, ..run })
}

/// Says which ways take no more turns, and why.
fn tell_left(why: &str, left: &[Way]) {
    if !left.is_empty() {
        let names: Vec<String> = left.iter().map(Way::to_string).collect();
        tell!("left out, {why}: {}", names.join(", "));
    }
}

/// Launches in which the library is forced to one of its own algorithms.
fn force(
    args: &Args,
    launcher: &JobLauncher,
    launch: u32,
    session: &mut TuningSession<'_>,
) -> anyhow::Result<()> {
    for algorithms in algorithms::offered_by(args.mpi) {
        tell!(
            "launch {launch} of {}: the library's {}",
            args.launches,
            algorithms.names()
        );
        for series in launcher.forced(algorithms)? {
            if let Some(collective) = job::collective(&series.collective) {
                session.add_forced(algorithms, collective, series.block, &series.seconds);
            }
        }
    }
    Ok(())
}

/// Launches jobs that follow a shared directory, in which every other row of calls bypasses the
/// runtime. Gives a line about the jobs, and their calls' times against the library's own at each
/// size.
fn compare(
    launcher: &JobLauncher,
    dir: &Path,
    epoch: u64,
    launches: u32,
    calls: &ComparedCalls<'_>,
) -> anyhow::Result<(String, Vec<TunedComparison>)> {
    let mut pairs = CallPairs::default();
    let mut heading = String::new();
    for launch in 1..=launches {
        tell!("launch {launch} of {launches}: every other row of calls bypasses heddle");
        let output = launcher.compare(dir, calls)?;
        ensure!(
            output.epoch == epoch,
            "epoch {} was published while epoch {epoch} was checked; run this again",
            output.epoch
        );
        for series in &output.series {
            if let Some(collective) = job::collective(&series.collective) {
                pairs.add(collective, series.block, &series.own, &series.seconds);
            }
        }
        heading = format!(
            "{}, {}, epoch {}",
            output.library,
            counted(output.hosts.len(), "rank"),
            output.epoch
        );
    }
    Ok((heading, pairs.compared()))
}

/// Measurements alone.
fn measured(tuning: TuningRuns) -> WayEvidence {
    WayEvidence::new(tuning, LearnedFigures::default(), tuning::table)
}

/// Makes an epoch of the measurements, or leaves that to a running controller. Gives a line that
/// says which.
fn next_epoch(dir: &Path, tuning: TuningRuns) -> anyhow::Result<String> {
    let store = match EpochStore::open(dir, KEEP) {
        Err(PublishError::Locked { holder, .. }) => {
            return Ok(format!(
                "{holder}, and makes the next epoch of the measurements"
            ));
        }
        store => store?,
    };
    let current = reading::current_epoch(dir)?.context("the epoch that was measured")?;
    let verified = VerifiedEpoch::plan(
        store.next()?,
        agent::now(),
        current.topology,
        current.network,
        measured(tuning),
    )?;
    let pointer = store.publish(&verified)?;
    Ok(format!(
        "epoch {} published with this table; running jobs take it up",
        pointer.number
    ))
}
