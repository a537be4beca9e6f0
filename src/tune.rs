//! `heddle tune`
mod algorithms;
mod check;
mod job;
mod pairs;
pub(crate) mod report;
mod trial;

use crate::Outcome;
use crate::output::print;
use anyhow::{Context, bail, ensure};
use controller::publish::KEEP;
use directory::epoch::{Epoch, Verified};
use directory::publishing::{self, PublishError, Store};
use directory::reading;
use inventory::Bytes;
use job::Launcher;
use lab::mpi::Mpi;
use schedules::lg::Clusters;
use schedules::sync::scheme::Scheme;
use schedules::table::{Carrier, Collective, Way};
use schedules::tuning::{Algorithm, Calls, Place, Run, Timing, Tuning, halving};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Phases a block of the synchronizations that take one (aapc-2007, Table 5), as far as there are more phases.
const BLOCKS: [u32; 2] = [4, 16];
const NO_TCP: &str = ": hosts need addresses in the inventory or topology, and must reach each other there";
const NO_CLUSTERS: &str = ": each host needs a cluster in the inventory or topology, and the job hosts of two";

/// Measures on the real hosts which way is fastest at which size, and has the next epoch's decision table made of it.
///
/// Launches the benchmark program with heddle's runtime, several times; in each job the MPI library's own routine and every way of heddle's
/// take turns, row by row of calls; after each launch the slower half of the ways is left out, but none that is the fastest at some size. Launches
/// in which the library is forced to one of its own algorithms come between, for comparison. A way is taken where it was faster by more than
/// the noise, and was so again in a last launch, in which the new table decides and every other row of calls goes past heddle. The figures go into the shared directory as tuning.json, from which the controller makes a new
/// epoch at once; where none runs, this does.
///
/// Give the launcher of your jobs after "--", with its options and without a program, on as many hosts as your jobs use:
///
///     heddle tune --dir /shared/heddle --mpi openmpi -- mpirun -n 24 --hostfile hosts
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shared directory [in a lab: its own]
    #[arg(long, value_name = "DIR", required_unless_present = "lab")]
    dir: Option<PathBuf>,
    /// In this lab
    #[arg(long, value_name = "NAME", conflicts_with = "launcher")]
    lab: Option<String>,
    /// Ranks on each host of the lab
    #[arg(long, value_name = "K", default_value_t = 1, requires = "lab")]
    per_host: usize,
    /// Which MPI library
    #[arg(long, value_enum)]
    mpi: Library,
    /// Block sizes, also like 64k or 1M: what a rank sends to each other one, or contributes to the allgather
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1k,4k,16k,64k,256k,1M")]
    size: Vec<Bytes>,
    /// Ways that take turns; the library's own is always among them [default: aapc with every
    /// synchronization, for the tokens and barriers also between blocks of 4 and 16 phases or within them, and ring, all of them over mpi and
    /// tcp; bundled; and lg where the hosts are in several clusters]
    #[arg(long, value_name = "WAY,...", value_delimiter = ',')]
    ways: Vec<Way>,
    /// How often the job is launched
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    launches: u32,
    /// Rounds of all ways at each size in each launch, at least; more while the time below is not over
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(3..=10_000))]
    rounds: u64,
    /// Time for each collective and size in each launch, if the rounds take less
    #[arg(long, value_name = "S", default_value_t = 5.0, value_parser = positive)]
    seconds: f64,
    /// Leave out the launches in which the library is forced to one of its algorithms
    #[arg(long)]
    no_algorithms: bool,
    /// A launch that takes longer is killed
    #[arg(long, value_name = "S", default_value_t = 1800.0, value_parser = positive)]
    limit: f64,
    /// Print what was measured and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Measure nothing new: check that no call as it is decided now is more than 2 % slower than the library's own, at the sizes above, those
    /// from which the decision table goes another way, and 8 bytes. Every other row of calls goes past heddle; exit status 1 if one is slower
    #[arg(long, conflicts_with_all = ["dry_run", "no_algorithms", "ways"])]
    check: bool,
    /// The launcher and its options
    #[arg(last = true, value_name = "LAUNCHER", required_unless_present = "lab")]
    launcher: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Library {
    Openmpi,
    Mpich,
}

impl Library {
    fn both(self) -> (Mpi, schedules::table::Mpi) {
        match self {
            Library::Openmpi => (Mpi::OpenMpi, schedules::table::Mpi::OpenMpi),
            Library::Mpich => (Mpi::Mpich, schedules::table::Mpi::Mpich),
        }
    }
}

fn positive(text: &str) -> Result<f64, String> {
    let wrong = || format!("\"{text}\": expected a number of seconds above zero");
    text.parse().ok().filter(|s: &f64| s.is_finite() && *s > 0.0).ok_or_else(wrong)
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let launcher = Launcher::new(args)?;
    let dir = launcher.dir().to_owned();
    let epoch = reading::current_epoch(&dir)?.with_context(|| {
        format!(
            "{}: no epoch published yet; run heddle controller or heddle publish first, as its schedules are what is measured",
            dir.display()
        )
    })?;
    if args.check {
        return check::run(args, &launcher, &epoch);
    }
    let directory = trial::Directory::new(&launcher)?;
    let mut run = measure(args, &launcher, &epoch)?;
    run.trials = directory.of(&launcher, &epoch, &run, args.rounds)?;
    let tree = epoch.topology.tree()?;
    let tuning = reading::measurements(&dir).unwrap_or_default().with(run);
    let run = tuning.runs.last().context("the run just added")?;
    print(&report::text(run, &tuning.table(&tree)))?;
    if args.dry_run {
        return Ok(Outcome::Done);
    }
    publishing::put_measurements(&dir, &tuning)?;
    eprintln!("{}", next_epoch(&dir, tuning)?);
    Ok(Outcome::Done)
}

