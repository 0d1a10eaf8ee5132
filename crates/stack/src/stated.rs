//! How far the built-in models are off by their own account.

use block::Node;

/// Each built-in model that has check rows, with the largest error of them, as a fraction: what
/// `raidloom model show` says at its end. Working it out takes a quarter of a second, so it stands
/// here, and a test works it out again.
const STATED: [(&str, f64); 2] = [("maxtor-6y200p0", 0.096), ("st340015a", 0.246)];

/// The largest error that the modelled disks of a stack state of themselves, as a fraction. `None`
/// when there are none, and when one of them states none.
#[must_use]
pub fn model_error(node: &Node) -> Option<f64> {
    let models = node.leaves().into_iter().filter_map(|leaf| match leaf {
        Node::Leaf { scheme, address, .. } if scheme == "model" => Some(address.as_str()),
        _ => None,
    });
    models
        .map(|model| STATED.iter().find(|(name, _)| *name == model).map(|(_, error)| *error))
        .try_fold(None, |largest: Option<f64>, error| {
            error.map(|error| Some(largest.map_or(error, |largest| largest.max(error))))
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
            let checks = rows.iter().filter(|row| row.check);
            if let Some(largest) = checks.map(|row| row.relative_error.abs()).reduce(f64::max) {
                found.push((name, (largest * 1000.0).round() / 1000.0));
            }
        }
        assert_eq!(found, STATED);
    }

    #[test]
    fn a_stack_states_the_largest_and_nothing_where_one_model_does_not() {
        let error = |text: &str| model_error(&crate::parse(text).unwrap());
        assert_eq!(error("raid0(chunk=4KiB, model:st340015a, model:maxtor-6y200p0)"), Some(0.246));
        assert_eq!(error("raid0(chunk=4KiB, model:st340015a, model:./own.toml)"), None);
        assert_eq!(error("ram:1MiB"), None);
    }
}
