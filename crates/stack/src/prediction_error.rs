//! How far predictions for stacks like this one were off.

use block::Node;
use device::model::Parameters;
use device::model::data_sheet::Kind;
use device::model::errors::{ErrorTable, Form, PredictionError, Work};
use device::model::fit;
use device::model::parameters::Hold;

/// A stack of modelled drives, as published arrays are told apart by.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelledStack {
    /// What stands between the work and one drive, innermost first.
    forms: Vec<Form>,
    basis: Basis,
}

/// What the models of a stack's drives were made from.
#[derive(Clone, Debug, PartialEq)]
enum Basis {
    /// Every one was fitted to what such a drive did.
    Fitted,
    /// Some are from data sheets, of drives of these kinds; the others are fitted.
    DataSheets(Vec<Kind>),
    /// One at least was held against nothing.
    Stated,
}

impl Basis {
    fn of(drives: &[Drive]) -> Basis {
        let mut kinds = Vec::new();
        for drive in drives {
            if fit::built_in_data(&drive.model).is_some() {
                continue;
            }
            match Parameters::load(&drive.model).ok().and_then(|model| model.sheet) {
                Some(sheet) => kinds.push(sheet.kind),
                None => return Basis::Stated,
            }
        }
        kinds.sort_unstable();
        kinds.dedup();
        if kinds.is_empty() { Basis::Fitted } else { Basis::DataSheets(kinds) }
    }
}

impl ModelledStack {
    /// What a stack is, with a file system on top of it or without; `None` when it has no modelled
    /// drives.
    #[must_use]
    pub fn of(node: &Node, has_file_system: bool) -> Option<ModelledStack> {
        let drives = drives(node);
        if drives.is_empty() {
            return None;
        }
        let mut forms = Vec::new();
        collect_forms(node, &mut forms);
        if forms.is_empty() && drives.len() > 1 {
            // Several drives under a layer that is no array.
            forms.push(Form::Chain);
        }
        if shares_a_held_link(&drives) {
            forms.push(Form::SharedLink);
        }
        if has_file_system {
            forms.push(Form::FileSystem);
        }
        if forms.is_empty() {
            forms.push(Form::OneDrive);
        }
        forms.sort_unstable();
        forms.dedup();
        Some(ModelledStack { forms, basis: Basis::of(&drives) })
    }

    /// Whether it is one drive and nothing else.
    #[must_use]
    pub fn is_one_drive(&self) -> bool {
        self.forms == [Form::OneDrive]
    }

    /// How far a prediction of this work may be off. Of a model from a data sheet it is the wider
    /// of what such models were off by on one drive and what an array's class says; of a model that
    /// was held against no drive the widest error there is, and of no case.
    #[must_use]
    pub fn error(&self, work: Work) -> PredictionError {
        let table = ErrorTable::built_in();
        let is_one_drive = self.is_one_drive();
        match &self.basis {
            Basis::Fitted => table.of(work, &self.forms),
            Basis::DataSheets(kinds) => {
                let sheets = kinds.iter().map(|kind| table.of_data_sheet(work, *kind));
                let array = (!is_one_drive).then(|| table.of(work, &self.forms));
                let all = sheets.chain(array).reduce(|one, other| PredictionError {
                    error: one.error.max(other.error),
                    cases: one.cases.min(other.cases),
                });
                all.unwrap_or(PredictionError { error: table.widest(), cases: 0 })
            }
            Basis::Stated => PredictionError { error: table.widest(), cases: 0 },
        }
    }
}

/// A modelled drive of a stack.
struct Drive {
    model: String,
    /// The link that the stack text hangs it on, if it names one.
    link: Option<String>,
}

fn drives(node: &Node) -> Vec<Drive> {
    let drive = |leaf: &Node| match leaf {
        Node::Leaf { scheme, address, options } if scheme == "model" => {
            let link = options.iter().find(|(name, _)| name == "link");
            Some(Drive { model: address.clone(), link: link.map(|(_, link)| link.clone()) })
        }
        _ => None,
    };
    node.leaves().into_iter().filter_map(drive).collect()
}

