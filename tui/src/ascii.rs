//! `--ascii`: every panel draws Unicode; this pass over the finished frame puts ASCII in its place.
use ratatui::buffer::Buffer;

/// Replaces every cell that is not printable ASCII.
pub(crate) fn degrade(buffer: &mut Buffer) {
    let mut tail = 0;
    for cell in &mut buffer.content {
        let symbol = cell.symbol();
        if tail > 0 {
            // The second half of a wide character.
            tail -= 1;
            cell.set_symbol(" ");
            continue;
        }
        if symbol.bytes().all(|b| (0x20..0x7f).contains(&b)) {
            continue;
        }
        tail = ratatui::text::Span::raw(symbol).width().saturating_sub(1);
        let plain = stand_in(symbol.chars().next().unwrap_or(' '));
        cell.set_symbol(plain);
    }
}

fn stand_in(c: char) -> &'static str {
    match c {
        '─' | '╌' | '–' | '╶' | '┈' => "-",
        '━' | '╸' | '═' | '▬' => "=",
        '│' | '┊' | '┆' | '▌' | '▎' => "|",
        '├' | '└' | '┌' | '┐' | '┘' | '┤' | '┬' | '┴' | '┼' | '╭' | '╮' | '╰' | '╯' => {
            "+"
        }
        '▁' | '▂' => "_",
        '▃' | '▄' | '▅' => ":",
        '▆' | '▇' | '█' => "#",
        '▸' | '→' | '▶' | '›' => ">",
        '◂' | '←' | '◀' => "<",
        '↑' | '▲' | '▴' => "^",
        '↓' | '▼' | '▾' => "v",
        '◆' => "*",
        '▪' => "#",
        '○' | '●' => "o",
        '·' => ".",
        '…' => "~",
        '✖' | '×' => "x",
        '‖' => "=",
        '◔' => "@",
        '≈' => "%",
        ' ' | '\u{a0}' => " ",
        _ => "?",
    }
}
