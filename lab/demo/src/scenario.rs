//! The scenario: discover, plan, run, recable, follow. Each step is checked.
use super::cluster::{BenchProgram, DemoCluster, JobRoutines};
use super::gain::JobPace;
use super::narration::{print_fact, print_line, step};
use anyhow::{Context, ensure};
use api::{EpochInfo, JobStatus, Snapshot};
use directory::reading::current_epoch;
use inventory::topology::{LinkState, NodeKind};
use inventory::topology_file::TopologyCable;
use inventory::{Mpi, Topology, TopologyFile, counted};
use policy::decision_table::Way;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
/// Calls of each collective from which on a pace is printed.
const CALLS: u64 = 8;
/// The job ends after this time, if nothing else ends it before.
const LONGEST_JOB: Duration = Duration::from_secs(300);

/// On a terminal: everything runs behind the terminal interface, until the user quits. Then both
/// jobs stand side by side once more.
pub(crate) fn watch(cluster: &mut DemoCluster) -> anyhow::Result<()> {
    first_epoch(cluster)?;
    let own = without_heddle(cluster)?;
    step("start the same job with heddle, nothing forced; it runs until you quit");
    let lines = cluster.start_job(JobRoutines::AsInstalled, Duration::from_secs(3600))?;
    let next = match spine_to_drain(&cluster.file) {
        Some(_) => "M drains a spine and puts it back",
        None => "M moves a cable",
    };
    print_line(&format!(
        "  next: the terminal interface, with both jobs in panel 3. {next}, ? lists the keys, q \
         quits and takes everything down"
    ));
    std::thread::sleep(Duration::from_secs(2));
    cluster.watch()?;
    drop(lines);
    // After quitting at once there are no calls, and so no figures.
    if let Ok(pace) = cluster.wait("calls", Duration::from_secs(1), |s| running_pace(s, 1)) {
        print_gain(
            "all calls counted, also while cables were moved",
            &pace,
            &own,
        );
    }
    Ok(())
}

/// Without a terminal: the same scenario as text, with every step checked.
pub(crate) fn tell(cluster: &mut DemoCluster) -> anyhow::Result<()> {
    let first = first_epoch(cluster)?;
    let own = without_heddle(cluster)?;
    step("run the same job with heddle, nothing forced, every byte checked");
    let lines = cluster.start_job(JobRoutines::AsInstalled, LONGEST_JOB)?;
    let job = cluster.wait("the job to follow the epoch", PATIENCE, |s| {
        following(s, first.number).cloned()
    })?;
    print_fact(&format!(
        "job {} on {} follows epoch {}: {}",
        job.record.program,
        counted(job.record.ranks, "rank"),
        job.record.epoch,
        ways(&job)
    ));
    let line = lines
        .recv_timeout(PATIENCE)
        .context("the job printed nothing")?;
    print_fact(&format!("it prints: {line}"));
    let pace = cluster.wait("calls with heddle", PATIENCE, |s| running_pace(s, CALLS))?;
    match spine_to_drain(&cluster.file) {
        Some(spine) => {
            let second = drain(cluster, first.number, &spine)?;
            taken_up(cluster, &job.record.id, second)?;
            put_back(cluster, second, &spine)?;
        }
        None => {
            let second = move_cable(cluster, first.number)?;
            taken_up(cluster, &job.record.id, second)?;
        }
    }
    step("the job ends and found every byte right");
    cluster.end_job(Duration::from_secs(120))?;
    print_last(lines.try_iter());
    print_gain("on the same cables, all calls counted", &pace, &own);
    Ok(())
}

/// Runs the job with the library's own routines, and tells how long its calls take.
fn without_heddle(cluster: &mut DemoCluster) -> anyhow::Result<JobPace> {
    step("run a job with the MPI library's own routines: all-to-all and allgather on all hosts");
    let lines = cluster.start_job(JobRoutines::OfTheLibrary, LONGEST_JOB)?;
    let pace = cluster.wait("calls without heddle", PATIENCE, |s| running_pace(s, CALLS))?;
    cluster.end_job(Duration::from_secs(120))?;
    print_last(lines.try_iter());
    Ok(pace)
}

