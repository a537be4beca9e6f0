//! Copying: a name, or the whole detail, as text.
use super::{App, AppEffect};
use crate::rows::RowKey;
use inventory::counted;

/// The width of a copied detail; nobody wraps it.
const UNWRAPPED: u16 = 400;

impl App {
    pub(super) fn copy(&mut self) -> Option<AppEffect> {
        let text = match self.panels[self.focus].selected.as_ref()? {
            RowKey::Node(name) => name.clone(),
            RowKey::Link {
                a,
                a_port,
                b,
                b_port,
            } => format!("{a} {a_port} - {b} {b_port}"),
            RowKey::Job(id) => id.clone(),
            RowKey::Epoch(number) => number.to_string(),
            RowKey::Event(_, text) | RowKey::Alarm(_, text) | RowKey::Pending(text) => text.clone(),
        };
        self.say(&format!("copied: {text}"), false);
        Some(AppEffect::Copy(text))
    }

    pub(super) fn copy_detail(&mut self) -> Option<AppEffect> {
        let key = self.panels[self.focus].selected.clone()?;
        let lines = (self.panel().detail)(&self.view(self.focus, UNWRAPPED), &key);
        let text: String = lines
            .iter()
            .map(|line| line.to_string().trim_end().to_owned() + "\n")
            .collect();
        self.say(
            &format!("copied the detail, {}", counted(lines.len(), "line")),
            false,
        );
        Some(AppEffect::Copy(text))
    }
}
