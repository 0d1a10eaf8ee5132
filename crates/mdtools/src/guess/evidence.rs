//! What speaks for an arrangement of members: counts of checks that came out right, by kind.

use std::fmt;

use words::{Message, say};

use crate::catalogue;

/// What it proves that a check came out right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The sector says itself that it belongs there.
    Place,
    /// Members go together as they would by the layout: copies, P and Q.
    Relation,
    /// The sector could as well be another of its kind.
    Plausible,
    /// It comes out the same for every order, chunk and layout.
    Shared,
}

/// What was found of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Of what.
    pub kind: Message,
    /// What one of it proves.
    pub proof: Proof,
    /// How often it was as it should be.
    pub fits: u32,
    /// How often it was not.
    pub misfits: u32,
}

impl Evidence {
    /// The share that agrees, in millionths.
    pub(super) fn share(&self) -> u32 {
        let all = u64::from(self.fits) + u64::from(self.misfits);
        (u64::from(self.fits) * u64::from(super::WHOLE)).checked_div(all).unwrap_or(0) as u32
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (all, kind) = (self.fits + self.misfits, self.kind.template());
        f.write_str(&say!(catalogue::SO_MANY_OF, fits = self.fits, all = all, kind = kind))
    }
}

/// Counts by kind, in the order in which the kinds first appear.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally(pub Vec<Evidence>);

impl Tally {
    pub(super) fn count(&mut self, kind: Message, proof: Proof, fits: bool) {
        let row = match self.0.iter_mut().position(|row| row.kind == kind) {
            Some(index) => &mut self.0[index],
            None => {
                self.0.push(Evidence { kind, proof, fits: 0, misfits: 0 });
                self.0.last_mut().expect("just pushed")
            }
        };
        if fits {
            row.fits += 1;
        } else {
            row.misfits += 1;
        }
    }

    pub(super) fn fits(&self) -> u32 {
        self.0.iter().map(|row| row.fits).sum()
    }

    pub(super) fn misfits(&self) -> u32 {
        self.0.iter().map(|row| row.misfits).sum()
    }
}
