//! Time and memory of planning against the number of hosts: `cargo run --release --bin scaling --
//! DIR` writes `scaling.svg` and a part of `figures.md` in DIR. Each plan is made in a separate process, so
//! that the memory is measured separately, too.
use drawing::chart::{self, AxisLabel, AxisScale, AxisUnit, ChartLine, ChartPanel, ChartPoint};
use experiments::figures as document;
use samples::networks;
use schedules::alltoall::{AlltoallAlgorithm, plan_as};
use schedules::synchronization::{SyncKind, SyncReduction};
use schedules::{allgather, verify};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

type AnyError = Box<dyn std::error::Error>;

const HOSTS: [usize; 7] = [64, 128, 256, 512, 1024, 2048, 4096];
/// The number of hosts on a switch.
const ON_A_SWITCH: usize = 32;
/// Minimal synchronizations grow with the third power of the hosts, so larger clusters are not
/// measured.
const MOST_MINIMAL: usize = 1024;
/// Time for the runs of a median, in seconds: as many runs as fit, one to nine.
const PATIENCE: f64 = 3.0;

#[derive(Clone, Copy, PartialEq)]
enum PlanningCase {
    Chain,
    Minimal,
    Capacities,
    Ring,
}

const CASES: [(PlanningCase, &str); 4] = [
    (PlanningCase::Chain, "AAPC, chain"),
    (PlanningCase::Minimal, "AAPC, minimal"),
    (PlanningCase::Capacities, "capacities, chain"),
    (PlanningCase::Ring, "ring, LR3"),
];

/// Medians of one case at one size.
struct PlanningFigures {
    planned: f64,
    verified: f64,
    /// MiB of the process after it had planned once.
    memory: f64,
}

fn main() -> Result<(), AnyError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [directory] => draw(Path::new(directory)),
        [case, hosts] => {
            let case = CASES.get(case.parse::<usize>()?).ok_or("no such case")?.0;
            let PlanningFigures {
                planned,
                verified,
                memory,
            } = measured(case, hosts.parse()?)?;
            println!("{planned} {verified} {memory}");
            Ok(())
        }
        _ => Err("usage: scaling DIR | scaling CASE HOSTS".into()),
    }
}

fn measured(case: PlanningCase, hosts: usize) -> Result<PlanningFigures, AnyError> {
    let trunk = if case == PlanningCase::Capacities {
        "10G"
    } else {
        "1G"
    };
    let tree = networks::two_levels(hosts / ON_A_SWITCH, ON_A_SWITCH, trunk).tree()?;
    let alltoall = |algorithm, reduction| {
        let plan = || plan_as(&tree, algorithm, SyncKind::Receiver, reduction);
        figures(plan, |plan| verify::alltoall(&tree, plan))
    };
    match case {
        PlanningCase::Chain => alltoall(AlltoallAlgorithm::Aapc, SyncReduction::Chain),
        PlanningCase::Minimal => alltoall(AlltoallAlgorithm::Aapc, SyncReduction::Minimal),
        PlanningCase::Capacities => alltoall(AlltoallAlgorithm::Capacity, SyncReduction::Chain),
        PlanningCase::Ring => figures(
            || allgather::plan(&tree),
            |ring| verify::allgather(&tree, ring),
        ),
    }
}

fn figures<Plan>(
    plan: impl Fn() -> Plan,
    check: impl Fn(&Plan) -> Result<(), verify::ScheduleViolation>,
) -> Result<PlanningFigures, AnyError> {
    let made = plan();
    let memory = peak()?;
    check(&made)?;
    let verified = median(|| check(&made).is_ok());
    drop(made);
    Ok(PlanningFigures {
        planned: median(&plan),
        verified,
        memory,
    })
}

