//! What a pull test found, as CI systems take the results of tests: JUnit's XML, a case for each
//! sample, which fails where a promise is broken.

use lab::pull::{Outcome, Sample};
use words::{Language, in_language};

use crate::pull_command::outcome_text::headline;

/// The document, of a test of this name.
pub(crate) fn document(name: &str, outcome: &Outcome) -> String {
    let samples = [("cuts uniform in time", &outcome.figure), ("the hunt", &outcome.hunt)];
    let samples: Vec<(&str, &Sample)> =
        samples.into_iter().filter_map(|(case, sample)| Some((case, sample.as_ref()?))).collect();
    let failures = samples.iter().filter(|(_, sample)| is_broken(sample)).count();
    let name = escape::markup(name);
    let cases: String = samples.iter().map(|(case, sample)| case_of(&name, case, sample)).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
        <testsuite name=\"raidloom pull\" tests=\"{}\" failures=\"{failures}\">\n{cases}\
        </testsuite>\n",
        samples.len()
    )
}

/// Whether a promise is broken in a sample.
pub(crate) fn is_broken(sample: &Sample) -> bool {
    sample.card.promise_broken.count > 0
}

fn case_of(name: &str, case: &str, sample: &Sample) -> String {
    let said = escape::markup(&in_language(Language::English, || headline(&sample.card)));
    let what = match is_broken(sample) {
        true => format!("<failure message=\"{said}\"/>"),
        false => format!("<system-out>{said}</system-out>"),
    };
    format!("  <testcase classname=\"{name}\" name=\"{case}\">{what}</testcase>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_a_case_that_fails_where_a_promise_is_broken() {
        let promised = |broken: bool| {
            let mut judgement = pull::Judgement::default();
            let wrong =
                pull::WrongKey { key: None, verdict: pull::Verdict::Lost, since_nanoseconds: None };
            let keys = if broken { vec![wrong] } else { Vec::new() };
            judgement.findings = Some(pull::Findings::of_check(&[], keys));
            let card = pull::score(&[(1, judgement)]);
            Some(Sample { card, unsteady: 0, unjudged: 0, unjudged_why: Vec::new() })
        };
        let outcome = Outcome {
            figure: promised(false),
            hunt: promised(true),
            recorded_seconds: 1.0,
            requests: 0,
            flushes: 0,
            written_bytes: 0,
            promises: 0,
            kept: Vec::new(),
            interrupted: false,
        };
        let text = document("raid1(\"a\", <b>)", &outcome);
        assert!(text.contains("tests=\"2\" failures=\"1\""), "{text}");
        assert!(text.contains("name=\"the hunt\"><failure message=\"grade D: "), "{text}");
        assert!(text.contains("<system-out>grade A: nothing acknowledged lost (1 pulls"), "{text}");
        let bounds = ["(1 pulls, below 95.00 %)", "(1 pulls, at most 100.00 %)"];
        assert!(bounds.iter().all(|bound| text.contains(bound)), "{text}");
        assert!(text.contains("classname=\"raid1(&quot;a&quot;, &lt;b&gt;)\""), "{text}");
    }
}
