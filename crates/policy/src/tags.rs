//! Tag set of a call: what can be said of it in one word each.

use std::ops::{BitOr, BitOrAssign};

/// A set of tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tags(u8);

impl Tags {
    /// Nothing to say.
    pub(super) const NONE: Tags = Tags(0);
    /// Something may be lost for good.
    pub(super) const DESTRUCTIVE: Tags = Tags(1);
    /// It changes the machine or the gateway itself, or uses the rights of another user.
    pub(super) const PRIVILEGED: Tags = Tags(2);
    /// It talks to other machines.
    pub(super) const NETWORK: Tags = Tags(4);
    /// It changes something.
    pub(super) const MUTATING: Tags = Tags(8);
    /// A path that is not below the home directory.
    pub(super) const OUTSIDE_HOME: Tags = Tags(16);
    /// A path with a name that begins with a dot.
    pub(super) const HIDDEN_PATH: Tags = Tags(32);
    /// It runs on a device.
    pub(super) const DEVICE: Tags = Tags(64);
    /// What it does could not be told.
    pub(super) const OPAQUE: Tags = Tags(128);

    /// All of them by name, in alphabetical order.
    const NAMES: [(&'static str, Tags); 8] = [
        ("destructive", Tags::DESTRUCTIVE),
        ("device", Tags::DEVICE),
        ("hidden-path", Tags::HIDDEN_PATH),
        ("mutating", Tags::MUTATING),
        ("network", Tags::NETWORK),
        ("opaque", Tags::OPAQUE),
        ("outside-home", Tags::OUTSIDE_HOME),
        ("privileged", Tags::PRIVILEGED),
    ];

    /// The tag of that name, also under the names that policies of older systems use.
    pub(super) fn named(name: &str) -> Option<Tags> {
        let name = match name {
            "remote" => "device",
            "unclassified" => "opaque",
            name => name,
        };
        Tags::NAMES.iter().find(|(known, _)| *known == name).map(|(_, tag)| *tag)
    }

    /// Their names, sorted.
    pub(super) fn names(self) -> Vec<String> {
        let has = |tag: Tags| self.intersects(tag);
        Tags::NAMES.iter().filter(|(_, tag)| has(*tag)).map(|(name, _)| name.to_string()).collect()
    }

    /// These and the others.
    pub(super) const fn and(self, other: Tags) -> Tags {
        Tags(self.0 | other.0)
    }

    /// Those of them that are among the others.
    pub(super) fn only(self, other: Tags) -> Tags {
        Tags(self.0 & other.0)
    }

    /// Whether one of the others is among these.
    pub(super) fn intersects(self, other: Tags) -> bool {
        self.only(other) != Tags::NONE
    }

    /// Whether all of the others are among these.
    pub(super) fn contains(self, other: Tags) -> bool {
        self.only(other) == other
    }
}

impl BitOr for Tags {
    type Output = Tags;

    fn bitor(self, other: Tags) -> Tags {
        self.and(other)
    }
}

impl BitOrAssign for Tags {
    fn bitor_assign(&mut self, other: Tags) {
        self.0 |= other.0;
    }
}
