//! Whole screens as text. `UPDATE_GOLDEN=1` writes them anew; look at the difference before you
//! commit it.
#[path = "campus/mod.rs"]
mod campus;
#[allow(
    dead_code,
    reason = "each test file needs its own part of the pictures"
)]
mod fixture;

use api::Snapshot;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use inventory::Millis;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use std::path::Path;
use tui::app::AppSettings;
use tui::{App, AppMessage, Theme};

const SIZES: [(u16, u16); 2] = [(80, 24), (120, 40)];

struct GoldenSession {
    app: App,
    now: Millis,
}

impl GoldenSession {
    fn new(look: AppSettings) -> GoldenSession {
        GoldenSession {
            app: App::new(AppSettings {
                address: "127.0.0.1:7171".into(),
                ..look
            }),
            now: fixture::NOW,
        }
    }

    /// Every picture goes through JSON and the cleaning, like a real one.
    fn with(look: AppSettings, snapshot: &Snapshot) -> GoldenSession {
        let mut session = GoldenSession::new(look);
        session.picture(snapshot);
        session
    }

    fn picture(&mut self, snapshot: &Snapshot) {
        let json = serde_json::to_string(snapshot).unwrap();
        self.tell(AppMessage::Picture(Box::new(
            tui::sanitize::snapshot(&json).unwrap(),
        )));
    }

    fn tell(&mut self, message: AppMessage) {
        self.app.update(self.now, message);
    }

    /// Each character is a key; `\n` is enter, `\t` tab.
    fn keys(&mut self, keys: &str) {
        for c in keys.chars() {
            let code = match c {
                '\n' => KeyCode::Enter,
                '\t' => KeyCode::Tab,
                c => KeyCode::Char(c),
            };
            self.tell(AppMessage::Key(KeyEvent::new(code, KeyModifiers::NONE)));
            self.screen((80, 24));
        }
    }

    fn screen(&mut self, size: (u16, u16)) -> TestBackend {
        let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
        terminal.draw(|frame| self.app.draw(frame)).unwrap();
        terminal.backend().clone()
    }

    fn text(&mut self, size: (u16, u16)) -> String {
        tui::text(self.screen(size).buffer())
    }
}

fn golden(name: &str, session: &mut GoldenSession) {
    for size in SIZES {
        let shown = session.text(size);
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("tests/screens/{name}-{}x{}.txt", size.0, size.1));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&file, &shown).unwrap();
        }
        let wanted = std::fs::read_to_string(&file)
            .unwrap_or_else(|e| panic!("{}: {e}; write it with UPDATE_GOLDEN=1", file.display()));
        assert!(
            shown == wanted,
            "{} differs; now it is\n{shown}",
            file.display()
        );
    }
}

#[test]
fn every_panel() {
    let mut s = GoldenSession::with(AppSettings::default(), &fixture::cluster());
    for (key, name) in [
        ("1", "topology"),
        ("2", "links"),
        ("3", "jobs"),
        ("4", "epochs"),
        ("5", "events"),
    ] {
        s.keys(key);
        golden(name, &mut s);
    }
}

#[test]
fn spines_are_one_node_and_the_detail_has_each_way() {
    let mut s = GoldenSession::with(AppSettings::default(), &fixture::fabric());
    s.keys("jjjj");
    golden("fabric", &mut s);
    s.keys("\n");
    golden("fabric-detail", &mut s);
}

#[test]
fn trouble_is_named() {
    let mut s = GoldenSession::with(AppSettings::default(), &fixture::troubled());
    s.keys("jjjjjjjj");
    golden("troubled", &mut s);
    s.keys("3j");
    golden("job-aside", &mut s);
}

#[test]
fn detail_takes_the_window_where_it_is_small() {
    let mut s = GoldenSession::with(AppSettings::default(), &fixture::cluster());
    s.keys("3\n");
    golden("detail", &mut s);
}

#[test]
fn help() {
    let mut s = GoldenSession::with(
        AppSettings {
            lab: true,
            ..AppSettings::default()
        },
        &fixture::cluster(),
    );
    s.keys("?");
    golden("help", &mut s);
    s.keys("jjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjj");
    golden("help-panel", &mut s);
}

#[test]
fn choosing_a_switch() {
    let mut s = GoldenSession::with(
        AppSettings {
            lab: true,
            ..AppSettings::default()
        },
        &fixture::cluster(),
    );
    s.keys("jmj");
    golden("choose", &mut s);
}

#[test]
fn filter() {
    let mut s = GoldenSession::with(AppSettings::default(), &fixture::cluster());
    s.keys("/n10");
    golden("filter-typing", &mut s);
    s.keys("\ns");
    golden("filter", &mut s);
}

#[test]
fn frozen_stands_still() {
    let mut s = GoldenSession::with(AppSettings::default(), &fixture::cluster());
    s.keys(" ");
    s.now = Millis(s.now.0 + 12_000);
    s.picture(&fixture::troubled());
    golden("frozen", &mut s);
}

#[test]
fn disconnected_keeps_the_last_picture() {
    let mut s = GoldenSession::with(AppSettings::default(), &fixture::cluster());
    s.now = Millis(s.now.0 + 3_000);
    s.tell(AppMessage::Lost("connection refused".into()));
    s.now = Millis(s.now.0 + 61_000);
    s.tell(AppMessage::Lost("connection refused".into()));
    golden("disconnected", &mut s);
}

