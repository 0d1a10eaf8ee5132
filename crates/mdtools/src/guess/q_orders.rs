//! Orders of members that Q tells: each member of data is counted with another power of g, so few
//! orders make it right, and other rows tell which of them.

use array::md::{Layout, Level};

use super::redundancy::{self, Arrangement, Fit, Sample};
use super::shape::{Map, Shape};

/// How many samples are tried as the one that Q tells the order from.
const KEY_SAMPLES: usize = 12;

/// What Q told in some samples: the sample's index and the arrangements in which it is right.
#[derive(Default)]
pub(super) struct Keys {
    plain: Option<Vec<(usize, Vec<Arrangement>)>>,
    ddf: Option<Vec<(usize, Vec<Arrangement>)>>,
}

/// Orders in which Q of a sample is right, and then of the others too; none for levels without Q.
/// `keys` are those of these samples.
pub(super) fn told_by_q(
    samples: &[Sample],
    keys: &mut Keys,
    shape: &Shape,
    map: &Map,
) -> Vec<Vec<usize>> {
    let (Level::Raid6, Layout::Parity(layout)) = (shape.level, shape.layout) else {
        return Vec::new();
    };
    let ddf = redundancy::is_ddf(layout);
    let keys = if ddf { &mut keys.ddf } else { &mut keys.plain };
    let keys = &*keys.get_or_insert_with(|| arrangements_of(samples, ddf));
    let key = keys.iter().find_map(|(index, arrangements)| {
        let sample = &samples[*index];
        Some((map.row_at(sample.offset)?, sample.sectors.len(), arrangements))
    });
    let Some((row, count, arrangements)) = key else { return Vec::new() };
    let orders = arrangements
        .iter()
        .filter_map(|arrangement| redundancy::order_of(&row, count, arrangement));
    let orders: Vec<Vec<usize>> = orders.filter(|order| is_permutation(order)).collect();
    orders.into_iter().filter(|order| weighted(samples, map, order).is_some()).collect()
}

/// How many rows have the right P and Q; `None` as soon as too many have not.
fn weighted(samples: &[Sample], map: &Map, order: &[usize]) -> Option<Fit> {
    let mut fit = Fit::default();
    for sample in samples {
        let Some(fits) = redundancy::weighted_fits(map, order, sample) else { continue };
        fit.of += 1;
        fit.fits += u32::from(fits);
        if (fit.of - fit.fits) * 8 > fit.fits + 16 {
            return None;
        }
    }
    (fit.fits > 0).then_some(fit)
}

/// How many rows have the right P and Q, of all that tell it.
pub(super) fn weighted_rows(samples: &[Sample], map: &Map, order: &[usize]) -> Fit {
    let rows = samples.iter().filter_map(|sample| redundancy::weighted_fits(map, order, sample));
    rows.fold(Fit::default(), |fit, fits| Fit { fits: fit.fits + u32::from(fits), of: fit.of + 1 })
}

/// The samples with the fewest arrangements, those that tell nothing left out.
fn arrangements_of(samples: &[Sample], ddf: bool) -> Vec<(usize, Vec<Arrangement>)> {
    let mut fullest: Vec<usize> = (0..samples.len()).collect();
    let zero_bytes = |index: usize| {
        let bytes = samples[index].sectors.iter().flatten().flatten();
        bytes.filter(|byte| **byte == 0).count()
    };
    fullest.sort_by_key(|index| zero_bytes(*index));
    let mut keys: Vec<(usize, Vec<Arrangement>)> = (fullest.into_iter().take(KEY_SAMPLES))
        .map(|index| (index, redundancy::arrangements(&samples[index], ddf)))
        .filter(|(_, arrangements)| !arrangements.is_empty())
        .collect();
    keys.sort_by_key(|(_, arrangements)| arrangements.len());
    keys
}

fn is_permutation(order: &[usize]) -> bool {
    (0..order.len()).all(|member| order.contains(&member))
}
