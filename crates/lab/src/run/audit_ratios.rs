//! What the audit says of a trial, as figures.

use bench::audit::Facts;
use block::Node;

/// Bytes that members read for one that was asked for.
pub(super) const READ_RATIO: &str = results::caches::READ;
/// Bytes that members wrote for one that was asked for.
pub(super) const WRITE_RATIO: &str = results::caches::WRITTEN;

/// Of what the layout makes of the bytes that were written, the share that members had when the
/// calls had returned: what is missing lay in a cache, and is lost with the power.
pub(super) const ACKNOWLEDGED_RATIO: &str = results::caches::ACKNOWLEDGED;

/// What the members moved for each byte asked for.
pub(super) fn ratios(facts: &Facts) -> Vec<(String, f64)> {
    let Some(moved) = facts.moved else { return Vec::new() };
    let ratio = |moved: u64, asked: u64| (asked > 0).then(|| moved as f64 / asked as f64);
    let read =
        ratio(moved.read_bytes, facts.asked.read_bytes).map(|ratio| (READ_RATIO.to_owned(), ratio));
    let written = ratio(moved.written_bytes, facts.asked.written_bytes)
        .map(|ratio| (WRITE_RATIO.to_owned(), ratio));
    let planned = facts.asked.written_bytes as f64 * facts.copies;
    let acknowledged = facts
        .acknowledged
        .filter(|_| planned > 0.0)
        .map(|then| (ACKNOWLEDGED_RATIO.to_owned(), then.written_bytes as f64 / planned));
    read.into_iter().chain(written).chain(acknowledged).collect()
}

/// The layer whose first child keeps copies of what its second holds.
const CACHE: &str = "cache";

/// Of what belongs to the leaves of a stack, from left to right, that which belongs to none that a
/// cache keeps its copies on: what comes from there was read from a cache.
pub(crate) fn without_stores<T, U>(node: &Node, leaves: &[T], of: impl Fn(&T) -> U) -> Vec<U> {
    let mut stores = Vec::new();
    mark_stores(node, false, &mut stores);
    let is_store = |index: usize| stores.len() == leaves.len() && stores[index];
    leaves
        .iter()
        .enumerate()
        .filter(|(index, _)| !is_store(*index))
        .map(|(_, leaf)| of(leaf))
        .collect()
}

fn mark_stores(node: &Node, store: bool, found: &mut Vec<bool>) {
    match node {
        Node::Layer { name, children, .. } => {
            for (index, child) in children.iter().enumerate() {
                mark_stores(child, store || name == CACHE && index == 0, found);
            }
        }
        Node::Leaf { .. } => found.push(store),
        Node::Missing => (),
    }
}

/// How many bytes the members write for one by the layout, when all is as planned: whole stripes,
/// nothing kept back.
pub(crate) fn copies(node: &Node) -> f64 {
    let Node::Layer { name, options, children } = node else { return 1.0 };
    let all = children.len() as f64;
    let below = children.iter().map(copies).sum::<f64>() / all.max(1.0);
    let layout = options.iter().find(|(name, _)| name == "layout").map(|(_, value)| value.as_str());
    match name.as_str() {
        "raid1" => all * below,
        // `n2`, `f3`, `o2`: the digits say how many.
        "raid10" => {
            layout.and_then(|layout| layout.get(1..)?.parse::<f64>().ok()).unwrap_or(2.0) * below
        }
        "raid4" | "raid5" if all > 1.0 => all / (all - 1.0) * below,
        "raid6" if all > 2.0 => all / (all - 2.0) * below,
        CACHE => children.last().map_or(below, copies),
        _ => below,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_say_what_a_byte_costs() {
        for (text, expected) in [
            ("ram:1MiB", 1.0),
            ("raid0(chunk=4KiB, ram:1MiB, ram:1MiB)", 1.0),
            ("raid1(ram:1MiB, ram:1MiB, ram:1MiB)", 3.0),
            ("raid10(layout=f3, ram:1MiB, ram:1MiB, ram:1MiB)", 3.0),
            ("raid10(ram:1MiB, ram:1MiB, ram:1MiB)", 2.0),
            ("raid5(ram:1MiB, ram:1MiB, ram:1MiB)", 1.5),
            ("raid6(ram:1MiB, ram:1MiB, ram:1MiB, ram:1MiB)", 2.0),
            ("raid0(raid1(ram:1MiB, ram:1MiB), raid1(ram:1MiB, ram:1MiB))", 2.0),
        ] {
            assert_eq!(copies(&stack::parse(text).unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn what_a_cache_keeps_its_copies_on_is_no_member_to_the_audit() {
        let plain = stack::parse("raid0(ram:1MiB, ram:2MiB)").unwrap();
        assert_eq!(without_stores(&plain, &[1, 2], |leaf| *leaf), [1, 2]);
        let store = Node::layer("cache", vec![Node::leaf("ram", "1MiB"), plain]);
        assert_eq!(without_stores(&store, &[0, 1, 2], |leaf| *leaf), [1, 2]);
        assert_eq!(copies(&store), 1.0);
    }
}
