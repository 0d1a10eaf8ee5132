//! The smallest part of what was lost that breaks the same: delta debugging (Zeller and
//! Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002).

use std::collections::HashMap;

/// What is left of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MinimalSet {
    /// Without any one of them it does not fail, where it is minimal.
    pub left: Vec<u32>,
    /// Whether there were questions enough to say so.
    pub is_minimal: bool,
    /// How many questions were asked.
    pub asked: u32,
}

/// The smallest part of `all`, which fails, that fails too, found with so many questions at most.
/// The same answers lead to the same part.
///
/// # Errors
/// Those of a question.
pub fn smallest<E>(
    all: Vec<u32>,
    questions_max: u32,
    fails: &mut dyn FnMut(&[u32]) -> Result<bool, E>,
) -> Result<MinimalSet, E> {
    let mut known: HashMap<Vec<u32>, bool> = HashMap::from([(all.clone(), true)]);
    let mut ask = |part: &[u32], asked: &mut u32| -> Result<bool, E> {
        if let Some(answer) = known.get(part) {
            return Ok(*answer);
        }
        *asked += 1;
        let answer = fails(part)?;
        known.insert(part.to_vec(), answer);
        Ok(answer)
    };
    let (mut left, mut parts, mut asked) = (all, 2, 0);
    if ask(&[], &mut asked)? {
        return Ok(MinimalSet { left: Vec::new(), is_minimal: true, asked });
    }
    while left.len() > 1 {
        let length = left.len().div_ceil(parts);
        let chunks: Vec<Vec<u32>> = left.chunks(length).map(<[u32]>::to_vec).collect();
        let rest = |number: usize| -> Vec<u32> {
            let others = chunks.iter().enumerate().filter(|(other, _)| *other != number);
            others.flat_map(|(_, chunk)| chunk).copied().collect()
        };
        let tries = chunks.iter().map(|chunk| (chunk.clone(), 2));
        // Of two chunks each is what the other leaves.
        let rests = (0..chunks.len()).filter(|_| chunks.len() > 2);
        let tries = tries.chain(rests.map(|number| (rest(number), (parts - 1).max(2))));
        let mut smaller = None;
        for (part, parts_then) in tries {
            if asked >= questions_max {
                return Ok(MinimalSet { left, is_minimal: false, asked });
            }
            if ask(&part, &mut asked)? {
                smaller = Some((part, parts_then));
                break;
            }
        }
        match smaller {
            Some(found) => (left, parts) = found,
            None if parts >= left.len() => break,
            None => parts = (2 * parts).min(left.len()),
        }
    }
    Ok(MinimalSet { left, is_minimal: true, asked })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(count: u32, fails: impl Fn(&[u32]) -> bool) -> MinimalSet {
        let all = (0..count).collect();
        smallest(all, 1000, &mut |part| Ok::<_, ()>(fails(part))).unwrap()
    }

    #[test]
    fn what_alone_breaks_it_is_found_among_many() {
        for culprits in [&[17][..], &[3, 90], &[0, 50, 99]] {
            let found = of(100, |part| culprits.iter().all(|one| part.contains(one)));
            assert_eq!(found.left, culprits);
            assert!(found.is_minimal && found.asked < 150, "{found:?}");
        }
        assert_eq!(of(1, |part| part == [0]).left, [0]);
    }

    #[test]
    fn what_fails_without_any_loss_needs_none() {
        assert_eq!(of(100, |_| true), MinimalSet { left: vec![], is_minimal: true, asked: 1 });
    }

    #[test]
    fn when_the_questions_are_used_up_it_says_so() {
        let all = (0..64).collect();
        let both = |part: &[u32]| Ok::<_, ()>(part.contains(&0) && part.contains(&63));
        let found = smallest(all, 3, &mut { both }).unwrap();
        assert!(!found.is_minimal && found.asked == 3, "{found:?}");
    }
}
