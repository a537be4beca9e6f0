//! The page in a real browser.
use super::browser::HeadlessBrowser;
use super::*;
use api::{
    AlarmLine, EpochInfo, EventLevel, EventLine, JobPoint, JobStatus, LinkLoad, SwitchStatus,
};
use directory::job_record::JobRecord;
use inventory::BitsPerSec;
use inventory::networks::Network;
use inventory::topology::{Link, LinkState, Node, NodeKind, Topology};

/// Names as nobody should choose them.
const HOSTILE: [&str; 5] = [
    "<script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "\"'></text><script>window.pwned=1</script>",
    "\u{5e9}\u{5dc}\u{5d5}\u{5dd}-\u{202e}txet",
    "a-very-long-name-of-a-host-that-somebody-thought-was-a-good-idea-to-have-in-a-cluster-of-many-hosts.example.org",
];

fn link(a: &str, a_port: &str, b: &str, rate: u64) -> Link {
    Link {
        rate_bps: BitsPerSec(rate),
        ..Link::new(a, a_port, b, "eth0")
    }
}

/// A tree of switches, each with hosts.
fn network(switches: usize, hosts: usize) -> Topology {
    let mut nodes: Vec<Node> = (0..switches)
        .map(|i| Node::new(leaf(i), NodeKind::Switch))
        .collect();
    nodes.extend((0..hosts).map(|i| Node::new(format!("node{i}"), NodeKind::Host)));
    Topology {
        nodes,
        links: (1..switches)
            .map(|i| {
                link(
                    &leaf((i - 1) / 30),
                    &format!("Ethernet1/{i}"),
                    &leaf(i),
                    100_000_000_000,
                )
            })
            .chain((0..hosts).map(|i| {
                link(
                    &leaf(i % switches),
                    &format!("swp{i}"),
                    &format!("node{i}"),
                    10_000_000_000,
                )
            }))
            .collect(),
        root_bridge: Some(leaf(0)),
        ..Topology::default()
    }
}

fn leaf(i: usize) -> String {
    format!("leaf{i}")
}

/// A snapshot in which everything foreign has a hostile name, and every third link is busy.
pub(super) fn snapshot(topology: Topology, epoch: u64) -> ServedSnapshot {
    let text = HOSTILE.join(" ");
    let switches = topology.names(NodeKind::Switch).map(|name| SwitchStatus {
        name: name.to_owned(),
        ..SwitchStatus::default()
    });
    ServedSnapshot::new(Snapshot {
        at: Millis(1_790_000_000_000 + epoch),
        version: "0.1".into(),
        directory: "/srv/heddle".into(),
        switches: switches.collect(),
        loads: topology
            .links
            .iter()
            .enumerate()
            .map(|(i, link)| LinkLoad {
                a: link.a.clone(),
                b: link.b.clone(),
                phases: 12,
                bottleneck: i == 0,
                a_to_b: Some(BitsPerSec(link.rate_bps.0 / 10 * (3 * (i as u64 % 3) + 3))),
                b_to_a: Some(BitsPerSec(0)),
                ..LinkLoad::default()
            })
            .collect(),
        epochs: (1..=epoch).map(|number| info(number, &text)).collect(),
        jobs: HOSTILE.iter().map(|name| job(name, epoch)).collect(),
        events: vec![EventLine {
            at: Millis(1),
            level: EventLevel::Warning,
            text: text.clone(),
            alarm: None,
        }],
        alarms: vec![alarm(text)],
        topology,
        ..Snapshot::default()
    })
}

fn alarm(text: String) -> AlarmLine {
    let alarm = serde_json::json!({"about": HOSTILE[0], "text": text});
    serde_json::from_value(alarm).unwrap()
}

fn info(number: u64, change: &str) -> EpochInfo {
    EpochInfo {
        number,
        at: Millis(1_790_000_000_000),
        changes: vec![change.to_owned()],
        phases: 36,
        bottleneck: (HOSTILE[0].into(), HOSTILE[1].into()),
        hosts: 12,
        ..EpochInfo::default()
    }
}