/// Prints the last line of each collective.
fn print_last(lines: impl IntoIterator<Item = String>) {
    last_of_each(lines).iter().for_each(|line| print_fact(line));
}

/// The last line of each collective, which a line begins with.
fn last_of_each(lines: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut last: Vec<String> = Vec::new();
    for line in lines {
        match last.iter_mut().find(|l| collective(l) == collective(&line)) {
            Some(earlier) => *earlier = line,
            None => last.push(line),
        }
    }
    last
}

fn collective(line: &str) -> Option<String> {
    line.split(' ').next().map(str::to_owned)
}

/// The pace of the running job.
fn running_pace(snapshot: &Snapshot, least: u64) -> Option<JobPace> {
    let mut running = snapshot.jobs.iter().filter(|job| job.running);
    running.find_map(|job| JobPace::measured(job, least))
}

fn print_gain(counted: &str, pace: &JobPace, own: &JobPace) {
    step(&format!(
        "the same job without heddle and with it, {counted}"
    ));
    pace.against(own).iter().for_each(|line| print_fact(line));
}

/// Moves a host's cable while the job runs, and waits for the epoch that follows. Gives its number.
fn move_cable(cluster: &mut DemoCluster, first: u64) -> anyhow::Result<u64> {
    let (host, target) =
        cable_to_move(&cluster.file).context("the topology has no host that could move")?;
    step(&format!(
        "move the cable of {host} to {target} while the job runs"
    ));
    cluster.lab.move_host(&host, &target)?;
    let second = epoch_after(cluster, first, "the moved cable", |topology| {
        let host = topology.hosts.get(&host);
        host.is_some_and(|h| h.switch == target)
    })?;
    check_move(cluster, &host, &target)?;
    Ok(second)
}

/// Waits for the next epoch with a topology that fits, and prints its changes. Gives its number.
fn epoch_after(
    cluster: &mut DemoCluster,
    before: u64,
    with: &str,
    fits: impl Fn(&TopologyFile) -> bool,
) -> anyhow::Result<u64> {
    let shared = cluster.lab.shared_dir();
    let found = cluster.wait(&format!("an epoch with {with}"), PATIENCE, |s| {
        let current = current_epoch(&shared).ok().flatten()?;
        let is_it = current.number > before && fits(&current.topology);
        let mut epochs = s.epochs.iter();
        epochs
            .find(|e| is_it && e.number == current.number)
            .cloned()
    })?;
    found.changes.iter().for_each(|change| print_fact(change));
    Ok(found.number)
}

/// A spine beside others, and the leaves that it joins.
struct DrainedSpine {
    name: String,
    leaves: Vec<String>,
}

impl DrainedSpine {
    fn ways(&self, topology: &TopologyFile) -> usize {
        let links = topology.links.iter();
        links
            .filter(|l| l.a == self.name || l.b == self.name)
            .count()
    }
}

/// The first of several routers to which flows spread.
fn spine_to_drain(file: &TopologyFile) -> Option<DrainedSpine> {
    let mut spines = file
        .routers
        .iter()
        .filter(|name| multipath_cables(file).any(|l| l.a == **name || l.b == **name));
    let name = spines.next().filter(|_| spines.next().is_some())?.clone();
    let leaves = multipath_cables(file)
        .filter_map(|l| match (l.a == name, l.b == name) {
            (true, _) => Some(l.b.clone()),
            (_, true) => Some(l.a.clone()),
            _ => None,
        })
        .collect();
    Some(DrainedSpine { name, leaves })
}

fn multipath_cables(file: &TopologyFile) -> impl Iterator<Item = &TopologyCable> {
    (file.links.iter()).filter(|l| l.state == Some(LinkState::Multipath))
}

/// Takes a spine out while the job runs, and waits for the epoch that follows. Gives its number.
fn drain(cluster: &mut DemoCluster, first: u64, spine: &DrainedSpine) -> anyhow::Result<u64> {
    step(&format!("drain {} while the job runs", spine.name));
    for leaf in &spine.leaves {
        cluster.lab.cut(leaf, &spine.name)?;
    }
    epoch_after(cluster, first, "the other spines only", |topology| {
        spine.ways(topology) == 0
    })
}