#[test]
fn empty() {
    golden(
        "empty",
        &mut GoldenSession::with(
            AppSettings::default(),
            &Snapshot {
                at: fixture::NOW,
                ..Snapshot::default()
            },
        ),
    );
    let mut s = GoldenSession::new(AppSettings::default());
    s.tell(AppMessage::Lost(
        "https://head:7171: io: invalid peer certificate: UnknownIssuer; its certificate is not by \
         an authority of --ca FILE"
            .into(),
    ));
    golden("never-connected", &mut s);
}

#[test]
fn long_names_stay_whole() {
    let mut s = GoldenSession::with(
        AppSettings::default(),
        &campus::alarmed(campus::campus(2, 2, 3), "compute-008"),
    );
    s.keys(":go compute-008\n");
    golden("deep", &mut s);
    for size in SIZES {
        let shown = s.text(size);
        let path = "core-1 Hu1/0/2 › dist-02 Te1/1/1 › access-02-01 Gi1/0/2 › compute-008";
        let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(size.0 > 80 || words.contains(path), "{shown}");
        for name in ["compute-008", "access-02-01", "dist-02"] {
            assert!(shown.contains(name), "{name}\n{shown}");
        }
    }
    s.keys("2");
    golden("deep-links", &mut s);
    let mut s = GoldenSession::with(
        AppSettings::default(),
        &campus::alarmed(campus::campus(2, 2, 3), "compute-008"),
    );
    s.keys("H");
    golden("folded", &mut s);
}

#[test]
fn a_narrow_window_keeps_names() {
    let deep = campus::campus(2, 2, 3);
    for width in [40, 50, 60, 70, 80, 100, 109, 110, 120, 200] {
        let mut s = GoldenSession::with(AppSettings::default(), &deep);
        s.keys("GG");
        let shown = s.text((width, 40));
        assert!(shown.contains("compute-012"), "{width}\n{shown}");
    }
}

#[test]
fn columns_can_be_chosen() {
    let mut s = GoldenSession::with(AppSettings::default(), &fixture::cluster());
    s.keys("cjj jj");
    golden("columns", &mut s);
    s.keys("\n:columns stp,trend\nsr");
    golden("columns-chosen", &mut s);
}

#[test]
fn each_collective_has_its_own_line() {
    let mut snapshot = fixture::cluster();
    let mut s = GoldenSession::with(AppSettings::default(), &snapshot);
    s.keys("3");
    for second in 1..40 {
        snapshot.at = Millis(fixture::NOW.0 + 1_000 * second);
        let record = &mut snapshot.jobs[0].record;
        record.updated = snapshot.at;
        // One second the one, the next second the other.
        let call = &mut record.calls[if second % 2 == 0 { 0 } else { 2 }];
        call.calls += if second % 2 == 0 { 6 } else { 3 };
        call.seconds += 1.0;
        call.bound_seconds += 0.9;
        call.bounded_seconds = call.bounded_seconds.map(|s| s + 1.0);
        s.now = snapshot.at;
        s.picture(&snapshot);
    }
    golden("series", &mut s);
    let shown = s.text((120, 40));
    assert!(
        shown.contains("alltoall  ") && shown.contains("allgather  "),
        "{shown}"
    );
}

#[test]
fn hostile_names() {
    for (key, name) in [("1", "hostile"), ("5", "hostile-events")] {
        let mut s = GoldenSession::with(AppSettings::default(), &fixture::hostile());
        s.keys(key);
        golden(name, &mut s);
        for size in [(80, 24), (120, 40), (47, 11), (200, 60)] {
            let screen = s.screen(size);
            assert!(
                screen
                    .buffer()
                    .content
                    .iter()
                    .all(|c| !c.symbol().contains(char::is_control)),
                "{size:?}"
            );
        }
    }
}

#[test]
fn ascii_is_ascii() {
    let mut s = GoldenSession::with(
        AppSettings {
            ascii: true,
            ..AppSettings::default()
        },
        &fixture::troubled(),
    );
    golden("ascii", &mut s);
    for key in "12345?".chars() {
        s.keys(&key.to_string());
        for size in SIZES {
            assert!(s.text(size).is_ascii(), "{key}: {}", s.text(size));
        }
    }
}

#[test]
fn themes_change_colours_only() {
    for key in "12345".chars() {
        let shown = |theme| {
            let mut s = GoldenSession::with(
                AppSettings {
                    theme,
                    ..AppSettings::default()
                },
                &fixture::troubled(),
            );
            s.keys(&key.to_string());
            (s.text((120, 40)), s.screen((120, 40)))
        };
        let (mono, screen) = shown(Theme::Mono);
        assert!(
            screen
                .buffer()
                .content
                .iter()
                .all(|c| c.fg == Color::Reset && c.bg == Color::Reset),
            "mono has a colour on panel {key}"
        );
        for (_, theme) in Theme::NAMES {
            assert_eq!(shown(theme).0, mono, "{theme:?} on panel {key}");
        }
    }
}

#[test]
fn every_size_draws() {
    let mut s = GoldenSession::with(
        AppSettings {
            lab: true,
            ..AppSettings::default()
        },
        &fixture::hostile(),
    );
    for key in ["1", "2", "3", "4", "5", "\n", "?", "?", "/", "x\n", "z"] {
        s.keys(key);
        for width in (1..130).step_by(11) {
            for height in (1..45).step_by(5) {
                s.screen((width, height));
            }
        }
    }
}
