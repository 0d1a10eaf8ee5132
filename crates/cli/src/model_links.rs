//! `raidloom model fit` of several drives at once: what they cost one another on what they hang on
//! together.

use std::sync::Arc;

use block::{Clock, Device, Node, Reactor};
use device::model::Hold;
use device::model::probe::{self, LinkShare, MeasureError};
use host::guard::{Consent, Guard};
use serde_json::{Value, json};
use stack::BuildContext;

use crate::catalogue::{self, say};
use crate::failure::Failure;
use crate::model_fit::refuse_in_use;
use crate::output::Output;

/// Measures drives by themselves and all at a time, by reads alone.
pub(crate) fn fit_links(output: &Output, drives: &[String]) -> Result<(), Failure> {
    let parse = |text: &String| {
        let node = stack::parse(text).map_err(block::Error::from)?;
        match node {
            Node::Leaf { .. } => Ok(node),
            _ => Err(Failure::usage(catalogue::LINKS_OF_DRIVES).at(text)),
        }
    };
    let nodes = drives.iter().map(parse).collect::<Result<Vec<Node>, Failure>>()?;
    let guard = Guard::new(Consent::default());
    let context = BuildContext { read_only: true, ..BuildContext::new(&guard) };
    // One stack, so that modelled drives on one link are on one.
    let stack = stack::build(&Node::layer("linear", nodes.clone()), &context)?;
    let devices: Vec<Arc<dyn Device>> =
        stack.members.iter().filter_map(|member| member.device.upgrade()).collect();
    let reactor = match stack.clock {
        Clock::Virtual => Reactor::virtual_clock(),
        Clock::Wall => Reactor::wall()?,
    };
    for (device, path) in devices.iter().zip(nodes.iter().map(Node::file_path)) {
        if let Some(path) = path {
            refuse_in_use(&**device, &reactor, &path)?;
        }
    }
    output.progress(&say!(MEASURING_SEVERAL, count = drives.len()));
    let all: Vec<&dyn Device> = devices.iter().map(|device| &**device).collect();
    let share = probe::measure_links(&all, &reactor).map_err(|error| match error {
        MeasureError::Failed(error) => Failure::from(error),
        other => Failure::failed(&other).because(other),
    })?;
    match output.json {
        true => output.document(&document(drives, &share)),
        false => output.result(&text(drives, &share)),
    }
}

fn hold(share: &LinkShare) -> &'static str {
    match share.hold() {
        Hold::Burst => "burst",
        Hold::Command => "command",
    }
}

/// What a model's file says of the link, and what was measured as remarks.
fn text(drives: &[String], share: &LinkShare) -> String {
    let megabytes = |rate: f64| format!("{:.1}", rate / 1e6);
    let list = |rates: &[f64], text: &dyn Fn(f64) -> String| {
        rates.iter().map(|rate| text(*rate)).collect::<Vec<_>>().join(", ")
    };
    let whole = |rate: f64| format!("{rate:.0}");
    let (alone, together) = (list(&share.alone, &megabytes), megabytes(share.together));
    let mut lines = vec![
        drives.join(", "),
        say!(LINK_FROM_BUFFERS, alone = alone, together = together),
        say!(
            LINK_SMALL_READS,
            alone = list(&share.small_alone, &whole),
            together = whole(share.small_together)
        ),
    ];
    if !share.is_shared() {
        lines.push(say!(LINK_NOT_SHARED));
    }
    let lines: Vec<String> = lines.iter().map(|line| format!("# {line}")).collect();
    let mut text = lines.join("\n");
    if !share.is_shared() {
        return text;
    }
    text += "\n";
    text += &format!("[link]\nname = \"shared\"\nhold = \"{}\"", hold(share));
    // Where a command has it to its end, what it moves is not all that passes in that time.
    if share.hold() == Hold::Burst {
        text += &format!(
            "\nbandwidth = {{ value = {:.0}.0, unit = \"bytes/s\", origin = \"measured\", note = \
            \"what {} drives moved together from their buffers\" }}",
            share.together,
            drives.len()
        );
    }
    text
}

fn document(drives: &[String], share: &LinkShare) -> Value {
    json!({
        "drives": drives,
        "is_shared": share.is_shared(),
        "hold": share.is_shared().then(|| hold(share)),
        "alone_bytes_per_second": share.alone,
        "together_bytes_per_second": share.together,
        "small_alone_per_second": share.small_alone,
        "small_together_per_second": share.small_together,
    })
}
