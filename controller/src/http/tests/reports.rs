//! Reports of host agents.
use super::*;

#[tokio::test]
async fn a_report_becomes_an_observation_and_is_answered_with_directions() {
    let mut served = start(None, Some(AGENTS)).await;
    let answer = report(served.address, "n0", AGENTS, &report_of("n0")).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(
        answer.ends_with(r#"{"peers":[{"host":"n1","address":"10.0.0.1"}],"traces":[{"host":"n1","address":"10.0.0.1","flows":20}],"every_ms":2000}"#),
        "{answer}"
    );
    let Some(ControllerEvent::Observed(Observation {
        reporter,
        source,
        fact: DeviceFact::Host(output),
        ..
    })) = served.events.recv().await
    else {
        panic!("expected a report");
    };
    assert_eq!(
        (reporter.as_str(), source, output.slots),
        ("n0", ObservationSource::Agent, 2)
    );
}

#[tokio::test]
async fn nobody_reports_without_the_agents_token_on_loopback_either() {
    for viewers in [None, Some(VIEWERS)] {
        let ServedApi {
            address,
            mut events,
            ..
        } = start(viewers, None).await;
        for token in ["", VIEWERS, AGENTS] {
            let answer = report(address, "n0", token, &report_of("n0")).await;
            assert!(
                answer.starts_with("HTTP/1.1 403") && answer.contains("--agent-token-file"),
                "{token}: {answer}"
            );
        }
        assert!(events.try_recv().is_err());
    }
    let agents = start(None, Some(AGENTS)).await;
    assert!(
        report(agents.address, "n0", "", &report_of("n0"))
            .await
            .starts_with("HTTP/1.1 401")
    );
    assert!(
        ask(agents.address, "/v1/topology", "Host: localhost\r\n")
            .await
            .starts_with("HTTP/1.1 200"),
        "whoever is here may view"
    );
    assert!(
        bind(
            "0.0.0.0:0".parse().unwrap(),
            &ApiTokens::new(None, Some(BearerToken::new(AGENTS))).unwrap()
        )
        .await
        .is_err()
    );
}

/// Bad reports: the host of the path, the body, the status and the reason.
fn bad_reports() -> Vec<(&'static str, String, u16, &'static str)> {
    let report = report_of("n0");
    let large = format!("{{\"host\":\"{}\"}}", "n".repeat(1 << 20));
    let extra = report.replace(r#""nics":["#, r#""nics":[{"alias":"lan0"}"#);
    let host = r#"{"host":"n0"}"#.to_owned();
    let (none, many) = (
        report.replace(":2", ":0"),
        report.replace(":2", ":4294967295"),
    );
    vec![
        ("n0", "{".to_owned(), 422, "EOF while parsing"),
        ("n0", host, 422, "missing field `slots`"),
        ("n0", extra, 422, "unknown field `alias`"),
        (
            "n0",
            report_of("n0\u{7}"),
            422,
            "host: characters that cannot be seen",
        ),
        ("n0", large, 413, "at most 1048576 octets"),
        (
            "n1",
            report,
            403,
            "a report to its path names the host \"n0\"",
        ),
        ("n0", none, 422, "slots: 0; expected 1 to 65536"),
        ("n0", many, 422, "slots: 4294967295; expected 1 to 65536"),
        ("n7", report_of("n7"), 403, "the inventory does not list it"),
    ]
}

#[tokio::test]
async fn a_bad_report_is_refused_with_the_reason() {
    let ServedApi {
        address,
        mut events,
        ..
    } = start(None, Some(AGENTS)).await;
    for (host, body, status, reason) in bad_reports() {
        let answer = report(address, host, AGENTS, &body).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")) && answer.contains(reason),
            "{reason}: {answer}"
        );
    }
    let plain = format!(
        "Host: localhost\r\nContent-Type: text/plain\r\nAuthorization: Bearer {AGENTS}\r\n"
    );
    assert!(
        send(
            address,
            "POST /v1/hosts/n0/report",
            &plain,
            &report_of("n0")
        )
        .await
        .starts_with("HTTP/1.1 415")
    );
    for part in ["names the host", "does not list it"] {
        let Some(ControllerEvent::ReportRefused { from, problem }) = events.recv().await else {
            panic!("expected a refusal")
        };
        assert!(from.is_loopback() && problem.contains(part), "{problem}");
    }
    assert!(events.try_recv().is_err(), "nothing else is taken");
}

#[tokio::test]
async fn a_host_that_reports_without_end_is_held_back_alone() {
    let ServedApi {
        address,
        mut events,
        ..
    } = start(None, Some(AGENTS)).await;
    for unfit in [
        r#"{"host":"n0"}"#.to_owned(),
        report_of("n0").replace(":2", ":0"),
        report_of("n1"),
    ]
    .iter()
    .cycle()
    .take(30)
    {
        assert!(
            report(address, "n0", AGENTS, unfit)
                .await
                .starts_with("HTTP/1.1 4"),
            "{unfit}"
        );
    }
    assert!(
        report(address, "n0", AGENTS, &report_of("n0"))
            .await
            .starts_with("HTTP/1.1 200"),
        "what others send in its name does not count"
    );
    let mut refused = false;
    for _ in 0..200 {
        let answer = report(address, "n0", AGENTS, &report_of("n0")).await;
        refused =
            answer.starts_with("HTTP/1.1 429") && answer.to_lowercase().contains("retry-after");
        if refused {
            break;
        }
        while events.try_recv().is_ok() {} // Somebody takes what is let through.
    }
    assert!(refused, "nobody reports two hundred times without a pause");
    assert!(
        report(address, "n1", AGENTS, &report_of("n1"))
            .await
            .starts_with("HTTP/1.1 200")
    );
}

#[tokio::test]
async fn a_host_that_reports_no_more_has_failed_once() {
    let (tell, mut events) = mpsc::channel(64);
    let (_assignment, directions) = watch::channel(Arc::new(DirectionsByHost::from([(
        "n0".into(),
        ProbeDirections {
            every_ms: 2_000,
            ..ProbeDirections::default()
        },
    )])));
    let intake = ReportIntake::new(SteadyClock::default(), tell, directions);
    let last = std::time::Instant::now();
    intake.note_report("n0", last);
    let second = std::time::Duration::from_secs(1);
    assert_eq!(intake.silent(last + 10 * second), []);
    assert_eq!(
        intake.silent(last + 12 * second),
        [("n0".to_owned(), 11 * second)]
    );
    assert_eq!(intake.silent(last + 60 * second), [], "reported once");
    assert!(events.try_recv().is_err());
}