/// Puts it back.
fn put_back(cluster: &mut DemoCluster, before: u64, spine: &DrainedSpine) -> anyhow::Result<()> {
    step(&format!("put {} back", spine.name));
    for leaf in &spine.leaves {
        cluster.lab.join(leaf, &spine.name, None)?;
    }
    let all = spine.leaves.len();
    epoch_after(cluster, before, "all spines", |topology| {
        spine.ways(topology) == all
    })?;
    Ok(())
}

/// Waits until the running job follows this epoch, and shows the stages in between.
fn taken_up(cluster: &mut DemoCluster, job: &str, epoch: u64) -> anyhow::Result<()> {
    step("the running job takes the new epoch up, without a restart");
    let follows = cluster.wait("the running job to take up the new epoch", PATIENCE, |s| {
        following(s, epoch).filter(|j| j.record.id == job).cloned()
    })?;
    print_fact(&format!(
        "the same job, {}, now follows epoch {}: {}",
        follows.record.id,
        follows.record.epoch,
        ways(&follows)
    ));
    let stages = cluster.wait("the stage times", PATIENCE, |s| {
        s.epochs
            .iter()
            .find(|e| e.number == epoch)
            .filter(|e| e.stages.taken_up.is_some())
            .cloned()
    })?;
    print_fact(&timeline(&stages));
    Ok(())
}

pub(crate) fn end(cluster: &mut DemoCluster) -> anyhow::Result<()> {
    step("take everything down");
    cluster.down()?;
    ensure!(
        !cluster.lab.dir().exists(),
        "{} is left behind",
        cluster.lab.dir().display()
    );
    print_fact("nothing is left behind");
    print_line(
        "\nheddle demo: every step checked. On a terminal, `heddle demo` opens the interface on \
         the same cluster.",
    );
    Ok(())
}

/// Brings the cluster up.
pub(crate) fn begin(
    name: &str,
    file: TopologyFile,
    mpi: Mpi,
    bench: BenchProgram,
) -> anyhow::Result<DemoCluster> {
    let beside = match file.networks.len() {
        0 => String::new(),
        further => format!("; {} beside it", counted(further, "further network")),
    };
    let routers = match file.routers.len() {
        0 => String::new(),
        routers => format!(", {}", counted(routers, "router")),
    };
    step(&format!(
        "emulate {}{routers}, {} between them, {}{beside}; snmpd and lldpd on each switch",
        counted(file.switches.len(), "switch"),
        counted(file.links.len(), "cable"),
        counted(file.hosts.len(), "host")
    ));
    let start = Instant::now();
    let cluster = DemoCluster::up(name, file, mpi, bench)?;
    print_fact(&format!(
        "up in {:.1} s; STP has converged",
        start.elapsed().as_secs_f64()
    ));
    Ok(cluster)
}

/// Starts the controller and waits for epoch 1 with the whole tree.
fn first_epoch(cluster: &mut DemoCluster) -> anyhow::Result<EpochInfo> {
    let file = cluster.file.clone();
    step(
        "start the controller; it knows the switches' management addresses, a community, and the \
         hosts' names and addresses",
    );
    cluster.start_controller()?;
    let mut differs = None;
    let shared = cluster.lab.shared_dir();
    let whole = cluster.wait("an epoch with every cable and host", PATIENCE, |s| {
        let epoch = s
            .epochs
            .last()
            .filter(|epoch| epoch.hosts as usize == file.hosts.len())?;
        let published = current_epoch(&shared).ok().flatten()?.topology;
        if published.networks.len() < file.networks.len() {
            return None;
        }
        differs = check_tree(&file, &s.topology).err();
        differs
            .is_none()
            .then(|| (epoch.clone(), s.topology.clone()))
    });
    let (epoch, found) = match (whole, differs) {
        (Err(error), Some(differs)) => return Err(error.context(differs)),
        (whole, _) => whole?,
    };
    for line in cabling::export::tree(&found).lines() {
        print_line(&format!("    {line}"));
    }
    let (from, to) = &epoch.bottleneck;
    print_fact(&format!(
        "epoch {}: {}, {}, as many as the cable {from}-{to} needs",
        epoch.number,
        counted(epoch.hosts, "host"),
        counted(epoch.phases, "phase")
    ));
    for network in found.networks.iter().skip(1) {
        print_fact(&format!(
            "network {}, on which the switches answer: {} on {}, with schedules of its own",
            network.name,
            counted(network.hosts.len(), "host"),
            counted(network.switches.len(), "switch")
        ));
    }
    Ok(epoch)
}

