//! The positions of the parts of the screen. Pure.

use ratatui::layout::Rect;

use super::chosen::{Chosen, Page};

/// Minimum columns and rows for the list and the output side by side.
const WIDE: (u16, u16) = (80, 16);
/// Minimum columns and rows for more than one line.
const LEAST: (u16, u16) = (20, 4);

/// The places of the parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub header: Rect,
    pub list: Option<Rect>,
    /// The rule between the list and the text.
    pub rule: Option<Rect>,
    /// The lines that name the owner of the text.
    pub title: Option<Rect>,
    /// The output, or the page that replaces it.
    pub text: Option<Rect>,
    pub notice: Option<Rect>,
    pub footer: Rect,
}

/// Returns whether the list and the text fit side by side.
pub(super) fn is_wide(area: Rect) -> bool {
    area.width >= WIDE.0 && area.height >= WIDE.1
}

/// Returns whether only the list is shown.
pub(super) fn is_list(area: Rect, chosen: &Chosen) -> bool {
    chosen.list && chosen.page.is_none() && !is_wide(area)
}

/// Places the parts; `None` if only one line fits.
pub(super) fn layout(area: Rect, chosen: &Chosen) -> Option<Layout> {
    if area.width < LEAST.0 || area.height < LEAST.1 {
        return None;
    }
    if chosen.alone.is_some() {
        return Some(Layout {
            text: Some(area),
            ..Layout::default()
        });
    }
    let line = |y| Rect::new(area.x, y, area.width, 1);
    let has_notice = area.height >= 8;
    let rows = area.height - 2 - u16::from(has_notice);
    let body = Rect::new(area.x, area.y + 1, area.width, rows);
    let mut parts = Layout {
        header: line(area.y),
        notice: has_notice.then(|| line(area.bottom() - 2)),
        footer: line(area.bottom() - 1),
        ..Layout::default()
    };
    if is_list(area, chosen) {
        parts.list = Some(body);
        return Some(parts);
    }
    let mut text = body;
    let is_help = matches!(chosen.page, Some((Page::Help, _)));
    if is_wide(area) && !chosen.no_list && !is_help {
        let list = (area.width / 3).clamp(30, 44);
        parts.list = Some(Rect { width: list, ..body });
        parts.rule = Some(Rect::new(area.x + list, body.y, 1, rows));
        text = Rect::new(area.x + list + 2, body.y, area.width - list - 2, rows);
    }
    let title = match area.height {
        ..5 => 0,
        5..16 => 1,
        _ => 2,
    };
    parts.title = (title > 0).then_some(Rect {
        height: title,
        ..text
    });
    parts.text = Some(Rect::new(text.x, text.y + title, text.width, rows - title));
    Some(parts)
}
