//! Typing: a filter, or a command.
use super::{App, AppEffect, InputMode};
use crate::commands::{self, TypedCommand};
use crate::panels::PANELS;
use crate::sanitize;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

impl App {
    /// A key that has no action of its own is text.
    pub(super) fn type_key(&mut self, event: KeyEvent) {
        let KeyCode::Char(c) = event.code else {
            return;
        };
        let other = KeyModifiers::CONTROL | KeyModifiers::ALT;
        if event.modifiers.intersects(other) {
            return;
        }
        let typed = sanitize::text(&c.to_string());
        match &mut self.mode {
            InputMode::Filter => {
                let text = self.panels[self.focus].filter.text().to_owned() + &typed;
                self.set_filter(&text);
            }
            InputMode::Command { text } => text.push_str(&typed),
            _ => {}
        }
    }

    pub(super) fn erase(&mut self) {
        match &mut self.mode {
            InputMode::Filter => {
                let mut text = self.panels[self.focus].filter.text().to_owned();
                text.pop();
                self.set_filter(&text);
            }
            InputMode::Command { text } => {
                let erased = text.pop();
                if erased.is_none() {
                    self.mode = InputMode::Browse;
                }
            }
            _ => {}
        }
    }

    pub(super) fn begin_command(&mut self) {
        self.mode = InputMode::Command {
            text: String::new(),
        };
    }

    pub(super) fn complete(&mut self) {
        let panel = self.panel();
        if let InputMode::Command { text } = &mut self.mode {
            *text = commands::complete(text, panel);
        }
    }

    pub(super) fn command(&mut self, text: &str) -> Option<AppEffect> {
        let command = match commands::parse(text, self.panel()) {
            Ok(command) => command?,
            Err(problem) => {
                self.say(&problem.to_string(), true);
                return None;
            }
        };
        match command {
            TypedCommand::Act(action) => return self.act(action),
            TypedCommand::Sort(sort, reverse) => self.sort_by(sort, reverse),
            TypedCommand::Columns(columns) => {
                let all = (0..PANELS[self.focus].columns.len()).collect();
                let place = &mut self.panels[self.focus];
                (place.columns, place.lines) = (columns.unwrap_or(all), None);
            }
            TypedCommand::Filter(text) => self.set_filter(&text),
            TypedCommand::Theme(theme) => self.set_theme(theme),
            TypedCommand::Go(name) => {
                if !self.find_node(&name) {
                    self.say(&format!("no node is called \"{name}\""), true);
                }
            }
            TypedCommand::Mouse(taken) => return self.toggle_mouse(taken),
            TypedCommand::Ascii(ascii) => self.look.ascii = ascii,
        }
        None
    }
}
