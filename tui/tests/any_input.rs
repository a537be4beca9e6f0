//! Whatever comes, from the network, the keyboard or the mouse, and in a window of any size: the
//! interface draws and goes on.
#[path = "campus/mod.rs"]
mod campus;
#[allow(
    dead_code,
    reason = "each test file needs its own part of the pictures"
)]
mod fixture;

use api::Snapshot;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use inventory::topology::{LinkState, NodeKind};
use inventory::{BitsPerSec, Millis};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tui::app::AppSettings;
use tui::{App, AppMessage};

#[derive(Debug, Clone)]
enum AnyInput {
    Key(KeyCode, KeyModifiers),
    Click(u16, u16),
    Wheel(u16, u16, bool),
    Size(u16, u16),
    Picture(usize),
    Network(Vec<(u8, u8, u8, u64)>),
    Lost,
    Later,
}

fn input() -> impl Strategy<Value = AnyInput> {
    let codes = prop_oneof![
        8 => prop::char::range(' ', '~').prop_map(KeyCode::Char),
        1 => any::<char>().prop_map(KeyCode::Char),
        4 => prop::sample::select(vec![
            KeyCode::Enter, KeyCode::Esc, KeyCode::Tab, KeyCode::BackTab, KeyCode::Backspace,
            KeyCode::Up, KeyCode::Down, KeyCode::Left, KeyCode::Right, KeyCode::Home,
            KeyCode::End, KeyCode::PageUp, KeyCode::PageDown, KeyCode::F(1),
        ]),
    ];
    let modifiers = prop_oneof![
        6 => Just(KeyModifiers::NONE),
        1 => Just(KeyModifiers::CONTROL),
    ];
    let links = prop::collection::vec((0..12u8, 0..12u8, 0..9u8, any::<u64>()), 0..20);
    prop_oneof![
        20 => (codes, modifiers).prop_map(|(code, modifiers)| AnyInput::Key(code, modifiers)),
        4 => (0..210u16, 0..70u16).prop_map(|(x, y)| AnyInput::Click(x, y)),
        2 => (0..210u16, 0..70u16, any::<bool>()).prop_map(|(x, y, up)| AnyInput::Wheel(x, y, up)),
        3 => (1..210u16, 1..70u16).prop_map(|(width, height)| AnyInput::Size(width, height)),
        2 => (0..5usize).prop_map(AnyInput::Picture),
        2 => links.prop_map(AnyInput::Network),
        1 => Just(AnyInput::Lost),
        1 => Just(AnyInput::Later),
    ]
}

/// Nodes and links in any order, with loops, unknown ends and odd figures.
fn network(links: &[(u8, u8, u8, u64)]) -> Snapshot {
    let mut s = campus::campus(1, 1, 3);
    let name = |n: u8| s.topology.nodes.get(usize::from(n)).map(|n| n.name.clone());
    let names: Vec<_> = links.iter().map(|&(a, b, ..)| (name(a), name(b))).collect();
    let pattern = s.topology.links[0].clone();
    for ((a, b), &(_, _, kind, rate)) in names.into_iter().zip(links) {
        let mut link = pattern.clone();
        link.a = a.unwrap_or_else(|| "gone".into());
        link.b = b.unwrap_or_else(|| "交换机\u{200b}".into());
        link.rate_bps = BitsPerSec(rate);
        link.state = [
            LinkState::Forwarding,
            LinkState::Blocked,
            LinkState::Unknown,
        ][usize::from(kind % 3)];
        s.topology.links.push(link);
    }
    s.topology.nodes[1].kind = NodeKind::Router;
    s.loads.truncate(links.len());
    s
}

fn picture(number: usize) -> Snapshot {
    match number {
        0 => fixture::cluster(),
        1 => fixture::troubled(),
        2 => fixture::hostile(),
        3 => campus::alarmed(campus::campus(3, 2, 4), "compute-005"),
        _ => Snapshot::default(),
    }
}

fn message(input: AnyInput, size: &mut (u16, u16)) -> AppMessage {
    match input {
        AnyInput::Key(code, modifiers) => AppMessage::Key(KeyEvent::new(code, modifiers)),
        AnyInput::Click(x, y) => mouse(MouseEventKind::Down(MouseButton::Left), x, y),
        AnyInput::Wheel(x, y, true) => mouse(MouseEventKind::ScrollUp, x, y),
        AnyInput::Wheel(x, y, false) => mouse(MouseEventKind::ScrollDown, x, y),
        AnyInput::Size(width, height) => {
            *size = (width, height);
            AppMessage::Resize
        }
        AnyInput::Picture(number) => shown(&picture(number)),
        AnyInput::Network(links) => AppMessage::Picture(Box::new(network(&links))),
        AnyInput::Lost => AppMessage::Lost("refused\u{1b}[2J; look at the controller".into()),
        AnyInput::Later => AppMessage::Tick,
    }
}

fn mouse(kind: MouseEventKind, column: u16, row: u16) -> AppMessage {
    AppMessage::Mouse(MouseEvent {
        kind,
        column,
        row,
        modifiers: KeyModifiers::NONE,
    })
}

fn shown(s: &Snapshot) -> AppMessage {
    let json = serde_json::to_string(s).unwrap();
    AppMessage::Picture(Box::new(tui::sanitize::snapshot(&json).unwrap()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_makes_it_panic(
        inputs in prop::collection::vec(input(), 1..40),
        lab in any::<bool>(),
        ascii in any::<bool>(),
        live in any::<bool>(),
    ) {
        let mut app = App::new(AppSettings { lab, ascii, live, ..AppSettings::default() });
        let mut size = (80, 24);
        let mut now = fixture::NOW;
        for input in inputs {
            now = Millis(now.0 + 700);
            let message = message(input, &mut size);
            app.update(now, message);
            let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
            terminal.draw(|frame| app.draw(frame)).unwrap();
            let odd = |c: &ratatui::buffer::Cell| c.symbol().contains(char::is_control);
            prop_assert!(!terminal.backend().buffer().content.iter().any(odd));
        }
    }
}
