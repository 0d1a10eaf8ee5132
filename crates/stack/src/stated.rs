//! How far predictions for stacks like this one were off.

use block::Node;
use device::model::Parameters;
use device::model::errors::{ErrorTable, Form, PredictionError, Work};
use device::model::fit;
use device::model::parameters::Hold;

/// A stack of modelled drives, as published arrays are told apart by.
#[derive(Clone, Debug, PartialEq)]
pub struct Modelled {
    /// What stands between the work and one drive, innermost first.
    forms: Vec<Form>,
    /// Whether every model was fitted to what such a drive did.
    is_fitted: bool,
}

impl Modelled {
    /// What a stack is, with a file system on top of it or without; `None` when it has no modelled
    /// drives.
    #[must_use]
    pub fn of(node: &Node, has_file_system: bool) -> Option<Modelled> {
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
        let is_fitted = drives.iter().all(|drive| fit::built_in_data(&drive.model).is_some());
        Some(Modelled { forms, is_fitted })
    }

    /// Whether it is one drive and nothing else.
    #[must_use]
    pub fn is_one_drive(&self) -> bool {
        self.forms == [Form::OneDrive]
    }

    /// How far a prediction of this work may be off. Of a model that was held against no drive it
    /// is the widest error there is, and of no case.
    #[must_use]
    pub fn error(&self, work: Work) -> PredictionError {
        let table = ErrorTable::built_in();
        if self.is_fitted {
            table.of(work, &self.forms)
        } else {
            PredictionError { error: table.widest(), cases: 0 }
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

    fn modelled(text: &str, has_file_system: bool) -> Option<Modelled> {
        Modelled::of(&crate::parse(text).unwrap(), has_file_system)
    }

    #[test]
    fn a_stack_is_what_stands_between_the_work_and_its_drives() {
        use Form::{Chain, FileSystem, Mirror, OneDrive, Parity, SharedLink, Stripe};

        let maxtor = "model:maxtor-6y200p0";
        let two = format!("{maxtor}, {maxtor}");
        let cases: [(String, bool, &[Form]); 9] = [
            (maxtor.to_owned(), false, &[OneDrive]),
            (maxtor.to_owned(), true, &[FileSystem]),
            (format!("raid0(chunk=4KiB, {two})"), false, &[Stripe]),
            (format!("raid1({two})"), true, &[Mirror, FileSystem]),
            (format!("raid10(chunk=4KiB, {two})"), false, &[Stripe, Mirror]),
            (format!("raid5(chunk=4KiB, {two}, {maxtor})"), false, &[Parity]),
            (format!("linear({two})"), false, &[Chain]),
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
            assert_eq!((&*found.forms, found.is_fitted), (forms, true), "{text}");
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
}
