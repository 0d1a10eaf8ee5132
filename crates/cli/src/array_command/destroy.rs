//! `array destroy`: members become members no more.

use host::guard::Guard;
use serde_json::json;

use super::arguments::DestroyArguments;
use crate::failure::Failure;
use crate::output::Output;

pub(super) fn destroy(output: &Output, arguments: &DestroyArguments) -> Result<(), Failure> {
    let guard = Guard::new(arguments.consent.clone().into());
    let erased = mdtools::destroy(&guard, &arguments.paths)?;
    if output.json {
        return output.document(
            &erased
                .iter()
                .map(|erased| json!({ "path": erased.path, "was": erased.was }))
                .collect::<Vec<_>>(),
        );
    }
    let line = |erased: &mdtools::Erased| {
        format!(
            "{}: its superblock is erased; it was {}",
            erased.path.display(),
            erased.was.join(", ")
        )
    };
    output.result(&erased.iter().map(line).collect::<Vec<_>>().join("\n"))
}
