//! The daemon's plans and failures. There are no switches.
use super::*;
use finished_work::WorkError;
use inventory::{Millis, Topology, TopologyFile};
use std::convert::Infallible;

fn daemon(dir: &Path) -> ControllerDaemon {
    let text = "switches: {s0: {address: 127.0.0.1}}\nsnmp: \
                {default: {version: 2c, community: public}}";
    let engine = ControllerEngine::new(
        Inventory::parse("i.yaml", text).unwrap(),
        ControllerOptions::default(),
    );
    let shown = snapshot_feed(ServedSnapshot::new(engine.snapshot(Millis(0)))).0;
    ControllerDaemon {
        clock: SteadyClock::default(),
        engine,
        journal: None,
        store: Arc::new(EpochStore::open(dir, KEEP).unwrap()),
        plan: None,
        publishing: None,
        pollers: SwitchPollers::default(),
        traps: TrapListener::default(),
        events: mpsc::channel(QUEUE).0,
        done: mpsc::unbounded_channel().0,
        shown,
        assignment: watch::channel(Arc::default()).0,
        flows: FlowExchange::default(),
        measuring: MeasuringProgress::default(),
        counters: CableCounters::default(),
        mapped: Arc::default(),
        tls: None,
        show: false,
        hooks: None,
        status_is_new: false,
        config: ControllerConfig {
            inventory: "i.yaml".into(),
            dir: dir.to_owned(),
            listen: http::DEFAULT_LISTEN,
            token_file: None,
            agent_token_file: None,
            tls: None,
            journal: None,
            programs: HookPrograms::default(),
        },
    }
}

fn planned(ticket: u64) -> FinishedWork {
    let file = TopologyFile::parse(
        "t",
        "switches: [s0]\nhosts: {n0: {switch: s0}, n1: {switch: s0}}",
    )
    .unwrap();
    FinishedWork::Planned(
        ticket,
        Ok(Box::new(
            VerifiedEpoch::plan(
                ticket,
                Millis(5),
                file,
                Topology::default(),
                WayEvidence::default(),
            )
            .unwrap(),
        )),
    )
}

#[tokio::test]
async fn a_plan_that_was_overtaken_does_not_replace_the_newer_one() {
    let dir = tempfile::tempdir().unwrap();
    let mut daemon = daemon(dir.path());
    daemon.finish(planned(2));
    daemon.finish(planned(1));
    daemon.publish(2);
    daemon
        .publishing
        .take()
        .expect("the plan is held")
        .await
        .unwrap();
    assert_eq!(reading::current(dir.path()).unwrap().unwrap().number, 2);
}

#[tokio::test]
async fn work_that_panics_has_failed() {
    let panicked = spawn_blocking(|| panic!("in phase 7")).await;
    let problem = outcome::<(), Infallible>(panicked).unwrap_err().to_string();
    assert!(
        problem.contains("please report it") && problem.contains("in phase 7"),
        "{problem}"
    );
    let done = spawn_blocking(|| Ok::<_, Infallible>(7)).await;
    assert!(matches!(outcome(done), Ok(7)));
}

#[test]
fn what_jobs_learned_is_read_at_the_start_and_a_bad_file_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let store = EpochStore::open(dir.path(), KEEP).unwrap();
    let figures = LearnedFigures::from_json(
        br#"{"places":[{"place":{"hosts":["n0","n1"],"layout":[[0,2,1]],"mpi":"mpich",
             "cables":"sha256:00"},"lessons":[{"user":"ann","job":1,"at":1,"timings":[]}]}]}"#,
    )
    .unwrap();
    store.write_learned(&figures).unwrap();
    let events = started(dir.path(), &store).unwrap();
    let [ControllerEvent::Started { learned, .. }] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(*learned, figures);
    std::fs::write(dir.path().join("learned.json"), "{").unwrap();
    let events = started(dir.path(), &store).unwrap();
    let [
        ControllerEvent::Started { learned, .. },
        ControllerEvent::Trouble { about, problem },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert!(learned.is_empty() && *about == TroubleArea::Learned);
    let problem = problem.as_deref().unwrap();
    assert!(problem.contains("learned.json: no figures"), "{problem}");
}

#[tokio::test]
async fn what_jobs_learned_is_written_and_the_engine_hears_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let (mut daemon, mut finished) = (daemon(dir.path()), mpsc::unbounded_channel());
    daemon.done = finished.0;
    daemon.keep_learned(&Arc::default());
    let Some(FinishedWork::KeptLearned(kept)) = finished.1.recv().await else {
        panic!("nothing was written");
    };
    assert!(kept.is_ok(), "{kept:?}");
    assert_eq!(
        reading::learned(dir.path()).unwrap(),
        LearnedFigures::default()
    );
    let exhausted = PublishError::Exhausted {
        dir: dir.path().to_owned(),
        highest: 7,
    };
    daemon.finish(FinishedWork::KeptLearned(Err(WorkError::Failed(exhausted))));
    let alarms = daemon.engine.snapshot(Millis(0)).alarms;
    assert!(
        alarms
            .iter()
            .any(|alarm| alarm.text.contains("epoch 7 has the highest number")),
        "{alarms:?}"
    );
}

#[tokio::test]
async fn an_alarm_of_the_start_is_reported_when_the_programs_are_ready() {
    let dir = tempfile::tempdir().unwrap();
    let (mut daemon, mut events) = (daemon(dir.path()), mpsc::channel(QUEUE));
    daemon.events = events.0;
    daemon.config.programs.on_alarm = Some("/bin/true".into());
    for event in started(dir.path(), &daemon.store).unwrap() {
        daemon.step(event);
    }
    daemon.step(ControllerEvent::Trouble {
        about: TroubleArea::Learned,
        problem: Some("learned.json: no figures".to_owned()),
    });
    daemon.step(ControllerEvent::Tick);
    daemon.start_hooks();
    let event = tokio::time::timeout(std::time::Duration::from_secs(60), events.1.recv()).await;
    assert!(matches!(
        event,
        Ok(Some(ControllerEvent::Trouble {
            about: TroubleArea::AlarmProgram,
            problem: None
        }))
    ));
}