/// The library's own, and those asked for.
fn ways(asked: &[Way], epoch: &Epoch) -> anyhow::Result<Vec<Way>> {
    let mut ways = vec![Way::Native];
    if asked.is_empty() {
        let blocks: Vec<u32> = BLOCKS.into_iter().filter(|&block| u64::from(block) < epoch.bound.phases).collect();
        let schemes = Scheme::table_5(&blocks).into_iter();
        let aapc = schemes.flat_map(|sync| [Carrier::Mpi, Carrier::Tcp].map(|over| Way::Aapc { sync, over }));
        ways.extend(aapc.filter(|way| way.serves(Collective::Alltoall)));
        ways.extend([Way::Bundled, Way::Ring { over: Carrier::Mpi }, Way::Ring { over: Carrier::Tcp }]);
        let clusters = Clusters::of(&epoch.topology.tree()?, &epoch.topology);
        ways.extend(clusters.is_ok_and(|clusters| clusters.list().len() > 1).then_some(Way::Lg));
    }
    ways.extend(asked.iter().filter(|way| **way != Way::Native));
    Ok(ways)
}

/// All launches, one kind after the other, again and again: what else the hosts do falls on all of them.
fn measure(args: &Args, launcher: &Launcher, epoch: &Epoch) -> anyhow::Result<Run> {
    let mut ways = ways(&args.ways, epoch)?;
    let mut calls = Calls::default();
    let mut pings: BTreeMap<Bytes, Vec<f64>> = BTreeMap::new();
    let mut forced: BTreeMap<(Collective, &str, Bytes), Vec<f64>> = BTreeMap::new();
    let mut place: Option<(String, Place)> = None;
    let mut not_gone: Vec<Way> = Vec::new();
    for launch in 1..=args.launches {
        eprintln!("launch {launch} of {}: {} ways in turn", args.launches, ways.len());
        let said = launcher.turns(&ways)?;
        ensure!(said.epoch == epoch.number, "epoch {} came while epoch {} was measured; run heddle tune again", said.epoch, epoch.number);
        let here = Place::of(&epoch.topology.tree()?, &said.hosts)?;
        match &place {
            Some((_, first)) if *first != here => {
                bail!("launch {launch} ran on other hosts than the first one; give the launcher a fixed list of hosts")
            }
            _ => place = Some((said.library.clone(), here)),
        }
        let new: Vec<Way> = ways.iter().copied().filter(|way| !said.gone.contains(way) && !not_gone.contains(way)).collect();
        not_gone.extend(new);
        let turns = |collective: Collective| -> Vec<Way> { ways.iter().copied().filter(|way| way.serves(collective)).collect() };
        for series in &said.series {
            match job::collective(&series.collective) {
                Some(collective) => calls.add(collective, series.block, &turns(collective), &series.seconds),
                None => pings.entry(series.block).or_default().extend(&series.seconds),
            }
        }
        if !args.no_algorithms {
            for algorithms in algorithms::of(args.mpi.both().1) {
                eprintln!("launch {launch} of {}: the library's {}", args.launches, algorithms.names());
                for series in launcher.forced(algorithms)?.series {
                    if let Some(collective) = job::collective(&series.collective) {
                        let name = algorithms.name(collective);
                        forced.entry((collective, name, series.block)).or_default().extend(&series.seconds[1..]);
                    }
                }
            }
        }
        if launch < args.launches {
            ways.retain(|way| !not_gone.contains(way));
            ways = halving::kept(&calls.figures(), &ways);
        }
    }
    let (library, place) = place.context("at least one launch")?;
    for way in &not_gone {
        eprintln!(
            "{way}: cannot be gone here, so the table leaves it out{}",
            match (way, way.carrier()) {
                (Way::Lg, _) => NO_CLUSTERS,
                (_, Some(Carrier::Tcp)) => NO_TCP,
                _ => "",
            }
        );
    }
    let gone = calls.figures().into_iter().filter(|figure| !not_gone.contains(&figure.way));
    let (figures, early) = gone.partition(|figure| ways.contains(&figure.way));
    Ok(Run {
        at: agent::now(),
        mpi: args.mpi.both().1,
        library,
        epoch: epoch.number,
        place,
        pingpong: pings.iter().filter_map(|(&block, seconds)| Timing::of(block, seconds)).collect(),
        figures,
        early,
        trials: Vec::new(),
        algorithms: forced
            .into_iter()
            .filter_map(|((collective, name, block), seconds)| {
                Some(Algorithm { collective, name: name.to_owned(), timing: Timing::of(block, &seconds)? })
            })
            .collect(),
    })
}

/// Has an epoch made of the measurements, and says by whom.
fn next_epoch(dir: &Path, tuning: Tuning) -> anyhow::Result<String> {
    let store = match Store::open(dir, KEEP) {
        Err(PublishError::Locked { holder, .. }) => return Ok(format!("{holder}, and makes the next epoch of it")),
        store => store?,
    };
    let current = reading::current_epoch(dir)?.context("the epoch that was measured")?;
    let verified = Verified::plan(store.next()?, agent::now(), current.topology, current.network, tuning)?;
    let pointer = store.publish(&verified)?;
    Ok(format!("epoch {} published with this table; running jobs take it up", pointer.number))
}