/// Checks that the controller found every cable of the file and no other, in the state that STP
/// must give it.
fn check_tree(file: &TopologyFile, found: &Topology) -> anyhow::Result<()> {
    let mut expected: BTreeSet<_> = file
        .links
        .iter()
        .map(|l| ends_and_state(&l.a, &l.b, l.state == Some(LinkState::Blocked)))
        .collect();
    expected.extend(
        file.hosts
            .iter()
            .map(|(name, h)| ends_and_state(name, &h.switch, false)),
    );
    let seen: BTreeSet<_> = found
        .links
        .iter()
        .map(|l| ends_and_state(&l.a, &l.b, l.state == LinkState::Blocked))
        .collect();
    ensure!(
        seen == expected,
        "the network found differs from the cables laid: found {seen:?}, laid {expected:?}"
    );
    let hosts = found
        .nodes
        .iter()
        .filter(|n| n.kind == NodeKind::Host)
        .count();
    ensure!(
        hosts == file.hosts.len(),
        "{} found, {} laid",
        counted(hosts, "host"),
        file.hosts.len()
    );
    Ok(())
}

fn ends_and_state(a: &str, b: &str, blocked: bool) -> (String, String, bool) {
    (a.min(b).to_owned(), a.max(b).to_owned(), blocked)
}

fn check_move(cluster: &mut DemoCluster, host: &str, target: &str) -> anyhow::Result<()> {
    cluster.wait("the host on its new switch", PATIENCE, |s| {
        let mut of_host = s
            .topology
            .links
            .iter()
            .filter(|l| l.b == host || l.a == host);
        let only = of_host.next().filter(|_| of_host.next().is_none());
        only.filter(|l| l.a == target || l.b == target).map(drop)
    })
}

/// The last host, and the first switch that it is not on.
fn cable_to_move(file: &TopologyFile) -> Option<(String, String)> {
    let (name, host) = file.hosts.last()?;
    let target = file.switches.iter().find(|s| **s != host.switch)?;
    Some((name.clone(), target.clone()))
}

/// The running job that follows this epoch or a later one, and has made planned calls.
fn following(snapshot: &Snapshot, epoch: u64) -> Option<&JobStatus> {
    snapshot.jobs.iter().find(|job| {
        job.running && job.record.epoch >= epoch && {
            let mut calls = job.record.calls.iter();
            calls.any(|call| call.way != Way::Native.into())
        }
    })
}

fn ways(job: &JobStatus) -> String {
    job.record
        .calls
        .iter()
        .map(|c| {
            format!(
                "{} by {} ({} of {} B)",
                c.collective,
                c.way,
                counted(c.calls, "call"),
                c.block
            )
        })
        .collect::<Vec<_>>()
        .join(", ")
}

/// The stages in the order in which they came.
fn timeline(epoch: &EpochInfo) -> String {
    let s = &epoch.stages;
    let named = [
        ("believed", s.believed),
        ("inferred", s.inferred),
        ("planned", s.planned),
        ("published", s.published),
        ("taken up", s.taken_up),
    ];
    let mut stages: Vec<(Duration, &str)> = named
        .iter()
        .filter_map(|(name, after)| after.map(|after| (after, *name)))
        .collect();
    stages.sort();
    let shown: Vec<String> = stages
        .iter()
        .map(|(after, name)| format!("{name} +{} ms", after.as_millis()))
        .collect();
    format!("change seen, {}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::last_of_each;

    #[test]
    fn each_collective_has_its_last_line() {
        let lines = [
            "alltoall 1 ms",
            "allgather 2 ms",
            "alltoall 3 ms",
            "allgather 4 ms",
        ];
        let last = last_of_each(lines.map(str::to_owned));
        assert_eq!(last, ["alltoall 3 ms", "allgather 4 ms"]);
    }
}
