//! The state machine: the effects of keys, mouse and messages.
#[allow(
    dead_code,
    reason = "each test file needs its own part of the pictures"
)]
mod fixture;

use api::{FurtherNetwork, LinkLoad, Snapshot};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use inventory::Millis;
use inventory::networks::Network;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tui::app::AppSettings;
use tui::{App, AppEffect, AppMessage, LabAction};

fn app(lab: bool) -> App {
    let mut app = App::new(AppSettings {
        lab,
        ..AppSettings::default()
    });
    show(&mut app, fixture::cluster());
    app
}

fn show(app: &mut App, snapshot: Snapshot) {
    app.update(fixture::NOW, AppMessage::Picture(Box::new(snapshot)));
}

fn screen(app: &mut App) -> String {
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| app.draw(frame)).unwrap();
    tui::text(terminal.backend().buffer())
}

fn press(app: &mut App, code: KeyCode) -> Option<AppEffect> {
    screen(app);
    app.update(
        fixture::NOW,
        AppMessage::Key(KeyEvent::new(code, KeyModifiers::NONE)),
    )
}

fn keys(app: &mut App, keys: &str) -> Option<AppEffect> {
    keys.chars()
        .map(|c| press(app, KeyCode::Char(c)))
        .last()
        .flatten()
}

fn mouse(app: &mut App, kind: MouseEventKind, column: u16, row: u16) -> Option<AppEffect> {
    app.update(
        fixture::NOW,
        AppMessage::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers: KeyModifiers::NONE,
        }),
    )
}

