//! How far predictions are off, where figures are predictions.

use crate::types::{Configuration, ModelError, Plan};

/// Fewest published cases that an error is known from.
pub const MODEL_CASES_MIN: u32 = 10;

/// How far the predictions of two configurations are off in these workloads: the largest error, and
/// the fewest cases. Of a drive and an array only the array's is known as a ratio of the two, and
/// only it counts; those of two arrays go the same way where both are of the same drives, so the
/// larger one stands for the two. `None` when nothing is modelled, and where one states none.
pub(crate) fn model_error(
    plan: &Plan,
    configurations: [usize; 2],
    workloads: &[usize],
) -> Option<ModelError> {
    let modelled: Vec<&Configuration> = configurations
        .into_iter()
        .map(|configuration| &plan.configurations[configuration])
        .filter(|configuration| configuration.modelled)
        .collect();
    let is_one_drive =
        |one: &Configuration| one.model_errors.as_ref().is_some_and(|errors| errors.is_one_drive);
    let has_array = modelled.iter().any(|one| !is_one_drive(one));
    let of_side = |one: &Configuration| match &one.model_errors {
        None => {
            let error = one.model_error?;
            Some(ModelError { error, cases: one.model_cases })
        }
        Some(errors) => {
            let names = workloads.iter().map(|index| &plan.workloads[*index].name);
            all_of(names.map(|name| errors.workloads.get(name).copied()))
        }
    };
    let counted = modelled.iter().filter(|one| !(has_array && is_one_drive(one)));
    all_of(counted.map(|one| of_side(one)))
}

/// What is known of all of them; `None` where nothing is known of one, or there is none.
pub(crate) fn all_of(errors: impl Iterator<Item = Option<ModelError>>) -> Option<ModelError> {
    let known = errors.collect::<Option<Vec<_>>>()?;
    known.into_iter().reduce(ModelError::and)
}
