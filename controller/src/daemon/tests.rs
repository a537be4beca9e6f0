//! The daemon's plans and failures. There are no switches.
use super::*;
use inventory::{Millis, Topology, TopologyFile};
use selection::tuning::TuningRuns;

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
        rota: watch::channel(Arc::default()).0,
        tls: None,
        show: false,
        config: ControllerConfig {
            inventory: "i.yaml".into(),
            dir: dir.to_owned(),
            listen: http::DEFAULT_LISTEN,
            token_file: None,
            agent_token_file: None,
            tls: None,
            journal: None,
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
                TuningRuns::default(),
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
    let problem = outcome::<()>(spawn_blocking(|| panic!("in phase 7")).await).unwrap_err();
    assert!(
        problem.contains("please report it") && problem.contains("in phase 7"),
        "{problem}"
    );
    assert_eq!(outcome(spawn_blocking(|| Ok(7)).await), Ok(7));
}
