//! Plans as earlier versions recorded them: they did not say what a configuration is, nor which
//! work goes through the page cache. Both follow from texts that those versions wrote, which are
//! read for that here and nowhere else.

use std::collections::BTreeMap;

use results::{Clock, Group, Plan};
use serde::Deserialize;
use serde_json::{Result, Value};

use crate::cell::{Axes, Nature};

/// How the name of a row ended that went through the page cache.
const BUFFERED: &str = " buffered";

/// What those versions recorded of a configuration that says what it is.
#[derive(Deserialize)]
struct Configuration {
    settings: BTreeMap<String, String>,
    stack: String,
    clock: Clock,
}

#[derive(Deserialize)]
struct Workload {
    name: String,
    group: Group,
}

/// A plan of this version or of an earlier one.
pub(super) fn plan(mut json: Value) -> Result<Plan> {
    let is_earlier = |known: &Value| known.get("ground").is_none();
    if !items(&mut json, "configurations").iter().any(is_earlier) {
        return serde_json::from_value(json);
    }
    let pulls_only = complete_workloads(&mut json)?;
    for known in items(&mut json, "configurations") {
        let Configuration { settings, stack, clock } = Deserialize::deserialize(&*known)?;
        // Of an imported run it is a description.
        let node = stack::parse(&stack).ok();
        // So is what it has instead of axes.
        let axes = Axes::read(&settings).unwrap_or_default();
        let nature = Nature::of(node.as_ref(), &axes, clock, pulls_only);
        known["ground"] = serde_json::to_value(nature.ground)?;
        known["modelled"] = nature.modelled.into();
        known["caches"] = serde_json::to_value(&nature.caches)?;
        known["quick_removal"] = nature.quick_removal.into();
    }
    serde_json::from_value(json)
}

/// With whether all of them are pull tests.
fn complete_workloads(json: &mut Value) -> Result<bool> {
    let mut pulls_only = true;
    for known in items(json, "workloads") {
        let Workload { name, group } = Deserialize::deserialize(&*known)?;
        pulls_only &= group == Group::Safety;
        if let Some(direct) = name.strip_suffix(BUFFERED) {
            known["buffered_of"] = direct.into();
        }
    }
    Ok(pulls_only)
}

fn items<'a>(json: &'a mut Value, name: &str) -> &'a mut [Value] {
    json.get_mut(name).and_then(Value::as_array_mut).map_or(&mut [], Vec::as_mut_slice)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use results::{MeasuredCache, WorkTarget};
    use serde_json::json;

    use super::*;
    use crate::plan;

    /// The plan as a version would have recorded it that knew none of the values.
    fn as_earlier(plan: &Plan) -> Value {
        let mut json = serde_json::to_value(plan).expect("plain data");
        for known in items(&mut json, "configurations") {
            let known = known.as_object_mut().expect("an object");
            known.retain(|name, _| {
                !["ground", "modelled", "caches", "quick_removal"].contains(&name.as_str())
            });
        }
        for known in items(&mut json, "workloads") {
            known.as_object_mut().expect("an object").remove("buffered_of");
        }
        json
    }

    /// Of every plan that comes with the program.
    #[test]
    fn a_plan_of_an_earlier_version_is_read_as_one_of_this() {
        for known in plan::shipped() {
            let (_, text) = plan::read(Path::new(known.name)).expect("a plan");
            let resolved = plan::resolve(known.name, &text, &[]).expect("a plan");
            let earlier = as_earlier(&resolved.plan);
            assert_eq!(super::plan(earlier).expect("a plan"), resolved.plan, "{}", known.name);
            let own = serde_json::to_value(&resolved.plan).expect("plain data");
            assert_eq!(super::plan(own).expect("a plan"), resolved.plan, "{}", known.name);
        }
    }

    /// As versions before recorded it: a cache, a guest, quick removal, a buffered row.
    #[test]
    fn a_kept_plan_is_read_as_before() {
        let configuration = |stack: &str, clock: &str, settings: Value| {
            json!({"id": "0", "settings": settings, "stack": stack, "clock": clock,
                "baseline": "0"})
        };
        let workload = |name: &str| {
            json!({"name": name, "suite": "crystal", "group": "random", "better": "higher",
                "metric": "throughput_bytes_per_second", "weight": 1.0})
        };
        let kept = json!({
            "schema": 1, "name": "kept", "seed": 1, "blocks": 1, "margin": 0.02, "axes": [],
            "configurations": [
                configuration("cache(mode=write-back, ram:1MiB, file:{members}/a.img)", "wall",
                    json!({"file_system": "ext4", "policy": "quick"})),
                configuration("model:maxtor-6y200p0", "virtual", json!({"place": "guest"})),
                configuration("fio-3.36, file:model:x", "wall", json!({"source": "a.json"})),
            ],
            "workloads": [workload("crystal: RND4K Q1T1 read"),
                workload("crystal: RND4K Q1T1 read buffered")],
            "suite_settings": {}
        });
        let plan = plan(kept).expect("a plan");
        let found = plan
            .configurations
            .iter()
            .map(|one| (one.ground, one.modelled, one.caches.clone(), one.quick_removal));
        assert_eq!(
            found.collect::<Vec<_>>(),
            [
                (WorkTarget::FileSystem, false, vec![MeasuredCache::Layer], true),
                (WorkTarget::Guest, true, vec![MeasuredCache::GuestMemory], false),
                (WorkTarget::Device, false, vec![], false),
            ]
        );
        let direct = plan.workloads.iter().map(|one| one.buffered_of.as_deref());
        assert_eq!(direct.collect::<Vec<_>>(), [None, Some("crystal: RND4K Q1T1 read")]);
    }
}
