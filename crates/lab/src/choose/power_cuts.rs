//! What power cuts left of the layouts that `choose` offers, from a run that was kept.
//!
//! ```text
//!   plans/pull-layouts.toml ── run once, in modelled time ──> power_cuts.csv ──> an answer's line
//!                         └── run again by a test: the same counts
//! ```

use results::choice::PowerCuts;
use results::safety::at_most_percent;

use super::layout::ChosenLayout;

/// The kept run: a line for each block of a layout with a file system.
const KEPT: &str = include_str!("power_cuts.csv");

/// What answers speak of where no file system is named.
const FILE_SYSTEM: &str = "ext4";

/// A block of power cuts.
struct CutBlock<'a> {
    level: &'a str,
    layout: &'a str,
    file_system: &'a str,
    cuts: u64,
    lost: u64,
}

fn blocks() -> impl Iterator<Item = CutBlock<'static>> {
    let lines = KEPT.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let mut fields = line.split(',');
        let mut field = || fields.next();
        let (level, layout, file_system) = (field()?, field()?, field()?);
        let _block = field()?;
        let (cuts, lost) = (field()?.parse().ok()?, field()?.parse().ok()?);
        Some(CutBlock { level, layout, file_system, cuts, lost })
    })
}

/// What was found of such a layout with a file system; none where no such cuts were kept.
pub(super) fn power_cuts(chosen: &ChosenLayout, file_system: Option<&str>) -> Option<PowerCuts> {
    let file_system = file_system.unwrap_or(FILE_SYSTEM);
    let layout = chosen.md_layout().unwrap_or_else(|| "-".to_owned());
    let is_it = |one: &CutBlock<'_>| {
        one.level == chosen.level_name() && one.layout == layout && one.file_system == file_system
    };
    let sum = |(cuts, lost), one: CutBlock<'_>| (cuts + one.cuts, lost + one.lost);
    let (cuts, lost) = blocks().filter(is_it).fold((0, 0), sum);
    (cuts > 0).then(|| PowerCuts {
        file_system: file_system.to_owned(),
        cuts,
        lost,
        at_most_percent: at_most_percent(lost, cuts),
    })
}

#[cfg(test)]
mod tests {
    use super::super::layout::Order;
    use super::*;
    use array::md::Level;

    fn found(level: Level, order: Option<Order>, file_system: Option<&str>) -> Option<PowerCuts> {
        let layout = ChosenLayout {
            level,
            order,
            copies: if order.is_some() { 2 } else { 1 },
            chunk_bytes: None,
            members: Vec::new(),
            spares: Vec::new(),
            file_system: None,
        };
        power_cuts(&layout, file_system)
    }

    /// Every level that is offered, with every file system that was cut; of others nothing is said.
    #[test]
    fn what_is_offered_was_cut() {
        for file_system in [None, Some("ext4"), Some("xfs"), Some("btrfs")] {
            for (level, order) in [
                (Level::Raid0, None),
                (Level::Raid1, None),
                (Level::Raid5, None),
                (Level::Raid6, None),
                (Level::Raid10, Some(Order::Near)),
                (Level::Raid10, Some(Order::Far)),
            ] {
                let cuts = found(level, order, file_system).unwrap();
                assert!((250..=300).contains(&cuts.cuts), "{level:?} {file_system:?}: {cuts:?}");
                assert_eq!(cuts.file_system, file_system.unwrap_or("ext4"));
                assert!(cuts.lost > 0 || (0.9..1.2).contains(&cuts.at_most_percent), "{cuts:?}");
            }
        }
        assert!(found(Level::Raid5, None, Some("f2fs")).is_none());
    }
}
