//! `raidloom report export`: a run as one file, to be sent.

use std::path::PathBuf;

use clap::Args;
use lab::pack::{self, Names};
use serde_json::json;

use crate::catalogue::say;
use crate::failure::Failure;
use crate::output::Output;

/// `export`.
#[derive(Args, Debug)]
pub(crate) struct ExportArguments {
    /// Folder of the run
    pub run: PathBuf,

    /// The file, which must not be there yet [default: RUN.run.tar.gz in the current folder]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Put stand-ins for names of this machine and its user, serial numbers, identities, paths and
    /// addresses; the plan as it was typed is left out
    #[arg(long)]
    pub anonymous: bool,

    /// A word that is replaced too, such as the name of the machine that the run was made on (may
    /// be repeated)
    #[arg(long, value_name = "WORD", requires = "anonymous")]
    pub hide: Vec<String>,
}

/// Packs a run.
pub(crate) fn export(output: &Output, arguments: &ExportArguments) -> Result<(), Failure> {
    let names = match arguments.anonymous {
        true => Names::Hidden(arguments.hide.clone()),
        false => Names::Kept,
    };
    let by_default = || PathBuf::from(pack::default_name(&arguments.run, &names));
    let file = arguments.output.clone().unwrap_or_else(by_default);
    let packed = pack::pack(&arguments.run, &file, &names)?;
    if output.json {
        let document = json!({ "file": file, "bytes": packed.bytes, "hidden": packed.hidden });
        return output.document(&document);
    }
    output.result(&say!(
        RUN_PACKED,
        run = arguments.run.display(),
        file = file.display(),
        size = format!("{:.0} kB", (packed.bytes as f64 / 1000.0).ceil())
    ))?;
    if arguments.anonymous {
        let kinds: Vec<String> =
            packed.hidden.iter().map(|(kind, count)| format!("{kind}: {count}")).collect();
        let kinds = if kinds.is_empty() { say!(NOTHING_HIDDEN) } else { kinds.join(", ") };
        output.note(&say!(STAND_INS, kinds = kinds, file = file.display()));
    }
    Ok(())
}