fn job(name: &str, epoch: u64) -> JobStatus {
    let record: JobRecord = serde_json::from_value(serde_json::json!({
        "id": name, "program": name, "user": name, "started": 1, "updated": 2, "hosts": [name], "ranks": 12,
        "mpi": "openmpi", "epoch": epoch, "epoch_since": 1, "finished": false, "calls": [{
            "collective": "alltoall", "way": "aapc receiver tcp", "block": 65536, "calls": 100, "seconds": 1.0,
            "bound_seconds": 0.9, "bounded_seconds": 1.0,
        }],
    }))
    .unwrap();
    let point = JobPoint {
        at: Millis(2),
        bytes_per_sec: 9.6e6,
        share: Some(0.71),
        epoch,
    };
    JobStatus {
        record,
        running: true,
        history: vec![point],
    }
}

/// A small network whose hosts have hostile names.
pub(super) fn hostile() -> Topology {
    let mut topology = network(3, 2);
    for (i, name) in HOSTILE.iter().enumerate() {
        topology.nodes.push(Node::new(*name, NodeKind::Host));
        topology
            .links
            .push(link("leaf1", name, name, 1_000_000_000 * (i as u64 + 1)));
    }
    topology
}

async fn assert_nothing_ran(browser: &HeadlessBrowser) {
    let found = "[!document.documentElement.textContent.includes('\\u202e') && window.pwned === undefined, document.scripts.length, document.images.length, document.querySelectorAll('style').length]";
    assert_eq!(
        browser.value(found).await,
        serde_json::json!([true, 1, 0, 0])
    );
    let log = browser.log().await;
    let refused: Vec<&String> = log
        .iter()
        .filter(|line| !line.contains("401 (Unauthorized)"))
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[tokio::test]
async fn a_browser_follows_the_network_with_its_token_whatever_names_it_has() {
    let served = start(Some(VIEWERS), None).await;
    served.shown.show(snapshot(hostile(), 1));
    let browser = HeadlessBrowser::start().await;
    let page = format!("http://{}/", served.address);
    browser.open(&page).await;
    browser
        .until("!document.querySelector('#login').hidden")
        .await;
    browser.enter("not the right token").await;
    browser
        .until("document.querySelector('#why').textContent.includes(\"viewers' token\")")
        .await;
    assert_eq!(
        browser.value("document.querySelector('main').hidden").await,
        true
    );
    browser.enter(VIEWERS).await;
    browser
        .until("document.querySelector('#state').textContent === 'live'")
        .await;
    browser
        .until("document.querySelectorAll('.cable.busy').length > 0")
        .await;
    for name in &HOSTILE[..3] {
        let shown = serde_json::json!(name);
        for place in [".picture svg", "#jobs", "#alarms", "#epochs", "#events"] {
            browser
                .until(&format!(
                    "document.querySelector('{place}').textContent.includes({shown})"
                ))
                .await;
        }
    }
    assert_nothing_ran(&browser).await;
    browser.picture("hostile.png.base64").await;
    follows_changes(&served, &browser).await;
    browser.open(&page).await;
    browser
        .until("document.querySelector('#about').textContent.includes('epoch 2')")
        .await;
    assert_eq!(
        browser
            .value("document.querySelector('#login').hidden")
            .await,
        true,
        "a reload asks for nothing"
    );
}

/// Changes are seen without a reload.
async fn follows_changes(served: &ServedApi, browser: &HeadlessBrowser) {
    let mut larger = hostile();
    larger.nodes.push(Node::new("newcomer", NodeKind::Host));
    let cable = link("leaf2", "swp99", "newcomer", 1_000_000_000);
    larger.links.push(cable);
    served.shown.show(snapshot(larger, 2));
    for (place, word) in [("#about", "epoch 2"), (".picture", "newcomer")] {
        let shows = format!("document.querySelector('{place}').textContent.includes('{word}')");
        browser.until(&shows).await;
    }
}

/// A data network, and one for management beside it.
fn two_networks() -> ServedSnapshot {
    let mut data = network(3, 2);
    let mut management = network(1, 2);
    management.nodes[0].name = "m0".into();
    for link in &mut management.links {
        link.a = "m0".into();
    }
    let names = ["leaf0", "leaf1", "leaf2"];
    data.networks = vec![own_network("data", &names), own_network("m0", &["m0"])];
    management.networks.clone_from(&data.networks);
    (data.network, management.network) = (Some("data".into()), Some("m0".into()));
    let further = snapshot(management, 1);
    let mut shown = Snapshot::clone(&snapshot(data, 1).snapshot);
    shown.further.push(api::FurtherNetwork {
        topology: further.snapshot.topology.clone(),
        loads: further.snapshot.loads.clone(),
    });
    ServedSnapshot::new(shown)
}

fn own_network(name: &str, switches: &[&str]) -> Network {
    Network {
        name: name.into(),
        switches: switches.iter().map(ToString::to_string).collect(),
        hosts: vec!["node0".into(), "node1".into()],
        ..Network::default()
    }
}

#[tokio::test]
async fn a_button_or_a_key_shows_the_next_of_several_networks() {
    let served = start(None, None).await;
    served.shown.show(snapshot(network(3, 2), 1));
    let browser = HeadlessBrowser::start().await;
    browser.open(&format!("http://{}/", served.address)).await;
    browser.until(&pictured("leaf2")).await;
    let choice = "document.querySelector('#choice')";
    assert_eq!(browser.value(&format!("{choice}.hidden")).await, true);
    served.shown.show(two_networks());
    browser
        .until(&format!("{choice}.textContent === 'datam0'"))
        .await;
    let links = "document.querySelector('#links').textContent";
    assert_eq!(browser.value(&pictured("leaf2")).await, true);
    browser
        .value(&format!("({choice}.children[1].click(), 0)"))
        .await;
    for _ in 0..2 {
        browser.until(&pictured("m0")).await;
        browser.until(&format!("{links}.includes('60 %')")).await;
        let others = format!("[{}, {links}.includes('leaf')]", pictured("leaf"));
        assert_eq!(
            browser.value(&others).await,
            serde_json::json!([false, false])
        );
        // The next snapshot is of the same network.
        served.shown.show(two_networks());
    }
    browser.picture("networks.png.base64").await;
    let key = "(document.dispatchEvent(new KeyboardEvent('keydown', {key: 'n'})), 0)";
    browser.value(key).await;
    browser.until(&pictured("leaf2")).await;
    let none =
        "fetch('/v1/topology.svg?network=x').then((answer) => { window.none = answer.status; })";
    browser.value(&format!("({none}, 0)")).await;
    browser.until("window.none === 404").await;
}

/// Drawings that the page asks for pass `window.drawing`, which gets the answer and its number.
const HOLD: &str = "(() => { const own = window.fetch; window.asked = 0; window.drawing = (a) => a; \
    window.fetch = async (...to) => { const answer = await own(...to); \
    return String(to[0]).endsWith('.svg') ? window.drawing(answer, ++window.asked) : answer; }; })()";

/// Shows a network with one more host.
fn with_newcomer(served: &ServedApi, name: &str, epoch: u64) {
    let mut topology = network(3, 2);
    topology.nodes.push(Node::new(name, NodeKind::Host));
    topology
        .links
        .push(link("leaf2", "swp99", name, 1_000_000_000));
    served.shown.show(snapshot(topology, epoch));
}

fn pictured(name: &str) -> String {
    format!("document.querySelector('.picture').textContent.includes('{name}')")
}

#[tokio::test]
async fn only_the_newest_drawing_is_shown_and_one_that_failed_is_reported() {
    let served = start(None, None).await;
    with_newcomer(&served, "before", 1);
    let browser = HeadlessBrowser::start().await;
    browser.open(&format!("http://{}/", served.address)).await;
    browser.until(&pictured("before")).await;
    browser.value(HOLD).await;
    let hold = "(window.drawing = (answer, number) => number > 1 ? answer : \
                new Promise((done) => { window.release = () => done(answer); }), 0)";
    browser.value(hold).await;
    with_newcomer(&served, "older", 2);
    browser.until("window.release").await;
    with_newcomer(&served, "newer", 3);
    browser.until(&pictured("newer")).await;
    let release = "(window.release(), setTimeout(() => { window.released = true; }, 300), 0)";
    browser.value(release).await;
    browser.until("window.released").await;
    assert_eq!(browser.value(&pictured("newer")).await, true);

    let fail = "(window.drawing = () => new Response('too busy', { status: 503 }), 0)";
    browser.value(fail).await;
    for epoch in 4..7 {
        with_newcomer(&served, "undrawn", epoch);
        let shows = format!(
            "document.querySelector('#about').textContent.includes('epoch {epoch}') \
             && document.querySelector('#undrawn').textContent.includes('too busy')"
        );
        browser.until(&shows).await;
    }
    let state = "[document.querySelector('#state').textContent, window.asked]";
    assert_eq!(browser.value(state).await, serde_json::json!(["live", 3]));
    // Later it asks again.
    browser
        .value("(redrawAt = 0, window.drawing = (a) => a, 0)")
        .await;
    with_newcomer(&served, "undrawn", 7);
    browser.until(&pictured("undrawn")).await;
    browser
        .until("document.querySelector('#undrawn').hidden")
        .await;
}

#[tokio::test]
async fn the_form_starts_no_second_stream() {
    let served = start(Some(VIEWERS), None).await;
    served.shown.show(snapshot(network(3, 2), 1));
    let browser = HeadlessBrowser::start().await;
    browser.open(&format!("http://{}/", served.address)).await;
    let asks = "!document.querySelector('#login').hidden";
    browser.until(asks).await;
    let count = "(() => { const own = window.fetch; window.streams = 0; window.fetch = (...to) => { \
                 window.streams += String(to[0]).endsWith('/events'); return own(...to); }; })()";
    browser.value(count).await;
    let send = format!(
        "(() => {{ for (let i = 0; i < 3; i += 1) {{ document.querySelector('#token').value = '{VIEWERS}'; \
         document.querySelector('#login').requestSubmit(); }} }})()"
    );
    browser.value(&send).await;
    browser
        .until("document.querySelector('#state').textContent === 'live'")
        .await;
    assert_eq!(browser.value("window.streams").await, 1);
}

/// Frames on a blocked link are no load, and a link without any has an empty bar.
#[tokio::test]
async fn busy_links_are_those_that_carry() {
    let served = start(None, None).await;
    let mut topology = network(1, 3);
    topology.links[1].state = LinkState::Blocked;
    let mut shown = Snapshot::clone(&snapshot(topology, 1).snapshot);
    for (load, carried) in shown
        .loads
        .iter_mut()
        .zip([0, 6_000_000_000, 3_000_000_000])
    {
        load.a_to_b = Some(BitsPerSec(carried));
    }
    served.shown.show(ServedSnapshot::new(shown));
    let browser = HeadlessBrowser::start().await;
    browser.open(&format!("http://{}/", served.address)).await;
    browser
        .until("document.querySelectorAll('#links tbody tr').length === 2")
        .await;
    let widths = "[...document.querySelectorAll('#links tr td:nth-child(4) .track')].map((bar) => \
                  bar.firstChild.getBoundingClientRect().width / bar.getBoundingClientRect().width)";
    let widths = browser.value(widths).await;
    let widths: Vec<f64> = serde_json::from_value(widths).unwrap();
    assert!(
        (widths[0] - 0.3).abs() < 0.01 && widths[1] == 0.0,
        "{widths:?}"
    );
}

#[tokio::test]
async fn a_browser_shows_a_thousand_switches() {
    let served = start(None, None).await;
    served.shown.show(snapshot(network(1_000, 5_000), 1));
    let browser = HeadlessBrowser::start().await;
    browser.open(&format!("http://{}/", served.address)).await;
    browser
        .until("document.querySelectorAll('.picture .switch').length === 1000")
        .await;
    browser
        .until("document.querySelectorAll('.cable.busy').length > 300")
        .await;
    browser
        .until("document.querySelectorAll('#links tbody tr').length === 12")
        .await;
    assert_nothing_ran(&browser).await;
    browser.picture("thousand.png.base64").await;
}

#[tokio::test]
async fn the_page_needs_no_token_and_may_load_nothing_foreign() {
    let served = start(Some(VIEWERS), None).await;
    for (path, kind) in [
        ("/", "text/html"),
        ("/page.css", "text/css"),
        ("/page.js", "text/javascript"),
    ] {
        let answer = ask(served.address, path, "Host: localhost\r\n").await;
        let head = answer.split("\r\n\r\n").next().unwrap();
        for part in [
            "200 OK",
            kind,
            "default-src 'none'",
            "frame-ancestors 'none'",
            "nosniff",
        ] {
            assert!(head.contains(part), "{path}: {part} is missing: {head}");
        }
        assert!(!head.contains("unsafe"), "{head}");
    }
    let answer = ask(served.address, "/v1/topology.svg", "Host: localhost\r\n").await;
    assert!(answer.contains("401 Unauthorized"), "{answer}");
}
