//! Reasoning levels: how much a model is to think.

use std::str::FromStr;

/// How much a model is to think, from nothing to a lot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reasoning {
    /// Not at all.
    #[default]
    Off,
    /// As little as it can.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// As much as it can.
    Xhigh,
}

impl Reasoning {
    /// All levels, from nothing to a lot.
    pub const ALL: [Reasoning; 6] = [
        Reasoning::Off,
        Reasoning::Minimal,
        Reasoning::Low,
        Reasoning::Medium,
        Reasoning::High,
        Reasoning::Xhigh,
    ];

    /// The level's name, as config spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Reasoning::Off => "off",
            Reasoning::Minimal => "minimal",
            Reasoning::Low => "low",
            Reasoning::Medium => "medium",
            Reasoning::High => "high",
            Reasoning::Xhigh => "xhigh",
        }
    }

    /// The nearest level among `levels`: the next above, else the next below; `Off` where there is none.
    pub fn clamp_to(self, levels: &[Reasoning]) -> Reasoning {
        if self == Reasoning::Off {
            return self;
        }
        let above = levels.iter().filter(|level| **level >= self).min();
        let below = levels.iter().filter(|level| **level < self).max();
        above.or(below).copied().unwrap_or_default()
    }
}

impl FromStr for Reasoning {
    type Err = String;

    fn from_str(text: &str) -> Result<Reasoning, String> {
        let name = text.trim().to_ascii_lowercase();
        Reasoning::ALL.into_iter().find(|level| level.as_str() == name).ok_or_else(|| {
            format!("`{text}` is no reasoning level; use off, minimal, low, medium, high or xhigh")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Reasoning::*;
    use super::*;

    #[test]
    fn an_unsupported_level_moves_up_then_down() {
        assert_eq!(Minimal.clamp_to(&[Low, Medium, High]), Low);
        assert_eq!(Xhigh.clamp_to(&[Low, Medium, High]), High);
        assert_eq!(Medium.clamp_to(&[Low, High]), High);
        assert_eq!(Medium.clamp_to(&[]), Off);
        assert_eq!(Off.clamp_to(&[Low, High]), Off);
    }

    #[test]
    fn levels_are_read_as_they_are_written() {
        for level in Reasoning::ALL {
            assert_eq!(level.as_str().parse(), Ok(level));
        }
        assert!("lots".parse::<Reasoning>().is_err());
    }
}
