//! Programs of the operator that run after a new epoch, and after alarms came or went.
//!
//! Guarantee: the daemon waits for none of them. Each runs once at a time and for a minute at most.
//! While it runs, what comes is merged: it runs once more with the newest state. A failure is an
//! alarm until the next success. Deviations: the program is named by its path and gets fixed
//! arguments; no shell reads them.
use super::trouble::send_trouble;
use crate::engine::{ControllerEngine, ControllerEvent, TroubleArea};
use api::{AlarmCode, AlarmLine, EpochInfo};
use inventory::alarm::causes::ended;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The time limit of a program.
const LIMIT: Duration = Duration::from_secs(60);

/// The programs of the operator.
#[derive(Debug, Clone, Default)]
pub struct HookPrograms {
    /// Runs after each new epoch.
    pub on_epoch: Option<PathBuf>,
    /// Runs after alarms came or went.
    pub on_alarm: Option<PathBuf>,
}

/// The standard input of a program for alarms.
#[derive(Debug, Serialize)]
struct AlarmNews<'a> {
    alarms: &'a [AlarmLine],
    new: Vec<&'a AlarmLine>,
    over: Vec<&'a AlarmLine>,
}

/// The newest state for each program.
#[derive(Debug)]
pub(super) struct DaemonHooks {
    epoch: watch::Sender<Option<EpochInfo>>,
    alarms: watch::Sender<Vec<AlarmLine>>,
    _tasks: JoinSet<()>,
}

impl DaemonHooks {
    /// Waits for news. An epoch that the engine knows already is none.
    pub(super) fn start(
        programs: &HookPrograms,
        dir: &Path,
        engine: &ControllerEngine,
        events: &mpsc::Sender<ControllerEvent>,
    ) -> DaemonHooks {
        let epoch = watch::Sender::new(engine.latest_epoch().cloned());
        let alarms = watch::Sender::default();
        let mut tasks = JoinSet::new();
        if let Some(program) = programs.on_epoch.clone() {
            let (news, dir, events) = (epoch.subscribe(), dir.to_owned(), events.clone());
            tasks.spawn(async move { after_epochs(&program, &dir, news, &events).await });
        }
        if let Some(program) = programs.on_alarm.clone() {
            let (news, events) = (alarms.subscribe(), events.clone());
            tasks.spawn(async move { after_alarms(&program, news, &events).await });
        }
        DaemonHooks {
            epoch,
            alarms,
            _tasks: tasks,
        }
    }

    /// Takes the present state; what did not change wakes nobody.
    pub(super) fn notice(&self, engine: &ControllerEngine) {
        // The time at which a job took an epoch up is added later.
        self.epoch.send_if_modified(|known| {
            let latest = engine.latest_epoch();
            let is_new =
                latest.map(|epoch| epoch.number) != known.as_ref().map(|epoch| epoch.number);
            if is_new {
                *known = latest.cloned();
            }
            is_new
        });
        // A program that fails must not be run because of that.
        let announced = engine
            .announced_alarms()
            .iter()
            .filter(|a| a.code() != AlarmCode::AlarmProgramFailed);
        self.alarms.send_if_modified(|known| {
            let is_new = !announced.clone().eq(known.iter());
            if is_new {
                *known = announced.cloned().collect();
            }
            is_new
        });
    }
}

async fn after_epochs(
    program: &Path,
    dir: &Path,
    mut news: watch::Receiver<Option<EpochInfo>>,
    events: &mpsc::Sender<ControllerEvent>,
) {
    while news.changed().await.is_ok() {
        let Some(epoch) = news.borrow_and_update().clone() else {
            continue;
        };
        let arguments = [epoch.number.to_string(), dir.display().to_string()];
        let ran = run(program, &arguments, &epoch, LIMIT).await;
        let problem = ran.err().map(|e| failed("--on-epoch", program, &e));
        send_trouble(events, TroubleArea::EpochProgram, problem).await;
    }
}

async fn after_alarms(
    program: &Path,
    mut news: watch::Receiver<Vec<AlarmLine>>,
    events: &mpsc::Sender<ControllerEvent>,
) {
    let mut before: Vec<AlarmLine> = Vec::new();
    while news.changed().await.is_ok() {
        let alarms = news.borrow_and_update().clone();
        let input = AlarmNews {
            alarms: &alarms,
            new: alarms.iter().filter(|a| !before.contains(a)).collect(),
            over: ended(&before, &alarms).collect(),
        };
        // While the program ran, an alarm may have come and gone.
        if !(input.new.is_empty() && input.over.is_empty()) {
            let ran = run(program, &[alarms.len().to_string()], &input, LIMIT).await;
            let problem = ran.err().map(|e| failed("--on-alarm", program, &e));
            send_trouble(events, TroubleArea::AlarmProgram, problem).await;
        }
        before = alarms;
    }
}

fn failed(flag: &str, program: &Path, problem: &str) -> String {
    format!(
        "{flag} {}: {problem}; the controller goes on, and runs it again after the next change; \
         what it wrote is in the controller's log",
        program.display()
    )
}

