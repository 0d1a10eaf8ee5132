//! `array destroy`: members become members no more.

use std::path::PathBuf;

use clap::Args;
use host::guard::Guard;
use mdtools::MemberSource;
use serde_json::json;

use crate::consent::Consent;
use crate::failure::Failure;
use crate::output::Output;

/// `array destroy`.
#[derive(Args, Debug)]
pub(crate) struct DestroyArguments {
    /// The members, all of one array
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub consent: Consent,
}

pub(super) fn destroy(output: &Output, arguments: &DestroyArguments) -> Result<(), Failure> {
    let guard = Guard::new(arguments.consent.clone().into());
    let members: Vec<MemberSource> =
        arguments.paths.iter().map(|path| MemberSource::parse(path)).collect::<Result<_, _>>()?;
    let erased = mdtools::destroy(&guard, &members)?;
    if output.json {
        return output.document(
            &erased
                .iter()
                .map(|erased| json!({ "path": erased.source.to_string(), "was": erased.was }))
                .collect::<Vec<_>>(),
        );
    }
    let line = |erased: &mdtools::ErasedMember| {
        format!("{}: its superblock is erased; it was {}", erased.source, erased.was.join(", "))
    };
    output.result(&erased.iter().map(line).collect::<Vec<_>>().join("\n"))
}
