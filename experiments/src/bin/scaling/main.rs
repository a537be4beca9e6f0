//! Time and memory of planning against hosts: `cargo run --release --bin scaling -- DIR` writes `scaling.md` and `scaling.svg`
//! to DIR. Each plan is made in a process of its own, so that the memory is its own, too.
#[path = "../../../../schedules/benches/networks/mod.rs"]
mod networks;

use experiments::chart::{self, Line, Panel, Scale};
use schedules::alltoall::{Algorithm, plan_as};
use schedules::sync::{Reduction, SyncKind};
use schedules::{allgather, verify};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

const HOSTS: [usize; 7] = [64, 128, 256, 512, 1024, 2048, 4096];
/// A switch has this many.
const ON_A_SWITCH: usize = 32;
/// Minimal synchronizations grow with the third power of the hosts; nobody asks for them beyond.
const MOST_MINIMAL: usize = 1024;
/// A median is taken of as many runs as fit this many seconds, one to nine.
const PATIENCE: f64 = 3.0;

#[derive(Clone, Copy, PartialEq)]
enum Case {
    Chain,
    Minimal,
    Capacities,
    Ring,
}

const CASES: [(Case, &str); 4] =
    [(Case::Chain, "AAPC, chain"), (Case::Minimal, "AAPC, minimal"), (Case::Capacities, "capacities, chain"), (Case::Ring, "ring, LR3")];

/// Medians of one case at one size.
struct Figures {
    planned: f64,
    verified: f64,
    /// MiB of the process when it had planned once.
    memory: f64,
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [directory] => draw(Path::new(directory)),
        [case, hosts] => {
            let case = CASES.get(case.parse::<usize>()?).ok_or("no such case")?.0;
            let Figures { planned, verified, memory } = measured(case, hosts.parse()?)?;
            println!("{planned} {verified} {memory}");
            Ok(())
        }
        _ => Err("usage: scaling DIR | scaling CASE HOSTS".into()),
    }
}

fn measured(case: Case, hosts: usize) -> Result<Figures, Failure> {
    let trunk = if case == Case::Capacities { "10G" } else { "1G" };
    let tree = networks::two_levels(hosts / ON_A_SWITCH, ON_A_SWITCH, trunk).tree()?;
    let alltoall = |algorithm, reduction| {
        let plan = || plan_as(&tree, algorithm, SyncKind::Receiver, reduction);
        figures(plan, |plan| verify::alltoall(&tree, plan))
    };
    match case {
        Case::Chain => alltoall(Algorithm::Aapc, Reduction::Chain),
        Case::Minimal => alltoall(Algorithm::Aapc, Reduction::Minimal),
        Case::Capacities => alltoall(Algorithm::Capacity, Reduction::Chain),
        Case::Ring => figures(|| allgather::plan(&tree), |ring| verify::allgather(&tree, ring)),
    }
}

fn figures<Plan>(plan: impl Fn() -> Plan, check: impl Fn(&Plan) -> Result<(), verify::Violation>) -> Result<Figures, Failure> {
    let made = plan();
    let memory = peak()?;
    check(&made)?;
    let verified = median(|| check(&made).is_ok());
    drop(made);
    Ok(Figures { planned: median(&plan), verified, memory })
}

/// Seconds.
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

/// MiB this process has had resident at most.
fn peak() -> Result<f64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("the kernel does not tell VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1024.0)
}

fn draw(directory: &Path) -> Result<(), Failure> {
    let mut rows: Vec<Vec<Option<Figures>>> = Vec::new();
    for hosts in HOSTS {
        eprintln!("{hosts} hosts");
        let fits = |case: Case| case != Case::Minimal || hosts <= MOST_MINIMAL;
        rows.push(
            CASES.iter().enumerate().map(|(i, &(case, _))| fits(case).then(|| child(i, hosts)).transpose()).collect::<Result<_, _>>()?,
        );
    }
    std::fs::create_dir_all(directory)?;
    std::fs::write(directory.join("scaling.svg"), picture(&rows))?;
    std::fs::write(directory.join("scaling.md"), page(&rows)?)?;
    Ok(())
}

fn child(case: usize, hosts: usize) -> Result<Figures, Failure> {
    let output = Command::new(std::env::current_exe()?).args([case.to_string(), hosts.to_string()]).output()?;
    let text = String::from_utf8(output.stdout)?;
    let numbers = text.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>()?;
    match numbers[..] {
        [planned, verified, memory] if output.status.success() => Ok(Figures { planned, verified, memory }),
        _ => Err(format!("case {case}, {hosts} hosts: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

fn picture(rows: &[Vec<Option<Figures>>]) -> String {
    let panel = |title, figure: fn(&Figures) -> f64| {
        let points = |case: usize| {
            HOSTS.iter().zip(rows).filter_map(|(&hosts, row)| Some((hosts as f64, figure(row[case].as_ref()?)))).collect::<Vec<_>>()
        };
        Panel {
            title,
            x: ("hosts", Scale::Powers(2.0)),
            y: ("seconds", Scale::Powers(10.0)),
            lines: CASES.iter().enumerate().map(|(case, &(_, name))| Line { name, points: points(case) }).collect(),
        }
    };
    chart::svg(&[panel("(a) planned", |figures| figures.planned), panel("(b) verified", |figures| figures.verified)])
}

fn page(rows: &[Vec<Option<Figures>>]) -> Result<String, Failure> {
    let mut table = String::new();
    for (hosts, row) in HOSTS.iter().zip(rows) {
        let cell = |figures: &Option<Figures>| match figures {
            Some(Figures { planned, verified, memory }) => format!("{} + {}, {memory:.0}", milliseconds(*planned), milliseconds(*verified)),
            None => "-".to_owned(),
        };
        table += &format!("| {hosts} | {} |\n", row.iter().map(cell).collect::<Vec<_>>().join(" | "));
    }
    let load = std::fs::read_to_string("/proc/loadavg")?;
    let load = load.split(' ').next().unwrap_or("?");
    Ok(format!(include_str!("page.md"), per_switch = ON_A_SWITCH, table = table, load = load))
}

fn milliseconds(seconds: f64) -> String {
    let milliseconds = seconds * 1e3;
    if milliseconds < 10.0 { format!("{milliseconds:.2}") } else { format!("{milliseconds:.0}") }
}
