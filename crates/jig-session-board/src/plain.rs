//! The board as text, for a panel of another program.

use crate::views::Screen;

/// The lines of a screen, with colours as escape sequences where they are wanted. The focused row has its mark, so that
/// it is found without colour too.
#[must_use]
pub fn lines(screen: &Screen, color: bool) -> Vec<String> {
    screen.lines.iter().map(|line| line.paint(color)).collect()
}
