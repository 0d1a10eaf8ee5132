//! The page, rendered by Chromium at 1080 and 480 CSS pixels, and its size.
//!
//! Without Chromium the rendering tests say so and pass, except where `CI=true`: there it must be
//! installed.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::fixture;

use std::path::{Path, PathBuf};
use std::process::Command;

use results::analyse;
use testkit::chromium;

/// Checks itself once loaded and tells its parent window. Every promise about the page that needs a
/// browser is in here.
const PROBE: &str = r#"<script>
const errors = [];
addEventListener("error", (event) => errors.push(String(event.message)));
addEventListener("securitypolicyviolation", (event) => errors.push("fetch of " + event.blockedURI));
addEventListener("load", () => {
  const problems = errors.map((error) => "error: " + error);
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) {
    const wide = [...document.body.querySelectorAll("*")].filter((part) => part.getBoundingClientRect().right > innerWidth + 1 && !part.closest("svg *") && (getComputedStyle(part.closest(".scroll") ?? part).overflowX === "visible"));
    problems.push(`page is ${root.scrollWidth} wide in ${innerWidth}: ${wide.slice(0, 3).map((part) => `${part.tagName} ${part.className} ${part.textContent.slice(0, 60)}`).join(" | ")}`);
  }
  if (performance.getEntriesByType("resource").length) problems.push("something was fetched");
  for (const svg of document.querySelectorAll("svg")) {
    const title = svg.querySelector("title")?.textContent ?? "";
    if (svg.getBoundingClientRect().width === 0) continue; // Not on paper.
    if (!title) problems.push("a chart without a title");
    if (svg.getAttribute("role") !== "img") problems.push(`no role: ${title}`);
    if (!(svg.compareDocumentPosition(svg.closest("figure")?.querySelector("table") ?? svg) & 4)) problems.push(`no table after: ${title}`);
    const box = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].map((text) => [text, text.getBoundingClientRect()]);
    for (const [text, at] of texts) {
      if (at.left < box.left - 1 || at.right > box.right + 1 || at.bottom > box.bottom + 1) problems.push(`cut off in ${title}: ${text.textContent}`);
      if (at.height < 9) problems.push(`${at.height} pixels high in ${title}: ${text.textContent}`);
    }
    const shown = texts.filter(([text]) => getComputedStyle(text).visibility === "visible");
    for (let i = 0; i + 1 < shown.length; i++) {
      const [[a, left], [b, right]] = [shown[i], shown[i + 1]];
      if (left.right > right.left + .5 && right.right > left.left + .5 && left.bottom > right.top + 5 && right.bottom > left.top + 5)
        problems.push(`overlap in ${title}: ${a.textContent} | ${b.textContent}`);
    }
  }
  const whole = [...document.querySelectorAll("table, svg")].filter((part) => part.checkVisibility({ contentVisibilityAuto: true }));
  const boxes = whole.map((part) => [part, part.getBoundingClientRect()]).filter(([, box]) => box.width > 0 && box.height > 0);
  const named = (part) => part.querySelector("caption, title")?.textContent ?? part.tagName;
  for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
    const [[a, first], [b, second]] = [boxes[i], boxes[j]];
    if (first.right > second.left + 1 && second.right > first.left + 1 && first.bottom > second.top + 1 && second.bottom > first.top + 1 && getComputedStyle(a.parentElement).overflowX === "visible")
      problems.push(`one over another: ${named(a)} | ${named(b)}`);
  }
  for (const part of document.querySelectorAll("[tabindex], a[href], button, summary, input, \
      select, textarea")) {
    if (!(part.getAttribute("aria-label") ?? part.labels?.[0]?.textContent ?? (part.matches("button, summary, a") ? part.textContent : "")).trim()) problems.push(`takes the focus without a name: ${part.tagName} ${part.className.baseVal ?? part.className}`);
    if (part.closest("[role=img]")) problems.push(`takes the focus within a picture: ${part.tagName}`);
  }
  // A chart says the figures of what is pointed at, and of what the arrow keys reach.
  for (const svg of document.querySelectorAll("main figure .scroll > :is(svg, .heat)")) {
    const mark = svg.querySelector("[data-c], svg > * title");
    const shown = svg.closest("figure").querySelector("output");
    if (!mark || !shown) continue;
    const title = svg.querySelector("title, caption").textContent;
    mark.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    if (!shown.textContent) problems.push(`no figures when pointed at: ${title}`);
    svg.dispatchEvent(new PointerEvent("pointerleave"));
    if (shown.textContent) problems.push(`figures stay: ${title}`);
    svg.parentElement.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, cancelable: true }));
    if (!shown.textContent) problems.push(`no figures by keys: ${title}`);
    svg.parentElement.dispatchEvent(new FocusEvent("blur"));
  }
  // What axe-core looks at, as far as this page has it; Debian has no package of that.
  const visible = (part) => part.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true });
  const brief = (part) => `${part.tagName}.${part.className.baseVal ?? part.className} ${part.textContent.trim().slice(0, 30)}`;
  const color = (text) => {
    const [r, g, b, a = 1] = text.match(/[\d.]+(?:e-\d+)?/g).map(Number);
    return text.startsWith("color(") ? [r * 255, g * 255, b * 255, a] : [r, g, b, a];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const light = (c) => [.2126, .7152, .0722].reduce((sum, weight, i) => { const v = c[i] / 255; return sum + weight * (v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); }, 0);
  const contrast = (one, other) => { const [a, b] = [light(one), light(other)]; return (Math.max(a, b) + .05) / (Math.min(a, b) + .05); };
  const behind = (part) => {
    const own = part ? color(getComputedStyle(part).backgroundColor) : color(getComputedStyle(document.body).backgroundColor);
    return part && own[3] < 1 ? over(own, behind(part.parentElement)) : own;
  };
  for (const part of document.querySelectorAll("body *:not(script, style, title)")) {
    if (![...part.childNodes].some((node) => node.nodeType === 3 && node.data.trim()) || !visible(part)) continue;
    const style = getComputedStyle(part), svg = part.closest("svg");
    let ground = behind(svg ? svg.parentElement : part);
    if (svg) {
      const at = part.getBoundingClientRect(), [x, y] = [(at.left + at.right) / 2, (at.top + at.bottom) / 2];
      for (const rect of svg.querySelectorAll("rect")) {
        const box = rect.getBoundingClientRect(), drawn = getComputedStyle(rect);
        if (box.left > x || box.right < x || box.top > y || box.bottom < y || drawn.fill === "none" || rect.compareDocumentPosition(part) & 2) continue;
        const fill = color(drawn.fill);
        ground = over([...fill.slice(0, 3), fill[3] * drawn.fillOpacity], ground);
      }
    }
    const ink = color(svg ? style.fill : style.color), large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    const ratio = contrast(over(ink, ground), ground);
    if (ratio < (large ? 3 : 4.5)) problems.push(`contrast ${ratio.toFixed(2)}: ${brief(part)}`);
  }
  // Marks of series stand out from the page too.
  for (const mark of document.querySelectorAll("svg :is(.line, .dot, .mark, .bar, .read, .written, .course, .knee, .best)")) {
    const style = getComputedStyle(mark), ratio = contrast(over(color(style.stroke === "none" ? style.fill : style.stroke), behind(mark.closest("svg").parentElement)), behind(mark.closest("svg").parentElement));
    if (ratio < 3) problems.push(`mark of contrast ${ratio.toFixed(2)}: ${mark.tagName}.${mark.className.baseVal}`);
  }
  if (!document.documentElement.lang) problems.push("no language");
  for (const part of ["main", "body > header", "body > footer", "h1"]) if (document.querySelectorAll(part).length !== 1) problems.push(`not one ${part}`);
  for (const part of document.body.children) if (!part.matches("header, main, footer, script")) problems.push(`outside of landmarks: ${brief(part)}`);
  let level = 0;
  for (const head of document.querySelectorAll("h1, h2, h3, h4")) {
    const next = Number(head.tagName[1]);
    if (next > level + 1) problems.push(`a heading skips a level: ${brief(head)}`);
    level = next;
  }
  const regions = [...document.querySelectorAll("section[aria-labelledby], [role=region]")].map((part) => document.getElementById(part.getAttribute("aria-labelledby"))?.textContent ?? part.ariaLabel ?? "");
  if (regions.some((name, index) => !name || regions.indexOf(name) !== index)) problems.push(`a region without a name of its own: ${regions}`);
  const ids = [...document.querySelectorAll("[id]")].map((part) => part.id);
  if (new Set(ids).size !== ids.length) problems.push("an id twice");
  for (const part of document.querySelectorAll("[tabindex]")) if (part.tabIndex > 0) problems.push(`out of the order of focus: ${brief(part)}`);
  for (const part of document.querySelectorAll("[aria-label]")) if (!part.role && part.matches("div, span, p, pre")) problems.push(`a name on what has no role: ${brief(part)}`);
  for (const table of document.querySelectorAll("table")) {
    for (const head of table.querySelectorAll("th")) if (!["col", "row", "rowgroup"].includes(head.scope) || !head.textContent.trim()) problems.push(`a head without scope or text: ${brief(table)}`);
    for (const row of table.querySelectorAll("tbody tr")) if (row.firstElementChild.tagName !== "TH") problems.push(`a row without a head: ${brief(row)}`);
  }
  // On a narrow screen the names of rows stay in sight.
  for (const part of document.querySelectorAll(".scroll")) {
    const head = part.querySelector("tbody tr:not(.of) th");
    if (!head || part.scrollWidth <= part.clientWidth || !visible(head) || getComputedStyle(part).overflowX === "visible") continue;
    part.scrollLeft = part.scrollWidth;
    if (head.getBoundingClientRect().left < part.getBoundingClientRect().left - 1 || head.offsetWidth > part.clientWidth / 2) problems.push(`names of rows scroll away: ${brief(head)}`);
    part.scrollLeft = 0;
  }
  // The other language and back.
  const before = document.body.innerText, own = document.documentElement.lang, other = document.getElementById("language");
  other.click();
  if (document.documentElement.lang === own || document.querySelector("h2").textContent !== (own === "en" ? "結論" : "Decision") || document.body.innerText === before) problems.push("the switch of languages does nothing");
  other.click();
  if (document.documentElement.lang !== own || document.body.innerText !== before) problems.push("the switch of languages does not go back");
  if (document.getElementById("save")?.hidden !== false) problems.push("the script did not run to \
      its end");
  parent.postMessage({ width: innerWidth, ground: getComputedStyle(document.body).backgroundColor, charts: document.querySelectorAll("svg").length, first: Math.round(document.querySelector(".answer").getBoundingClientRect().bottom), height: root.scrollHeight, problems: problems.slice(0, 40) }, "*");
});
</script>"#;

