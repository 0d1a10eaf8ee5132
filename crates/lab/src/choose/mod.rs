//! From drives, a kind of work and how many drives may be lost to the layout to take.

mod layout;
mod make;
mod work;

pub use layout::{ChosenLayout, Member, Order};
pub use make::{MadeArray, Making, MakingStep};
pub use work::Work;