/// Runs a program with a JSON text on its standard input. Its output goes to the daemon's.
///
/// # Errors
/// It does not start, fails, or takes too long; then all processes of its group are killed.
async fn run(
    program: &Path,
    arguments: &[String],
    input: &impl Serialize,
    limit: Duration,
) -> Result<(), String> {
    let json = serde_json::to_vec(input).map_err(|e| e.to_string())?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        // Processes that the program starts join its group, so they are killed with it.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|e| format!("cannot be started: {e}"))?;
    let group = child.id().and_then(|id| i32::try_from(id).ok());
    let stdin = child.stdin.take();
    let feed = async move {
        if let Some(mut stdin) = stdin {
            // A program need not read it.
            let _ = stdin.write_all(&json).await;
        }
    };
    let ended = timeout(limit, async { tokio::join!(feed, child.wait()).1 }).await;
    match ended {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(format!("{status}")),
        Ok(Err(e)) => Err(e.to_string()),
        Err(_) => {
            if let Some(group) = group {
                let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
            }
            let _ = child.wait().await;
            Err(format!("killed after {} s", limit.as_secs_f32()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::AlarmSubject;
    use std::fs;
    use std::time::Instant;

    /// A program in `dir`, with the folder's name in `$D`.
    fn program(dir: &Path, name: &str, script: &str) -> PathBuf {
        let (path, text) = (dir.join(name), dir.join("text"));
        let script = format!("#!/bin/sh\nD={}\n{script}\n", dir.display());
        fs::write(&text, script).unwrap();
        // A file that this process wrote could still be open in a child of another test.
        let mut install = std::process::Command::new("install");
        let installed = install.arg("-m755").args([&text, &path]).status();
        assert!(installed.unwrap().success());
        path
    }

    #[tokio::test]
    async fn a_program_gets_arguments_and_json_and_its_failure_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let good = program(dir.path(), "good", "echo \"$1 $(cat)\" > $D/out");
        let short = Duration::from_secs(20);
        let arguments = ["41; touch x".to_owned()];
        assert_eq!(run(&good, &arguments, &vec![7], short).await, Ok(()));
        let out = fs::read_to_string(dir.path().join("out")).unwrap();
        assert_eq!(out, "41; touch x [7]\n");
        let bad = program(dir.path(), "bad", "exit 3");
        let problem = run(&bad, &[], &(), short).await.unwrap_err();
        assert_eq!(problem, "exit status: 3");
        let none = run(&dir.path().join("none"), &[], &(), short).await;
        assert!(none.unwrap_err().starts_with("cannot be started: "));
    }

    #[tokio::test]
    async fn a_program_that_hangs_is_killed_with_its_children() {
        let dir = tempfile::tempdir().unwrap();
        let slow = program(dir.path(), "slow", "sleep 600 & echo $! > $D/child; wait");
        let began = Instant::now();
        let problem = run(&slow, &[], &(), Duration::from_secs(2))
            .await
            .unwrap_err();
        assert_eq!(problem, "killed after 2 s");
        assert!(began.elapsed() < Duration::from_secs(60));
        let child = fs::read_to_string(dir.path().join("child")).unwrap();
        // Without an init that reaps it, it stays as a zombie.
        for _ in 0..500 {
            if process_status(child.trim()).map_or(true, |stat| stat.contains(") Z ")) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{:?}", process_status(child.trim()));
    }

    fn process_status(pid: &str) -> std::io::Result<String> {
        fs::read_to_string(format!("/proc/{pid}/stat"))
    }

    #[tokio::test]
    async fn news_while_a_program_runs_are_merged() {
        let dir = tempfile::tempdir().unwrap();
        let script = "cat >> $D/seen; echo >> $D/seen; while [ ! -e $D/go ]; do sleep 0.02; done";
        let slow = program(dir.path(), "slow", script);
        let alarms = watch::Sender::new(Vec::new());
        let (events, mut queue) = mpsc::channel(8);
        let news = alarms.subscribe();
        let task = tokio::spawn(async move { after_alarms(&slow, news, &events).await });
        let seen = || fs::read_to_string(dir.path().join("seen")).unwrap_or_default();
        alarms.send_replace(vec![alarm("a")]);
        while !seen().ends_with('\n') {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        alarms.send_replace(vec![alarm("a"), alarm("b")]);
        alarms.send_replace(vec![alarm("c")]);
        fs::write(dir.path().join("go"), "").unwrap();
        for _ in 0..2 {
            let event = queue.recv().await;
            let fine = matches!(event, Some(ControllerEvent::Trouble { problem: None, .. }));
            assert!(fine, "{event:?}");
        }
        let seen = seen();
        let runs: Vec<serde_json::Value> = seen
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(runs.len(), 2, "{seen}");
        assert_eq!(runs[1]["new"][0]["about"], "c");
        assert_eq!(runs[1]["over"][0]["about"], "a");
        task.abort();
    }

    fn alarm(about: &str) -> AlarmLine {
        AlarmLine {
            subject: AlarmSubject::node(about),
            ..AlarmLine::default()
        }
    }
}