fn selected(app: &mut App) -> String {
    let line = screen(app)
        .lines()
        .find(|l| l.starts_with('▸'))
        .unwrap_or_default()
        .to_owned();
    line.trim_start_matches(|c: char| "▸│├└─╌◆▪ ".contains(c))
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn movement_stays_on_the_list() {
    let mut app = app(false);
    assert_eq!(selected(&mut app), "s0");
    press(&mut app, KeyCode::Up);
    assert_eq!(selected(&mut app), "s0");
    keys(&mut app, "jj");
    assert_eq!(selected(&mut app), "n1");
    press(&mut app, KeyCode::End);
    assert_eq!(
        selected(&mut app),
        "s3",
        "the blocked link is the last line"
    );
    press(&mut app, KeyCode::PageDown);
    assert_eq!(selected(&mut app), "s3");
    press(&mut app, KeyCode::PageUp);
    press(&mut app, KeyCode::Home);
    assert_eq!(selected(&mut app), "s0");
}

#[test]
fn the_selection_follows_its_object() {
    let mut app = app(false);
    keys(&mut app, "jjj");
    assert_eq!(selected(&mut app), "n2");
    let mut moved = fixture::cluster();
    let link = moved
        .topology
        .links
        .iter_mut()
        .find(|l| l.b == "n2")
        .unwrap();
    link.a = "s3".into();
    show(&mut app, moved);
    assert_eq!(selected(&mut app), "n2");
    keys(&mut app, "2s2");
    keys(&mut app, "1");
    assert_eq!(selected(&mut app), "n2");
}

#[test]
fn frozen_ignores_news_until_it_thaws() {
    let mut app = app(false);
    keys(&mut app, "f");
    let mut next = fixture::cluster();
    next.epochs.push(api::EpochInfo {
        number: 42,
        ..next.epochs[2].clone()
    });
    show(&mut app, next);
    assert!(screen(&mut app).contains("epoch 41") && screen(&mut app).contains("FROZEN"));
    press(&mut app, KeyCode::Char(' '));
    assert!(screen(&mut app).contains("epoch 42") && screen(&mut app).contains("live"));
}

#[test]
fn connection_lost_and_found() {
    let mut app = app(false);
    app.update(
        Millis(fixture::NOW.0 + 2_000),
        AppMessage::Lost("refused\u{1b}[2J".into()),
    );
    let shown = screen(&mut app);
    assert!(
        shown.contains("controller unreachable since 02:40:02") && shown.contains("n11"),
        "{shown}"
    );
    assert!(!shown.contains('\u{1b}'));
    show(&mut app, fixture::cluster());
    assert!(!screen(&mut app).contains("unreachable"));
}

#[test]
fn a_silent_controller_is_not_called_live() {
    let mut app = app(false);
    let wakes = app
        .next_change_at()
        .expect("silence must show without any message");
    app.update(wakes, AppMessage::Tick);
    assert!(
        screen(&mut app).contains("silent for 5 s"),
        "{}",
        screen(&mut app)
    );
}

#[test]
fn a_key_shows_the_next_of_several_networks() {
    let mut app = app(false);
    assert!(!screen(&mut app).contains("network"));
    let mut snapshot = fixture::cluster();
    let networks = vec![
        network("data", &["s0", "s1", "s2", "s3"]),
        network("management", &["m1"]),
    ];
    snapshot.topology.networks.clone_from(&networks);
    let mut topology = snapshot.topology.clone();
    topology
        .nodes
        .retain(|node| ["s0", "n0", "n1"].contains(&node.name.as_str()));
    topology
        .links
        .retain(|link| ["n0", "n1"].contains(&link.b.as_str()));
    topology.nodes[0].name = "m1".into();
    topology.root_bridge = Some("m1".into());
    topology
        .links
        .iter_mut()
        .for_each(|link| link.a = "m1".into());
    let loads = vec![LinkLoad::default(); topology.links.len()];
    snapshot.further = vec![FurtherNetwork { topology, loads }];
    show(&mut app, snapshot.clone());
    assert!(header(&mut app).contains("network data (1 of 2)"));
    keys(&mut app, "n");
    for _ in 0..2 {
        let shown = screen(&mut app);
        assert!(header(&mut app).contains("network management (2 of 2)"));
        assert!(shown.contains("m1") && !shown.contains("s3"), "{shown}");
        // The next picture is of the same network.
        show(&mut app, snapshot.clone());
    }
    keys(&mut app, "n");
    assert!(header(&mut app).contains("network data (1 of 2)"));
}

fn network(name: &str, switches: &[&str]) -> Network {
    Network {
        name: name.into(),
        switches: switches.iter().map(|&switch| switch.to_owned()).collect(),
        hosts: vec!["n0".into()],
        ..Network::default()
    }
}

fn header(app: &mut App) -> String {
    screen(app).lines().next().unwrap().to_owned()
}

#[test]
fn a_recorded_picture_costs_nothing() {
    let mut app = App::new(AppSettings {
        live: false,
        ..AppSettings::default()
    });
    show(&mut app, fixture::cluster());
    assert_eq!(app.next_change_at(), None);
}

#[test]
fn keys_of_the_lab_ask_the_lab() {
    let mut app = app(true);
    assert_eq!(keys(&mut app, "M"), moved("n0", "s1"));
    assert_eq!(keys(&mut app, "M"), moved("n1", "s1"));
    keys(&mut app, "jmj");
    assert_eq!(press(&mut app, KeyCode::Enter), moved("n0", "s2"));
    assert!(screen(&mut app).contains("moving the cable of n0 to s2"));
    let action = LabAction::Move {
        host: "n0".into(),
        switch: "s2".into(),
    };
    app.update(
        fixture::NOW,
        AppMessage::Lab(action, Ok("n0 moved to s2".into())),
    );
    assert!(screen(&mut app).contains("n0 moved to s2"));
    keys(&mut app, "kkm");
    assert!(screen(&mut app).contains("select a host"), "s0 is no host");
    let (cut, join) = (
        LabAction::Cut(vec![("s0".into(), "n0".into())]),
        LabAction::Join(vec![("s0".into(), "n0".into())]),
    );
    assert_eq!(keys(&mut app, "jx"), Some(AppEffect::Lab(cut.clone())));
    app.update(
        fixture::NOW,
        AppMessage::Lab(cut.clone(), Err("no such cable".into())),
    );
    assert_eq!(
        keys(&mut app, "J"),
        None,
        "what was not cut cannot be joined again"
    );
    keys(&mut app, "x");
    app.update(fixture::NOW, AppMessage::Lab(cut, Ok("cut".into())));
    assert_eq!(keys(&mut app, "J"), Some(AppEffect::Lab(join.clone())));
    app.update(fixture::NOW, AppMessage::Lab(join, Ok("joined".into())));
    assert_eq!(keys(&mut app, "J"), None);
}

#[test]
fn on_a_fabric_a_spine_is_drained_and_put_back() {
    let mut app = app(true);
    let fabric = Box::new(fixture::fabric());
    app.update(fixture::NOW, AppMessage::Picture(fabric));
    let Some(AppEffect::Lab(LabAction::Cut(links))) = keys(&mut app, "M") else {
        panic!("no spine is drained");
    };
    assert!(links.len() > 1, "{links:?}");
    for (a, b) in &links {
        assert!(a == "spine1" || b == "spine1", "{links:?}");
    }
    let back = Some(AppEffect::Lab(LabAction::Join(links)));
    assert_eq!(keys(&mut app, "M"), back, "not the next spine, too");
}

fn moved(host: &str, switch: &str) -> Option<AppEffect> {
    Some(AppEffect::Lab(LabAction::Move {
        host: host.into(),
        switch: switch.into(),
    }))
}

#[test]
fn without_a_lab_its_keys_mean_nothing() {
    let mut app = app(false);
    for key in "mMxJ".chars() {
        let before = screen(&mut app);
        assert_eq!(keys(&mut app, &key.to_string()), None);
        assert_eq!(screen(&mut app), before);
    }
}

#[test]
fn typing_a_filter_types() {
    let mut app = app(true);
    assert_eq!(keys(&mut app, "/qM1"), None, "letters are text here");
    assert!(screen(&mut app).contains("/qM1"));
    assert!(screen(&mut app).contains("no line matches"));
    for _ in 0..3 {
        press(&mut app, KeyCode::Backspace);
    }
    keys(&mut app, "s2");
    press(&mut app, KeyCode::Enter);
    assert_eq!(selected(&mut app), "s2");
    press(&mut app, KeyCode::Esc);
    assert!(!screen(&mut app).contains("/s2"));
    assert_eq!(keys(&mut app, "q"), Some(AppEffect::Quit));
}

#[test]
fn the_mouse_selects_scrolls_and_changes_tabs() {
    let mut app = app(true);
    screen(&mut app);
    mouse(&mut app, MouseEventKind::Down(MouseButton::Left), 10, 5);
    assert_eq!(selected(&mut app), "n1");
    mouse(&mut app, MouseEventKind::ScrollDown, 10, 5);
    assert_eq!(selected(&mut app), "n3");
    let jobs = screen(&mut app)
        .lines()
        .nth(1)
        .unwrap()
        .chars()
        .position(|c| c == '3')
        .unwrap() as u16;
    mouse(&mut app, MouseEventKind::Down(MouseButton::Left), jobs, 1);
    assert!(screen(&mut app).contains("fft3d"));
    keys(&mut app, "1m");
    let popup = screen(&mut app);
    let row = popup.lines().position(|l| l.contains("│   s3")).unwrap() as u16;
    let effect = mouse(&mut app, MouseEventKind::Down(MouseButton::Left), 40, row);
    assert_eq!(
        effect,
        Some(AppEffect::Lab(LabAction::Move {
            host: "n3".into(),
            switch: "s3".into()
        }))
    );
}

/// Where `text` stands on the screen: column and row.
fn place(app: &mut App, text: &str) -> (u16, u16) {
    let shown = screen(app);
    let found = shown.lines().enumerate().find_map(|(row, line)| {
        let at = line.find(text)?;
        Some((line[..at].chars().count() as u16, row as u16))
    });
    found.unwrap_or_else(|| panic!("no {text}\n{shown}"))
}

fn click(app: &mut App, text: &str) -> Option<AppEffect> {
    let (column, row) = place(app, text);
    mouse(app, MouseEventKind::Down(MouseButton::Left), column, row)
}

#[test]
fn titles_sort_and_hints_are_keys() {
    let mut app = app(false);
    click(&mut app, "↓ LOAD");
    assert!(screen(&mut app).contains("by load"));
    assert_eq!(busiest(&mut app), "n2");
    click(&mut app, "↓ LOAD");
    assert_eq!(busiest(&mut app), "n0", "once more, the other way around");
    click(&mut app, "STP");
    assert!(screen(&mut app).contains("cannot be sorted"));
    app.update(Millis(fixture::NOW.0 + 9_000), AppMessage::Tick);
    keys(&mut app, "2");
    click(&mut app, "? help");
    assert!(screen(&mut app).contains("help: Links"));
    press(&mut app, KeyCode::Esc);
    assert_eq!(click(&mut app, "q quit"), Some(AppEffect::Quit));
}

fn busiest(app: &mut App) -> String {
    keys(app, "gj");
    selected(app)
}

#[test]
fn alarms_are_a_click_away() {
    let mut app = app(false);
    show(&mut app, fixture::troubled());
    click(&mut app, "▲ 2 alarms");
    assert!(screen(&mut app).contains("┤ 5 Events ├"));
}

#[test]
fn folding_hides_and_finding_unfolds() {
    let mut app = app(false);
    keys(&mut app, "G");
    keys(&mut app, "H");
    assert!(screen(&mut app).contains("s1 +7"), "{}", screen(&mut app));
    assert!(!screen(&mut app).contains("n9 "));
    keys(&mut app, ":go n9");
    press(&mut app, KeyCode::Enter);
    assert_eq!(selected(&mut app), "n9");
    press(&mut app, KeyCode::Left);
    assert_eq!(selected(&mut app), "s3");
    press(&mut app, KeyCode::Left);
    assert!(screen(&mut app).contains("s3 +3"));
    press(&mut app, KeyCode::Right);
    assert!(!screen(&mut app).contains("s3 +3"));
    keys(&mut app, "L");
    assert_eq!(selected(&mut app), "s3");
    keys(&mut app, ":go nowhere");
    press(&mut app, KeyCode::Enter);
    assert!(screen(&mut app).contains("no node is called"));
}

#[test]
fn copying_and_the_mouse_are_asked_of_the_terminal() {
    let mut app = app(false);
    keys(&mut app, "j");
    assert_eq!(keys(&mut app, "y"), Some(AppEffect::Copy("n0".into())));
    let Some(AppEffect::Copy(detail)) = keys(&mut app, "Y") else {
        panic!("nothing copied");
    };
    assert!(detail.contains("path       s0 swp1 › n0\n"), "{detail}");
    assert_eq!(keys(&mut app, "v"), Some(AppEffect::Mouse(false)));
    assert_eq!(keys(&mut app, "v"), Some(AppEffect::Mouse(true)));
}

#[test]
fn filters_are_expressions_and_their_inverse() {
    let mut app = app(false);
    keys(&mut app, "/^n1[01] ");
    press(&mut app, KeyCode::Enter);
    let shown = screen(&mut app);
    assert!(shown.contains("n10 ") && shown.contains("n11 ") && !shown.contains("n9 "));
    press(&mut app, KeyCode::Esc);
    keys(&mut app, "/!^n");
    let shown = screen(&mut app);
    assert!(shown.contains("s3") && !shown.contains("n10 "), "{shown}");
}

#[test]
fn a_signal_ends_it_from_everywhere() {
    for before in ["", "?", "/x", "jm"] {
        let mut app = app(true);
        keys(&mut app, before);
        assert_eq!(
            app.update(fixture::NOW, AppMessage::Terminate),
            Some(AppEffect::Quit)
        );
    }
}

#[test]
fn jobs_beyond_those_listed_are_counted() {
    let mut app = app(false);
    let mut many = fixture::cluster();
    many.jobs_more = 4711;
    show(&mut app, many);
    keys(&mut app, "3");
    assert!(
        screen(&mut app).contains("and 4711 more"),
        "{}",
        screen(&mut app)
    );
    press(&mut app, KeyCode::End);
    press(&mut app, KeyCode::Enter);
    screen(&mut app); // It is about no job: there is nothing to tell of it.
}

#[test]
fn a_small_window_says_that_rows_are_hidden() {
    let mut app = app(false);
    keys(&mut app, "2");
    let shown = screen(&mut app);
    assert!(shown.contains(" 1 of 16 ─\n"), "{shown}");
}

#[test]
fn the_list_of_columns_shows_whole_texts() {
    let mut app = app(false);
    for panel in ["1", "2", "3", "4", "5"] {
        keys(&mut app, panel);
        keys(&mut app, "c");
        let shown = screen(&mut app);
        let inside = shown.lines().filter_map(|l| l.split('│').rev().nth(1));
        let listed = inside.filter(|l| l.starts_with("   ") || l.starts_with(" ▸"));
        let cut: Vec<_> = listed.filter(|l| l.contains('…')).collect();
        assert!(cut.is_empty(), "{cut:?}\n{shown}");
        press(&mut app, KeyCode::Enter);
    }
}

#[test]
fn a_job_that_ended_ran() {
    let mut app = app(false);
    keys(&mut app, "3j");
    let shown = screen(&mut app);
    assert!(shown.contains(" end\n"), "{shown}");
    assert!(!shown.contains(" now\n"), "{shown}");
    press(&mut app, KeyCode::Enter);
    let shown = screen(&mut app);
    assert!(shown.contains("\n  ran        "), "{shown}");
    assert!(!shown.contains("\n  running    "), "{shown}");
}

#[test]
fn jobs_in_the_order_in_which_they_run_have_no_column_of_that() {
    let mut app = app(false);
    keys(&mut app, "3");
    let shown = screen(&mut app);
    assert!(shown.contains("EPOCH "), "{shown}");
    assert!(!shown.contains('▾'), "{shown}");
}
