//! How safe a stack is found to be, in one letter.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Grades, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Grade {
    /// Nothing is lost but the last second.
    A,
    /// Nothing that was promised is lost.
    B,
    /// Nothing that was promised is lost, but it takes a repair, or old data come to light.
    C,
    /// Promises are broken.
    D,
    /// All is lost now and then.
    E,
}

impl Grade {
    /// All of them, from best to worst.
    pub const ALL: [Self; 5] = [Self::A, Self::B, Self::C, Self::D, Self::E];
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl FromStr for Grade {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|grade| grade.to_string() == text);
        found.ok_or_else(|| {
            format!("no grade is called `{text}`: A, B, C, D, E, from best to worst")
        })
    }
}

/// What `must = ["grade >= B"]` asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeastGrade {
    /// In the plan's words.
    pub text: String,
    /// The worst grade that is taken.
    pub grade: Grade,
}
