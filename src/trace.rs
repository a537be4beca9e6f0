//! `heddle trace`
use crate::CommandOutcome;
use crate::flags::whole;
use crate::output::print;
use anyhow::{Context, bail};
use drawing::traced_call;
use inventory::unreadable::UnreadableFile;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use trace::file::{RankTrace, SUFFIX};
use trace::job::{TracedCall, TracedJob};
use trace::{chrome, report};

/// A larger file is refused: ranks keep 8 MB of steps.
const LARGEST: u64 = 64 << 20;
/// More traces of one job are refused.
const MOST_FILES: usize = 65_536;

/// Say what the time of a job's collectives went into
///
/// A job that runs with HEDDLE_TRACE=DIR leaves a trace of each rank in DIR. This finds the
/// critical path of the median and of the slowest call of each kind: the chain of steps, each of
/// which waited for the one before, that made the call as long as it was. It says how much of it
/// was data at the links' rates, queues and slow links, segments sent again, tokens, late ranks and
/// processors.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder with the traces
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// This call only, by its number [default: the median and the slowest of each kind; for a
    /// drawing the slowest of all]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(0..=u32::MAX.into()))]
    call: Option<u32>,
    /// This process set only, by the number in the names of its files [default: the newest]
    #[arg(long, value_name = "NUMBER")]
    job: Option<String>,
    /// The form of the output: a report, the same as JSON, a drawing of planned and actual times,
    /// or a trace for Perfetto and chrome://tracing
    #[arg(long, value_enum, default_value_t = TraceFormat::Text)]
    format: TraceFormat,
}

/// The form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TraceFormat {
    Text,
    Json,
    Svg,
    Chrome,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    let job = read(&args.dir, args.job.as_deref())?;
    if job.calls.is_empty() {
        bail!(
            "{}: no call was recorded from beginning to end by every rank; was the job stopped?",
            args.dir.display()
        );
    }
    if let Some(number) = args.call
        && !job.calls.iter().any(|call| call.number == number)
    {
        let (first, last) = (job.calls[0].number, job.calls[job.calls.len() - 1].number);
        bail!("--call {number}: there is no such call; recorded are calls {first} to {last}");
    }
    print(&match args.format {
        TraceFormat::Text => report::text(&job, &report::reports(&job, args.call)),
        TraceFormat::Json => {
            let json = report::json(&job, &report::reports(&job, args.call));
            format!("{json:#}\n")
        }
        TraceFormat::Svg => {
            let call = one(&job, args.call);
            traced_call::picture(&job, call).document(&traced_call::title(call))
        }
        TraceFormat::Chrome => {
            let calls: Vec<_> = job
                .calls
                .iter()
                .filter(|call| args.call.is_none_or(|number| call.number == number))
                .collect();
            format!("{}\n", chrome::export(&job, &calls))
        }
    })
}

/// The call that is asked for, or the slowest.
fn one(job: &TracedJob, number: Option<u32>) -> &TracedCall {
    let asked = job.calls.iter().find(|call| Some(call.number) == number);
    asked
        .or_else(|| job.calls.iter().max_by_key(|call| call.took()))
        .unwrap_or(&job.calls[0])
}

/// Reads the traces of one process set.
fn read(dir: &Path, wanted: Option<&str>) -> anyhow::Result<TracedJob> {
    let place = dir.display();
    let mut jobs: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    let entries = dir
        .read_dir()
        .map_err(|cause| UnreadableFile::new(dir, cause))?;
    for entry in entries.take(MOST_FILES) {
        let path = entry
            .map_err(|cause| UnreadableFile::new(dir, cause))?
            .path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let stem = name
            .strip_suffix(SUFFIX)
            .and_then(|stem| stem.strip_suffix('.'));
        if let Some((job, _)) = stem.and_then(|stem| stem.split_once('-')) {
            jobs.entry(job.to_owned()).or_default().push(path);
        }
    }
    let names: Vec<String> = jobs.keys().cloned().collect();
    // Numbers begin with the time.
    let (name, files) = match wanted.filter(|_| !names.is_empty()) {
        Some(wanted) => jobs.remove_entry(wanted).with_context(|| {
            format!(
                "--job {wanted}: there is none in {}; it has {}",
                place,
                names.join(", ")
            )
        })?,
        None => jobs.pop_last().with_context(|| {
            format!(
                "{}: no file ends in .{SUFFIX}; run the job with HEDDLE_TRACE={0}",
                place
            )
        })?,
    };
    if names.len() > 1 {
        tell!(
            "heddle: {}: {} process sets; this is {name}",
            place,
            names.len()
        );
    }
    let read = files.iter().map(|file| read_one(file));
    let traces = read.collect::<anyhow::Result<Vec<_>>>()?;
    TracedJob::new(traces).with_context(|| place.to_string())
}

fn read_one(file: &Path) -> anyhow::Result<RankTrace> {
    let place = file.display();
    let mut octets = Vec::new();
    // One octet more shows that the file is too large.
    let read = File::open(file).and_then(|open| open.take(LARGEST + 1).read_to_end(&mut octets));
    read.map_err(|cause| UnreadableFile::new(file, cause))?;
    if octets.len() as u64 > LARGEST {
        bail!(
            "{}: larger than {} MB, which no rank writes",
            place,
            LARGEST >> 20
        );
    }
    RankTrace::read(&octets).with_context(|| place.to_string())
}
