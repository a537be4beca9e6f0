//! The division of the window: all panels at once in a roomy window, one panel with its detail in
//! any other.
use crate::app::App;
use ratatui::layout::{Constraint, Layout, Rect};

/// The smallest window that shows anything.
pub(super) const SMALLEST: (u16, u16) = (40, 10);
/// From this size on all panels are shown at once.
const ROOMY: (u16, u16) = (110, 34);

/// The most lines of a banner.
const BANNER: usize = 4;

/// The place of every part of the screen.
pub(super) struct ScreenRegions {
    pub(super) header: Rect,
    pub(super) banner: Rect,
    /// The line of tabs, if only one panel is shown.
    pub(super) tabs: Option<Rect>,
    /// The panels that are shown, by index.
    pub(super) panels: Vec<(usize, Rect)>,
    pub(super) detail: Rect,
    pub(super) footer: Rect,
}

impl App {
    pub(super) fn regions(&self, area: Rect) -> ScreenRegions {
        let banner = self.banner_lines(area.width).len().min(BANNER) as u16;
        let [header, banner, body, footer] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(banner),
            Constraint::Min(0),
            Constraint::Length(1),
        ])
        .areas(area);
        let roomy = area.width >= ROOMY.0 && area.height >= ROOMY.1;
        let (tabs, panels, detail) = if roomy && !self.zoomed {
            let (panels, detail) = all_panels(body);
            (None, panels, detail)
        } else {
            let [tabs, body] =
                Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(body);
            let (panel, detail) = self.one_panel(body);
            let panels = panel.map(|area| (self.focus, area)).into_iter().collect();
            (Some(tabs), panels, detail)
        };
        ScreenRegions {
            header,
            banner,
            tabs,
            panels,
            detail,
            footer,
        }
    }

    /// The places of the focused panel and of the detail: beside each other in a wide window, else
    /// below each other. The open detail of a narrow window takes the panel's place.
    fn one_panel(&self, body: Rect) -> (Option<Rect>, Rect) {
        if body.width >= ROOMY.0 {
            let [panel, _, detail] = Layout::horizontal([
                Constraint::Percentage(60),
                Constraint::Length(1),
                Constraint::Fill(1),
            ])
            .areas(body);
            return (Some(panel), detail);
        }
        if self.in_detail {
            return (None, body);
        }
        let third = (body.height / 3)
            .max(self.panel().detail_height)
            .min(body.height / 2);
        let [panel, detail] =
            Layout::vertical([Constraint::Fill(1), Constraint::Length(third)]).areas(body);
        (Some(panel), detail)
    }
}

/// The places of all panels and of the detail.
fn all_panels(body: Rect) -> (Vec<(usize, Rect)>, Rect) {
    let [left, _, right] = Layout::horizontal([
        Constraint::Percentage(55),
        Constraint::Length(1),
        Constraint::Fill(1),
    ])
    .areas(body);
    let [topology, detail] =
        Layout::vertical([Constraint::Percentage(58), Constraint::Fill(1)]).areas(left);
    let [links, jobs, epochs, events] = Layout::vertical([
        Constraint::Percentage(22),
        Constraint::Percentage(38),
        Constraint::Percentage(17),
        Constraint::Fill(1),
    ])
    .areas(right);
    let panels = [topology, links, jobs, epochs, events]
        .into_iter()
        .enumerate()
        .collect();
    (panels, detail)
}
