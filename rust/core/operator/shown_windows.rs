//! The windows that a sink has while another window waits: mostly one, which takes no memory of
//! its own.

use std::slice;

use crate::core::window::Window;

/// Windows, in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ShownWindows {
    /// No window.
    #[default]
    None,
    /// A single window.
    One(Window),
    /// Two windows or more.
    Several(Vec<Window>),
}

impl ShownWindows {
    /// The windows.
    pub fn as_slice(&self) -> &[Window] {
        match self {
            Self::None => &[],
            Self::One(window) => slice::from_ref(window),
            Self::Several(windows) => windows,
        }
    }

    /// All windows but this one.
    pub fn without(self, window: Window) -> Self {
        match self {
            Self::None => Self::None,
            Self::One(own) if own != window => self,
            Self::One(_) => Self::None,
            Self::Several(windows) => windows.into_iter().filter(|own| *own != window).collect(),
        }
    }
}

impl Extend<Window> for ShownWindows {
    fn extend<I: IntoIterator<Item = Window>>(&mut self, windows: I) {
        for window in windows {
            match self {
                Self::None => *self = Self::One(window),
                Self::One(first) => *self = Self::Several(vec![*first, window]),
                Self::Several(windows) => windows.push(window),
            }
        }
    }
}

impl FromIterator<Window> for ShownWindows {
    fn from_iter<I: IntoIterator<Item = Window>>(windows: I) -> Self {
        let mut shown = Self::None;
        shown.extend(windows);
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::time::Time;

    #[test]
    fn windows_stay_in_the_order_in_which_they_were_added() {
        let window = |start| Window {
            start: Time(start),
            end: Time(start),
        };
        for count in 0..5 {
            let windows: Vec<Window> = (0..count).rev().map(window).collect();
            let mut shown: ShownWindows = windows.iter().copied().collect();
            assert_eq!(shown.as_slice(), windows);
            for gone in -1..count {
                let others: Vec<Window> = (0..count)
                    .rev()
                    .filter(|&own| own != gone)
                    .map(window)
                    .collect();
                assert_eq!(shown.clone().without(window(gone)).as_slice(), others);
            }
            shown.extend([window(9), window(8)]);
            assert_eq!(
                shown.as_slice(),
                [&windows[..], &[window(9), window(8)]].concat()
            );
        }
    }
}
