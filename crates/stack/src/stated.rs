//! How far the built-in models are off by their own account.

use block::Node;

/// What the models of a stack state of themselves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatedError {
    /// The largest error of the cases, as a fraction.
    pub error: f64,
    /// How many published cases it is of, which the models were not fitted on.
    pub cases: u32,
}

/// Each built-in model that has check rows, with the largest error of them, as a fraction, and how
/// many there are: what `raidloom model show` says at its end. Working it out takes a quarter of a
/// second, so it stands here, and a test works it out again.
const STATED: [(&str, f64, u32); 2] = [("maxtor-6y200p0", 0.096, 6), ("st340015a", 0.246, 1)];

/// What the modelled disks of a stack state of themselves: the largest error, and of how many cases
/// it is at least. No array was checked by itself, so that none of its error is known. `None` when
/// there are none, and when one of them states none.
#[must_use]
pub fn model_error(node: &Node) -> Option<StatedError> {
    let model = |leaf: &'_ Node| match leaf {
        Node::Leaf { scheme, address, .. } if scheme == "model" => Some(address.clone()),
        _ => None,
    };
    let models: Vec<String> = node.leaves().into_iter().filter_map(model).collect();
    let is_array = models.len() > 1;
    let stated = |model: &String| {
        let (_, error, cases) = STATED.iter().find(|(name, ..)| name == model)?;
        Some(StatedError { error: *error, cases: if is_array { 0 } else { *cases } })
    };
    models.iter().map(stated).try_fold(None, |known: Option<StatedError>, own| {
        own.map(|own| {
            Some(known.map_or(own, |known| StatedError {
                error: known.error.max(own.error),
                cases: known.cases.min(own.cases),
            }))
        })
    })?
}

#[cfg(test)]
mod tests {
    use device::model::Parameters;
    use device::model::fit::errors_built_in;

    use super::*;

    #[test]
    fn models_state_the_largest_error_of_their_check_rows() {
        let mut found = Vec::new();
        for name in Parameters::built_in_names() {
            let rows = errors_built_in(&Parameters::load(name).unwrap()).unwrap();
            let checks: Vec<f64> =
                rows.iter().filter(|row| row.check).map(|row| row.relative_error.abs()).collect();
            if let Some(largest) = checks.iter().copied().reduce(f64::max) {
                let cases = u32::try_from(checks.len()).unwrap();
                found.push((name, (largest * 1000.0).round() / 1000.0, cases));
            }
        }
        assert_eq!(found, STATED);
    }

    #[test]
    fn a_stack_states_the_largest_and_nothing_where_one_model_does_not() {
        let error = |text: &str| {
            model_error(&crate::parse(text).unwrap()).map(|stated| (stated.error, stated.cases))
        };
        let array = "raid0(chunk=4KiB, model:st340015a, model:maxtor-6y200p0)";
        assert_eq!(error(array), Some((0.246, 0)), "no array was checked");
        assert_eq!(error("model:maxtor-6y200p0"), Some((0.096, 6)));
        assert_eq!(error("raid0(chunk=4KiB, model:st340015a, model:./own.toml)"), None);
        assert_eq!(error("ram:1MiB"), None);
    }
}