/// The median time of a run, in seconds.
fn median<T>(run: impl Fn() -> T) -> f64 {
    let mut seconds: Vec<f64> = Vec::new();
    while seconds.is_empty() || seconds.len() < 9 && seconds.iter().sum::<f64>() < PATIENCE {
        let start = Instant::now();
        let result = run();
        seconds.push(start.elapsed().as_secs_f64());
        drop(result);
    }
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// The largest resident memory of this process so far, in MiB.
fn peak() -> Result<f64, AnyError> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .ok_or("the kernel does not tell VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1024.0)
}

fn draw(directory: &Path) -> Result<(), AnyError> {
    let mut rows: Vec<Vec<Option<PlanningFigures>>> = Vec::new();
    for hosts in HOSTS {
        eprintln!("{hosts} hosts");
        let fits = |case: PlanningCase| case != PlanningCase::Minimal || hosts <= MOST_MINIMAL;
        rows.push(
            CASES
                .iter()
                .enumerate()
                .map(|(i, &(case, _))| fits(case).then(|| child(i, hosts)).transpose())
                .collect::<Result<_, _>>()?,
        );
    }
    std::fs::create_dir_all(directory)?;
    std::fs::write(directory.join("scaling.svg"), picture(&rows))?;
    document::write_part(directory, "scaling", &page(&rows)?)?;
    Ok(())
}

fn child(case: usize, hosts: usize) -> Result<PlanningFigures, AnyError> {
    let output = Command::new(std::env::current_exe()?)
        .args([case.to_string(), hosts.to_string()])
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let numbers = text
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<Vec<f64>, _>>()?;
    match numbers[..] {
        [planned, verified, memory] if output.status.success() => Ok(PlanningFigures {
            planned,
            verified,
            memory,
        }),
        _ => Err(format!(
            "case {case}, {hosts} hosts: {}",
            String::from_utf8_lossy(&output.stderr)
        )
        .into()),
    }
}

fn picture(rows: &[Vec<Option<PlanningFigures>>]) -> String {
    let panel = |title: &str, figure: fn(&PlanningFigures) -> f64| {
        let points = |case: usize| {
            HOSTS
                .iter()
                .zip(rows)
                .filter_map(|(&hosts, row)| {
                    let seconds = figure(row[case].as_ref()?);
                    Some(ChartPoint::from((hosts as f64, seconds)))
                })
                .collect::<Vec<_>>()
        };
        ChartPanel {
            title: title.to_owned(),
            x: AxisLabel::plain("hosts", AxisScale::Powers(2.0)),
            y: AxisLabel {
                name: "time".to_owned(),
                scale: AxisScale::Powers(10.0),
                unit: AxisUnit::Seconds,
            },
            lines: CASES
                .iter()
                .enumerate()
                .map(|(case, &(_, name))| ChartLine {
                    name: name.to_owned(),
                    points: points(case),
                    is_joined: true,
                })
                .collect(),
        }
    };
    chart::picture(&[
        panel("(a) planned", |figures| figures.planned),
        panel("(b) verified", |figures| figures.verified),
    ])
    .document("time of planning and verifying against hosts")
}

fn page(rows: &[Vec<Option<PlanningFigures>>]) -> Result<String, AnyError> {
    let mut table = String::new();
    for (hosts, row) in HOSTS.iter().zip(rows) {
        let cell = |figures: &Option<PlanningFigures>| match figures {
            Some(PlanningFigures {
                planned,
                verified,
                memory,
            }) => {
                format!(
                    "{} + {}, {memory:.0}",
                    milliseconds(*planned),
                    milliseconds(*verified)
                )
            }
            None => "-".to_owned(),
        };
        table += &format!(
            "| {hosts} | {} |\n",
            row.iter().map(cell).collect::<Vec<_>>().join(" | ")
        );
    }
    let load = std::fs::read_to_string("/proc/loadavg")?;
    let load = load.split(' ').next().unwrap_or("?");
    Ok(format!(
        include_str!("page.md"),
        per_switch = ON_A_SWITCH,
        table = table,
        cores = std::thread::available_parallelism()?,
        load = load
    ))
}

fn milliseconds(seconds: f64) -> String {
    let milliseconds = seconds * 1e3;
    if milliseconds < 10.0 {
        format!("{milliseconds:.2}")
    } else {
        format!("{milliseconds:.0}")
    }
}
