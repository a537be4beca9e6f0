//! The time of a frame with 1,000 switches and 20,000 hosts: what a key costs, and what a new
//! picture costs.
use criterion::{Criterion, criterion_group, criterion_main};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use inventory::Millis;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::hint::black_box;
use std::time::Duration;
use tui::app::AppSettings;
use tui::{App, AppMessage};

#[allow(dead_code, reason = "the tests need more of it")]
#[path = "../tests/campus/mod.rs"]
mod campus;

const SIZES: [(u16, u16); 2] = [(80, 24), (200, 60)];

fn key(app: &mut App, code: KeyCode) {
    let event = KeyEvent::new(code, KeyModifiers::NONE);
    app.update(Millis(1), AppMessage::Key(event));
}

fn frames(c: &mut Criterion) {
    // 1 + 31 + 31 * 31 switches, 20 hosts on each of the last.
    let fleet = campus::campus(31, 31, 21);
    let (switches, nodes) = (fleet.switches.len(), fleet.topology.nodes.len());
    let mut group = c.benchmark_group(format!("{switches} switches, {} hosts", nodes - switches));
    group
        .measurement_time(Duration::from_secs(3))
        .sample_size(20);
    for (folded, state) in [('H', "folded"), ('L', "unfolded")] {
        for size in SIZES {
            let mut app = App::new(AppSettings::default());
            app.update(Millis(0), AppMessage::Picture(Box::new(fleet.clone())));
            key(&mut app, KeyCode::Char(folded));
            let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
            let name = |what: &str| format!("{state} {}x{} {what}", size.0, size.1);
            terminal.draw(|frame| app.draw(frame)).unwrap();
            group.bench_function(name("a key"), |b| {
                b.iter(|| {
                    key(&mut app, KeyCode::Down);
                    terminal.draw(|frame| app.draw(frame)).unwrap();
                })
            });
            key(&mut app, KeyCode::Char('/'));
            group.bench_function(name("a letter of a filter"), |b| {
                b.iter(|| {
                    key(&mut app, KeyCode::Char('1'));
                    terminal.draw(|frame| app.draw(frame)).unwrap();
                    key(&mut app, KeyCode::Backspace);
                    terminal.draw(|frame| app.draw(frame)).unwrap();
                })
            });
            key(&mut app, KeyCode::Esc);
            group.bench_function(name("a picture"), |b| {
                b.iter(|| {
                    let picture = Box::new(black_box(fleet.clone()));
                    app.update(Millis(1), AppMessage::Picture(picture));
                    terminal.draw(|frame| app.draw(frame)).unwrap();
                })
            });
        }
    }
    group.finish();
}

criterion_group!(benches, frames);
criterion_main!(benches);