fn collect_forms(node: &Node, forms: &mut Vec<Form>) {
    let Node::Layer { name, children, .. } = node else { return };
    match name.as_str() {
        "raid0" => forms.push(Form::Stripe),
        "raid1" => forms.push(Form::Mirror),
        "raid10" => forms.extend([Form::Stripe, Form::Mirror]),
        "raid4" | "raid5" | "raid6" => forms.push(Form::Parity),
        "linear" => forms.push(Form::Chain),
        "cache" => forms.push(Form::Cache),
        _ => (),
    }
    children.iter().for_each(|child| collect_forms(child, forms));
}

/// Whether several of them hang on a link that a command holds from its start to its end.
fn shares_a_held_link(drives: &[Drive]) -> bool {
    let held: Vec<String> = drives
        .iter()
        .filter_map(|drive| {
            let link = Parameters::load(&drive.model).ok()?.link;
            (link.hold == Hold::Command).then(|| drive.link.clone().unwrap_or(link.name))
        })
        .collect();
    held.iter().enumerate().any(|(place, link)| held[place + 1..].contains(link))
}

#[cfg(test)]
mod tests {
    use device::model::errors::Order;

    use super::*;

    fn modelled(text: &str, has_file_system: bool) -> Option<ModelledStack> {
        ModelledStack::of(&crate::parse(text).unwrap(), has_file_system)
    }

    #[test]
    fn a_stack_is_what_stands_between_the_work_and_its_drives() {
        use Form::{Cache, Chain, FileSystem, Mirror, OneDrive, Parity, SharedLink, Stripe};

        let maxtor = "model:maxtor-6y200p0";
        let two = format!("{maxtor}, {maxtor}");
        let cases: [(String, bool, &[Form]); 10] = [
            (maxtor.to_owned(), false, &[OneDrive]),
            (maxtor.to_owned(), true, &[FileSystem]),
            (format!("raid0(chunk=4KiB, {two})"), false, &[Stripe]),
            (format!("raid1({two})"), true, &[Mirror, FileSystem]),
            (format!("raid10(chunk=4KiB, {two})"), false, &[Stripe, Mirror]),
            (format!("raid5(chunk=4KiB, {two}, {maxtor})"), false, &[Parity]),
            (format!("linear({two})"), false, &[Chain]),
            (format!("cache(ram:1MiB, raid0(chunk=4KiB, {two}))"), false, &[Stripe, Cache]),
            (
                "raid0(chunk=4KiB, model:st340015a, model:st340015a)".into(),
                false,
                &[Stripe, SharedLink],
            ),
            (
                "raid0(chunk=4KiB, model:st340015a?link=a, model:st340015a?link=b)".into(),
                false,
                &[Stripe],
            ),
        ];
        for (text, has_file_system, forms) in cases {
            let found = modelled(&text, has_file_system).unwrap();
            assert_eq!((&*found.forms, &found.basis), (forms, &Basis::Fitted), "{text}");
            assert_eq!(found.is_one_drive(), forms == [OneDrive]);
        }
        assert_eq!(modelled("ram:1MiB", false), None);
    }

    #[test]
    fn a_model_that_was_held_against_nothing_has_the_widest_error_and_no_case() {
        let table = ErrorTable::built_in();
        let read = Work::new(Order::Sequential, false, false);
        let error = |text: &str| modelled(text, false).unwrap().error(read);
        let striped = "raid0(chunk=4KiB, model:maxtor-6y200p0, model:maxtor-6y200p0)";
        assert_eq!(error(striped), table.of(read, &[Form::Stripe]));
        assert!(error(striped).cases >= 10);
        for stated in
            ["model:disk-2008", "raid0(chunk=4KiB, model:maxtor-6y200p0, model:./own.toml)"]
        {
            assert_eq!(error(stated), PredictionError { error: table.widest(), cases: 0 });
        }
    }

    #[test]
    fn a_model_from_a_data_sheet_is_off_as_such_models_were() {
        let table = ErrorTable::built_in();
        let read = Work::new(Order::Random, false, false);
        let error = |text: &str| modelled(text, false).unwrap().error(read);
        let one = table.of_data_sheet(read, Kind::HardDisk);
        assert!(one.cases > 0);
        assert_eq!(error("model:wd-red-plus-8tb"), one);
        let striped = error("raid0(chunk=4KiB, model:wd-red-plus-8tb, model:maxtor-6y200p0)");
        let array = table.of(read, &[Form::Stripe]);
        assert_eq!(striped.error, one.error.max(array.error));
        assert_eq!(striped.cases, one.cases.min(array.cases));
    }
}