/// `target/screenshots`, whatever the target folder is.
fn screenshots() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("screenshots");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs Chromium on a file and returns what it prints.
fn browse(chromium: &Path, file: &Path, width: u32, height: u32, more: &[&str]) -> String {
    let profile = file.with_extension("profile");
    let output = Command::new(chromium)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--hide-scrollbars",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--virtual-time-budget=4000",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--window-size={width},{height}"))
        .args(more)
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let _ = std::fs::remove_dir_all(profile);
    assert!(output.status.success(), "chromium: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Renders a page at a width in CSS pixels and returns what the probe told, as JSON. With `dark`
/// the reader prefers dark.
///
/// The page stands in a frame, because a headless window is never narrower than about 500 pixels;
/// and within the frame's own document, because a frame from another file is not laid out until it
/// is drawn.
fn render(chromium: &Path, page: &str, name: &str, width: u32, dark: bool) -> serde_json::Value {
    rendered(chromium, page, name, width, dark, true)
}

/// The same; without `kept` there is no picture to look at.
fn rendered(
    chromium: &Path,
    page: &str,
    name: &str,
    width: u32,
    dark: bool,
    kept: bool,
) -> serde_json::Value {
    let folder = screenshots();
    let probed = page.replacen("<head>", &format!("<head>{PROBE}"), 1);
    assert_ne!(probed, page, "the page has no head");
    let source = probed.replace('&', "&amp;").replace('"', "&quot;");
    let wrapper = |height: u32| {
        let text = format!(
            "<!doctype html><meta charset=utf-8><meta name=color-scheme content='light dark'><body \
            style='margin:0'>\
             <script>addEventListener('message', (event) => \
             document.body.append(Object.assign(document.createElement('pre'), \
             {{ hidden: true, textContent: 'PROBE' + JSON.stringify(event.data) + 'END' \
             }})))</script>\
             <iframe srcdoc=\"{source}\" width={width} height={height} \
             style='border:0;display:block'></iframe>"
        );
        let path = folder.join(format!("{name}-{width}.html"));
        std::fs::write(&path, text).unwrap();
        path
    };
    let scheme = if dark {
        "--blink-settings=preferredColorScheme=0"
    } else {
        "--blink-settings=preferredColorScheme=1"
    };
    let dom = browse(chromium, &wrapper(2000), width.max(500), 2000, &[scheme, "--dump-dom"]);
    let told = dom
        .rsplit_once("PROBE{")
        .and_then(|(_, rest)| rest.split_once("}END"))
        .map(|(told, _)| format!("{{{told}}}"));
    let told =
        told.unwrap_or_else(|| panic!("the page told nothing:\n{}", &dom[..dom.len().min(2000)]));
    let told: serde_json::Value =
        serde_json::from_str(&told.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
            .unwrap();
    if !kept {
        let _ = std::fs::remove_file(folder.join(format!("{name}-{width}.html")));
        return told;
    }
    let height = told["height"].as_u64().unwrap() as u32;
    let picture = format!("--screenshot={}", folder.join(format!("{name}-{width}.png")).display());
    let path = wrapper(height);
    browse(chromium, &path, width.max(500), height, &[scheme, &picture]);
    let _ = std::fs::remove_file(path);
    told
}

#[test]
fn page_is_whole_at_every_width() {
    let Some(chromium) = chromium() else { return };
    let run = fixture::middle();
    let analysis = analyse(&run);
    let page = report::html(&run, &analysis);
    std::fs::write(screenshots().join("report.html"), &page).unwrap();
    for (width, dark, name) in [
        (1080, false, "light"),
        (1080, true, "dark"),
        (480, false, "light"),
        (480, true, "dark"),
        (380, false, "light"),
        (1920, false, "light"),
    ] {
        let kept = matches!(width, 480 | 1080);
        let told = rendered(&chromium, &page, name, width, dark, kept);
        assert_eq!(told["width"], width, "rendered at another width");
        let ground = if dark { "rgb(28, 33, 38)" } else { "rgb(255, 255, 255)" };
        assert_eq!(told["ground"], ground, "the scheme is another");
        assert_eq!(told["problems"], serde_json::json!([]), "{name} at {width}");
        // That of the answer, the forest of all and the card; at most six of a sort for each
        // comparison; and the order of trials.
        let charts = told["charts"].as_u64().unwrap();
        assert!((4..=4 + 2 * 2 * 4).contains(&charts), "{charts} charts");
    }
}

/// "The first screen holds title, sentence, chart, costs and trust."
#[test]
fn the_first_screen_is_seen_at_once() {
    let Some(chromium) = chromium() else { return };
    let mut alone = fixture::small();
    let only = alone.plan.configurations[0].settings.clone();
    alone.plan.configurations.truncate(1);
    alone.trials.retain(|trial| trial.settings == only);
    let mut asked = fixture::small();
    asked.plan.terms.question = Some("Which chunk size for a stripe over two disks?".to_owned());
    let mut begun = fixture::small();
    begun.trials.retain(|trial| trial.block == 0);
    for (name, run) in [("alone", alone), ("asked", asked), ("begun", begun)] {
        for language in words::Language::ALL {
            let page = words::in_language(language, || report::html(&run, &analyse(&run)));
            for width in [1200, 380] {
                let told = rendered(&chromium, &page, "first", width, false, false);
                let bottom = told["first"].as_u64().unwrap();
                assert!(bottom <= 800, "{name}, {language:?}: {bottom} pixels at {width}");
            }
        }
    }
}

/// Pages of A4 that a run is printed on.
fn printed_pages(chromium: &Path, run: &results::types::Run) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    std::fs::write(&file, report::html(run, &analyse(run))).unwrap();
    let paper = folder.path().join("page.pdf");
    let to = format!("--print-to-pdf={}", paper.display());
    browse(chromium, &file, 1200, 800, &["--no-pdf-header-footer", &to]);
    let paper = std::fs::read(paper).unwrap();
    let page = b"/Type /Page\n";
    paper.windows(page.len()).filter(|bytes| bytes == page).count()
}

/// "Print of one question: at most 3 pages of A4, of 60 configurations at most 8."
#[test]
fn printed_it_is_a_few_pages() {
    let Some(chromium) = chromium() else { return };
    for (run, most) in [(fixture::small(), 3), (sixty(), 8)] {
        let pages = printed_pages(&chromium, &run);
        assert!((1..=most).contains(&pages), "{pages} pages");
    }
}

/// Sixty configurations with 5,400 trials.
fn sixty() -> results::types::Run {
    let chunks: Vec<u32> = (1..30).map(|step| 4 * step).collect();
    fixture::run(60, &chunks, &[512, 65536], 6)
}

/// Words of the other language are as whole.
#[test]
fn page_is_whole_in_japanese() {
    let Some(chromium) = chromium() else { return };
    let run = fixture::small();
    let analysis = analyse(&run);
    let page = words::in_language(words::Language::Japanese, || report::html(&run, &analysis));
    for (width, dark) in [(380, true), (1024, false)] {
        let told = rendered(&chromium, &page, "japanese", width, dark, false);
        assert_eq!(told["problems"], serde_json::json!([]), "at {width}");
    }
}

/// The page takes the reader's own font. DejaVu Sans is the widest that is usual, Liberation Sans
/// is as narrow as Arial, and a font of one width is what `system-ui` means on a Debian that has no
/// other; where one is not there, the browser takes another.
#[test]
fn intervals_are_whole_in_narrow_and_wide_fonts() {
    let Some(chromium) = chromium() else { return };
    let run = fixture::small();
    let page = report::html(&run, &analyse(&run));
    for (family, width) in [
        ("DejaVu Sans", 1080),
        ("Liberation Sans", 1080),
        ("Liberation Mono", 1080),
        ("Liberation Mono", 360),
    ] {
        let set = page.replacen("font: 1rem/1.5 ", &format!("font: 1rem/1.5 \"{family}\", "), 1);
        assert_ne!(set, page, "the page sets its font elsewhere");
        let told = rendered(&chromium, &set, "font", width, false, false);
        assert_eq!(told["problems"], serde_json::json!([]), "{family} at {width}");
    }
}

/// What is printed is laid out as on a screen of the paper's width with the rules for print: 718
/// CSS pixels on A4 with a margin of 10 mm, 642 with 20 mm.
#[test]
fn printed_tables_do_not_lie_over_each_other() {
    let Some(chromium) = chromium() else { return };
    let run = fixture::whole();
    let page = report::html(&run, &analyse(&run));
    let printed = page.replacen("@media print {", "@media all {", 1);
    assert_ne!(printed, page, "the page has no rules for print");
    for width in [718, 642] {
        let told = rendered(&chromium, &printed, "print", width, false, width == 718);
        assert_eq!(told["problems"], serde_json::json!([]), "at {width}");
    }
}

/// Long names, many axes, flags everywhere, too few blocks: nothing may break the page.
#[test]
fn page_bears_awkward_runs() {
    let Some(chromium) = chromium() else { return };
    let mut run = fixture::run(5, &[4, 1024], &[512, 1_048_576], 2);
    run.plan.name = "a-very-long-name-without-any-space-".repeat(6);
    run.host.facts[0].value = "0123456789abcdef".repeat(20);
    let long = " with a name that goes on and on and would not fit";
    for workload in &mut run.plan.workloads {
        workload.name.push_str(long);
    }
    for trial in &mut run.trials {
        trial.workload.push_str(long);
        trial.flags.push(results::Doubt::OtherWork { share: None });
    }
    let page = report::html(&run, &analyse(&run));
    for width in [1080, 360] {
        let told = rendered(&chromium, &page, "awkward", width, false, false);
        assert_eq!(told["problems"], serde_json::json!([]), "at {width}");
    }
}

#[test]
fn broken_pages_are_caught() {
    let Some(chromium) = chromium() else { return };
    let run = fixture::small();
    let page = report::html(&run, &analyse(&run));
    let planted = "<p style='color:#999'>faint</p><h4>deep</h4><b id=save></b><i tabindex=5 \
        aria-label=i></i><p aria-label=named>p</p><div class=scroll style='width:99px'><table><tbody><tr><th \
        style='position:static'>row<td style='min-width:500px'>1</table></div><div tabindex=0></div><div \
        style='height:9px'><table><tr><td>one<td>one</table></div><table><tr><td>two<td>two</table><div style='width:2000px'>wide</div><svg viewBox='0 0 9 9'><text x='900'>out</text></svg>\
                   <img src='http://127.0.0.1:9/x.png'><script>undefinedFunction()</script></main>";
    let told = render(&chromium, &page.replace("</main>", planted), "broken", 1080, false);
    let problems = told["problems"].to_string();
    for expected in [
        "page is",
        "without a title",
        "no role",
        "no table",
        "cut off",
        "undefinedFunction",
        "fetch of http",
        "without a name",
        "one over another",
        "contrast 2.8",
        "skips a level",
        "an id twice",
        "out of the order",
        "has no role",
        "without scope",
        "without a head",
        "scroll away",
    ] {
        assert!(problems.contains(expected), "{expected} was not caught: {problems}");
    }
}

#[test]
fn page_fetches_nothing_and_stays_small() {
    let run = fixture::whole();
    let page = report::html(&run, &analyse(&run));
    for banned in ["src=", "http://", "https://", "@import", "url(", "<link", "<img", "<iframe"] {
        assert!(!page.contains(banned), "{banned} in the page");
    }
    assert!(page.starts_with("<!DOCTYPE html><html lang=\"en\">"));
    assert_eq!(page.matches("type=\"application/json\"").count(), 1);
    let cells = run.plan.configurations.len() * run.plan.workloads.len();
    println!("{} bytes for {cells} cells", page.len());
    assert!(
        page.len() <= 2_000_000,
        "{} bytes for {cells} cells: more than 2 MB for 378",
        page.len()
    );
    // Sixty cells, each of which has a figure for every metric.
    let run = fixture::run(3, &[16, 64, 256], &[65536], 8);
    let cells = run.plan.configurations.len() * run.plan.workloads.len();
    let page = report::html(&run, &analyse(&run));
    println!("{} bytes for {cells} cells", page.len());
    assert!(cells >= 60 && page.len() <= 150_000, "{} bytes for {cells} cells", page.len());
    let run = sixty();
    let page = report::html(&run, &analyse(&run));
    let (trials, bytes) = (run.trials.len(), page.len());
    std::fs::write(screenshots().join("sixty.html"), &page).unwrap();
    println!("{bytes} bytes for {trials} trials");
    assert_eq!((run.plan.configurations.len(), trials), (60, 5_400));
    assert!(bytes <= 400_000, "{bytes} bytes");
}

#[test]
fn modelled_figures_are_labelled_in_every_section() {
    let run = fixture::small();
    let page = report::html(&run, &analyse(&run));
    // In what the answer rests on, in the forest and the map, and as a tag at the name.
    let said = page.matches("maxtor-6y200p0, modelled").count();
    assert!(said >= 3 && page.contains("class=\"tag\">modelled"), "{said}");
    assert!(page.contains("<span>modelled, off by at most 23"), "how far off is not said first");
    let titles = page.split("<title>").skip(2).filter_map(|rest| rest.split("</title>").next());
    for title in titles.filter(|title| title.contains("maxtor")) {
        assert!(title.contains("modelled"), "{title}");
    }
}

/// "A page that stays below 2 MB": of many configurations it shows the best, and says so.
#[test]
fn a_page_of_many_configurations_shows_the_best_of_them_and_says_so() {
    let chunks: Vec<u32> = (1..=700).map(|times| 4 * times).collect();
    let run = fixture::run(1, &chunks, &[16384], 3);
    let analysis = analyse(&run);
    let all: usize = analysis.comparisons.iter().map(|one| one.configurations.len()).sum();
    assert!(all > 700, "{all} configurations");
    let page = report::html(&run, &analysis);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    let (_, said) = page.split_once("Charts and tables show the best ").unwrap();
    let shown: usize = said.split(' ').next().unwrap().parse().unwrap();
    assert!((200..=256).contains(&shown), "{shown}");
    // What the answer says is about all of them.
    for paragraph in report::answer(&analysis) {
        let first = paragraph.split(['.', ':']).next().unwrap();
        assert!(page.contains(first), "{first}");
    }
    let small = fixture::run(1, &[64, 256], &[16384], 3);
    assert!(!report::html(&small, &analyse(&small)).contains("Charts and tables show the best"));
}
