"use strict";
// Values are only ever put into the page as text: h() makes elements and text nodes, and morph()
// carries what is new over to what is there, so that focus and what was typed stay.

const token = new URLSearchParams(location.search).get("token") ?? "";
const byId = (id) => document.getElementById(id);

// What is said is written in English here and in the page, and looked up where it is said in Japanese. What the guard
// and the verbs refuse comes as messages in both languages with their names, which textOf() fills in. What else comes from
// outside stays as it is.
const JAPANESE = {japanese};
const root = document.documentElement;
const filled = (template, place) => template.replace(/\{(\w+)\}/g, (all, name) => place(name) ?? all);
const t = (english, places) => filled((root.lang === "ja" && JAPANESE[english]) || english, (name) => places?.[name]);
// A text of the server: what stands as it is, places with a colon behind them, and messages.
function textOf(text) {
  if (!Array.isArray(text)) return text ?? "";
  return text.map((part) => {
    if (typeof part === "string") return part;
    if (part.code === undefined) return `${textOf(part.at)}: `;
    return filled(part[root.lang], (name) => (name in part.names ? textOf(part.names[name]) : undefined));
  }).join("");
}
const list = (parts) => parts.filter(Boolean).join(t(", "));
let about = { version: "", allow_changes: false, profiles: [], folder: "" };

const SVG = "http://www.w3.org/2000/svg";
function make(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {}))
    if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}
const h = (tag, attributes, ...children) => make(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) => make(document.createElementNS(SVG, tag), attributes, children);

function morph(old, fresh) {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName || (old.dataset?.key ?? "") !== (fresh.dataset?.key ?? "")) {
    old.replaceWith(fresh);
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  // A button that asks whether it is meant, and a form that somebody fills in, are left alone.
  if (old.dataset.armed !== undefined || (old.matches("form") && old.contains(document.activeElement))) return;
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const { name } of [...old.attributes]) if (name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name);
  if (old.matches("input, textarea")) return;
  const was = [...old.childNodes], is = [...fresh.childNodes];
  is.forEach((child, index) => (index < was.length ? morph(was[index], child) : old.append(child)));
  was.slice(is.length).forEach((child) => child.remove());
}
function show(id, ...children) {
  const place = byId(id);
  morph(place, make(place.cloneNode(false), {}, children));
}

// Numbers for people.
function digits(value) {
  if (!Number.isFinite(value)) return "?";
  if (value === 0) return "0";
  return value.toFixed(Math.min(3, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))));
}
function bytes(value) {
  if (value === null || value === undefined) return t("not known");
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (value >= 1000 && unit + 1 < units.length) [value, unit] = [value / 1024, unit + 1];
  return `${Number.isInteger(value) || value >= 100 ? Math.round(value) : value.toFixed(value < 10 ? 2 : 1)} ${units[unit]}`;
}
const rate = (value) => `${digits(value / 1e6)} MB/s`;
const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
function duration(seconds) {
  seconds = Math.round(seconds);
  const two = (number) => String(number).padStart(2, "0");
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${two(seconds % 60)} min`;
  return `${Math.floor(seconds / 3600)}:${two(Math.floor((seconds % 3600) / 60))} h`;
}
// A number of things: the words for one, and for any other number of them.
const counted = (count, one, more) => (count === 1 ? t(one) : t(more, { count }));
const blocksOf = (count) => counted(count, "1 block", "{count} blocks");
const trialsOf = (count) => counted(count, "1 trial", "{count} trials");
const configurationsIn = (count) => counted(count, "1 configuration", "{count} configurations");

// Asking the server.
async function ask(path, body, query) {
  const address = `${path}?${new URLSearchParams({ ...query, lang: root.lang, token })}`;
  const how = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  let answer;
  try {
    answer = await fetch(address, how);
  } catch {
    throw new Error(t("raidloom ui does not answer; was it ended?"));
  }
  const said = await answer.json().catch(() => ({ error: t("an answer without sense ({status})", { status: answer.status }) }));
  if (!answer.ok) throw new Error(textOf(said.parts ?? said.error) || t("refused ({status})", { status: answer.status }));
  return said;
}
let saidTimer;
function say(text, bad) {
  const place = byId("said");
  // What went well is not in the way for long.
  clearTimeout(saidTimer);
  if (text && !bad) saidTimer = setTimeout(() => say(""), 20000);
  place.textContent = text;
  place.hidden = !text;
  place.classList.toggle("bad", Boolean(bad));
}
function sayIn(form, text) {
  const place = form.querySelector(".error");
  place.textContent = text;
  place.hidden = !text;
}
async function act(verb) {
  const done = await ask("/api/do", verb);
  say([done.said, ...done.commands.map((command) => `$ ${command}`)].filter(Boolean).join("\n"));
}

// Arrays.
let arrays = { arrays: [], problems: [] }, arraysKnown = false;
const courses = new Map();
const COURSE = 60;
// Once a second the leaves' counters are looked at; what came in between is the throughput.
function measure() {
  const now = performance.now();
  for (const array of arrays.arrays) {
    const course = courses.get(array.process) ?? { last: null, rates: [], leaves: new Map() };
    const sum = (key) => array.members.reduce((all, leaf) => all + leaf[key], 0);
    const is = { at: now, read: sum("read_bytes"), written: sum("written_bytes") };
    const per = (key) => (course.last ? Math.max(0, (1000 * (is[key] - course.last[key])) / (now - course.last.at)) : 0);
    if (course.last) course.rates = [...course.rates, { read: per("read"), written: per("written") }].slice(-COURSE);
    course.last = is;
    for (const [place, leaf] of array.members.entries()) {
      const known = course.leaves.get(place) ?? { rates: [] };
      const rates = known.at ? [...known.rates, [(1000 * (leaf.read_bytes - known.read)) / (now - known.at), (1000 * (leaf.written_bytes - known.written)) / (now - known.at)]] : [];
      course.leaves.set(place, { at: now, read: leaf.read_bytes, written: leaf.written_bytes, rates: rates.slice(-3) });
    }
    courses.set(array.process, course);
  }
  if (arraysKnown) showArrays();
}
const mean = (values) => (values.length ? values.reduce((a, b) => a + b, 0) / values.length : 0);
const late = (course, key) => mean((course?.rates ?? []).slice(-3).map((one) => one[key]));
function courseOf(course) {
  const rates = course?.rates ?? [];
  const most = Math.max(1e6, ...rates.flatMap((one) => [one.read, one.written]));
  const line = (key) => rates.map((one, index) => `${index + COURSE - rates.length},${(38 - (36 * one[key]) / most).toFixed(1)}`).join(" ");
  const upTo = (key) => rate(Math.max(0, ...rates.map((one) => one[key])));
  const label = t("The last minute: up to {read} read and {written} written", { read: upTo("read"), written: upTo("written") });
  return s("svg", { class: "course", role: "img", "aria-label": label, viewBox: `0 0 ${COURSE - 1} 40`, preserveAspectRatio: "none" },
    s("polyline", { class: "read", points: line("read") }), s("polyline", { class: "written", points: line("written") }));
}
const STATES = { online: ["online", "good"], degraded: ["DEGRADED", "warn"], unusable: ["UNUSABLE", "bad"], failed: ["FAILED", "bad"] };
// A server of an earlier version does not say how all of it is.
const stateOf = (array) => array.state ?? ["failed", "unusable", "degraded", "online"].find((state) => array.arrays.some((one) => one.state === state)) ?? "online";
const lostOf = (array) => (array.missing ?? []).filter((part) => part.told_by === null);
const tag = (text, kind) => h("span", { class: `tag ${kind}` }, t(text));
const fact = (name, ...value) => h("div", {}, h("dt", {}, t(name)), h("dd", {}, ...value));
const button = (text, data, attributes) => h("button", { type: "button", ...Object.fromEntries(Object.entries(data).map(([key, value]) => [`data-${key}`, value])), ...attributes }, text);
// What this machine does with an array, beside its status; a run that measures it lets nothing else be done with it.
const onMachine = (array) => arrays.machine?.[array.name] ?? { space: [], starts_at_boot: null, scrubs: null, last_scrub_unix_seconds: null, is_measured: false };
const mayChange = (array) => about.allow_changes && !onMachine(array).is_measured;
function dateOf(seconds) {
  const date = new Date(1000 * seconds), two = (number) => String(number).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
const memberName = (name) => (name ?? "").replace(/^file:/, "");

function showArrays() {
  const cards = arrays.arrays.map(arrayCard);
  const problems = arrays.problems.map((problem) => h("p", { class: "bad" }, textOf(problem)));
  const none = cards.length || problems.length ? null : h("p", { class: "soft" }, t("None runs. "), h("code", {}, "raidloom array start"), t(" starts one."));
  show("arrays-list", none, problems, cards);
  showTrouble();
}
// What is not as it should be, in one line above everything.
const failureOf = (cache) => textOf(cache.failure_parts ?? cache.failure);
function showTrouble() {
  const place = byId("trouble");
  const amiss = (array) => [stateOf(array) === "online" ? null : t(STATES[stateOf(array)][0]), ...array.caches.map(failureOf)].filter(Boolean);
  const text = list(arrays.arrays.flatMap((array) => amiss(array).map((what) => `${array.name}: ${what}`)));
  // Said once, and not again with every look.
  if (place.textContent !== text) place.textContent = text;
  place.hidden = !text;
}
function arrayCard(array) {
  const course = courses.get(array.process);
  const [word, kind] = STATES[stateOf(array)];
  const at = array.attached ? (array.attached.block_device ?? array.attached.file) : (array.nbd[0] ?? array.vhost_user?.socket ?? "");
  const busy = array.arrays.find((one) => one.work)?.work;
  return h("article", { class: "card", "data-key": `${array.name} ${array.process}`, "aria-label": t("Array {name}", array) },
    h("div", { class: "head" }, h("h3", {}, array.name), tag(word, kind), busy ? h("span", { class: "soft" }, t(busy.kind)) : null,
      mayChange(array) ? button(t("Stop"), { act: JSON.stringify({ verb: "stop", name: array.name }), sure: t("Really stop {name}?", array) }) : null),
    h("dl", { class: "facts" },
      fact("Size", bytes(array.size_bytes), array.read_only ? t(", read-only") : ""),
      fact("At", h("span", { class: "path" }, at)),
      array.mounts.length ? fact("Mounted", h("span", { class: "path" }, array.mounts.join(", "))) : null,
      onMachine(array).space.map((space) => spaceOf(space, array)),
      upkeepOf(array),
      fact("Members read", rate(late(course, "read"))),
      fact("Members written", rate(late(course, "written")))),
    onMachine(array).is_measured ? h("p", { class: "soft" }, t("A run measures it: nothing else is done with it until that has ended.")) : null,
    byItself(array),
    courseOf(course),
    array.arrays.map((one) => membersOf(array, one)),
    lostOf(array).map((part) => h("p", { class: "warn" }, [part.name, textOf(part.cause_parts ?? part.cause)].filter(Boolean).join(": "))),
    traffic(array, course),
    array.caches.map(cacheOf),
    (array.note_parts ?? array.notes).map((note) => h("p", { class: "soft" }, textOf(note))),
    array.events.length ? h("details", { "data-key": "events" }, h("summary", {}, t("What has happened ({count})", { count: array.events.length })), h("ul", {}, array.events.slice(-20).reverse().map((event) => h("li", {}, `${event.array}: ${textOf(event.parts ?? event.text)}`)))) : null,
    h("details", { "data-key": "stack" }, h("summary", {}, t("Stack text")), h("p", { class: "path" }, array.stack)));
}
// As df counts: what is kept for root is neither used nor free.
function spaceOf(space, array) {
  const share = space.used_bytes / Math.max(1, space.used_bytes + space.free_bytes);
  const text = `${t("{used} of {size}", { used: bytes(space.used_bytes), size: bytes(space.size_bytes) })} (${percent(share)})`;
  return fact("Used space", h("span", {}, text, array.mounts.length > 1 ? h("span", { class: "word path" }, space.folder) : null));
}
// A month, after which members should be compared again.
const SCRUB_SECONDS = 31 * 86400;
const canScrub = (array) => array.arrays.some((one) => !["raid0", "linear"].includes(one.level));
function upkeepOf(array) {
  const { starts_at_boot: starts, scrubs, last_scrub_unix_seconds: last } = onMachine(array);
  const due = () => {
    if (scrubs?.is_monthly) return scrubs.next_unix_seconds ? dateOf(scrubs.next_unix_seconds) : t("once a month");
    if (!last) return h("span", { class: "warn" }, t("due"));
    const then = last + SCRUB_SECONDS, date = dateOf(then);
    return then > Date.now() / 1000 ? t("due on {date}", { date }) : h("span", { class: "warn" }, t("due since {date}", { date }));
  };
  return [
    fact("Starts with the machine", starts === null ? t("no: that takes systemd and root") : starts ? t("yes") : t("no")),
    canScrub(array) ? [fact("Last check", last ? dateOf(last) : t("none known")), fact("Next check", due())] : null,
  ];
}
// What the machine is to do without being asked.
function byItself(array) {
  const { starts_at_boot: starts, scrubs } = onMachine(array), { name } = array;
  if (!mayChange(array) || starts === null) return null;
  return h("p", { class: "row", "data-key": "by-itself" },
    button(t(starts ? "Start it with the machine no more" : "Start it with the machine"), { act: JSON.stringify({ verb: "start-at-boot", name, starts: !starts }), sure: t(starts ? "Really start {name} with the machine no more?" : "Really start {name} with the machine?", array) }),
    canScrub(array) ? button(t(scrubs.is_monthly ? "Check it once a month no more" : "Check it once a month"), { act: JSON.stringify({ verb: "scrub-calendar", name, monthly: !scrubs.is_monthly }) }) : null);
}
function workOf(work) {
  const share = work.done_bytes / Math.max(1, work.total_bytes);
  const left = work.is_paused ? t("paused") : work.remaining_seconds === null ? "" : t("about {time} left", { time: duration(work.remaining_seconds) });
  const what = { kind: t(work.kind), member: work.member, share: percent(share) };
  const text = list([work.member === null ? t("{kind}: {share}", what) : t("{kind} of member {member}: {share}", what), work.is_paused ? "" : rate(work.bytes_per_second), left]);
  return h("div", { class: "work", "data-key": "work" }, h("p", { class: "soft" }, text), h("progress", { max: 1, value: share.toFixed(4), "aria-label": t(work.kind) }));
}
const MEMBERS = { online: "good", rebuild: "warn", incomplete: "warn", failed: "bad", stale: "bad", missing: "bad", spare: "good", journal: "good", unused: "warn" };
function membersOf(array, one) {
  const can = (verb, member) => ({ verb, name: array.name, array: one.name, member: String(member.slot) });
  const acts = (member) => {
    if (!mayChange(array) || member.slot === null) return null;
    if (["online", "rebuild", "incomplete"].includes(member.state))
      return button(t("Set faulty"), { act: JSON.stringify(can("fail", member)), sure: t("Really set member {slot} faulty?", member) });
    return member.state === "failed" ? button(t("Remove"), { act: JSON.stringify(can("remove", member)), sure: t("Really remove member {slot}?", member) }) : null;
  };
  const row = (member) => h("tr", {}, h("th", { scope: "row" }, member.slot === null ? "-" : String(member.slot)),
    h("td", {}, h("span", { class: MEMBERS[member.state] }, t(member.state)), member.rebuilt_bytes === null ? "" : ` (${bytes(member.rebuilt_bytes)})`),
    h("td", { class: "path" }, memberName(member.name) || "-", member.cause ? h("span", { class: "word warn" }, textOf(member.cause_parts ?? member.cause)) : null),
    h("td", { class: "n" }, member.read_errors ?? "-"), mayChange(array) ? h("td", {}, acts(member)) : null);
  const column = (text, attributes) => h("th", { scope: "col", ...attributes }, t(text));
  return h("div", { "data-key": one.array_uuid },
    h("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": t("Members of {name}", one) }, h("table", {},
      h("caption", {}, list([one.level, one.chunk_bytes ? t("chunk {size}", { size: bytes(one.chunk_bytes) }) : "", one.slots, one.is_clean ? t("clean") : t("active")])),
      h("thead", {}, h("tr", {}, column("Slot"), column("State"), column("Device"), column("Read errors", { class: "n" }), mayChange(array) ? column("Do") : null)),
      h("tbody", {}, one.members.map(row)))),
    one.work ? workOf(one.work) : null,
    (one.note_parts ?? one.notes).map((note) => h("p", { class: "warn" }, textOf(note))),
    mayChange(array) ? giveTo(array, one) : null);
}
function giveTo(array, one) {
  const scrub = (action, text) => button(t(text), { act: JSON.stringify({ verb: "scrub", name: array.name, array: one.name, action }) });
  const slots = one.members.filter((member) => member.slot !== null && member.state === "online");
  return h("details", { "data-key": "give" }, h("summary", {}, t("Check {name}, or give it a device", one)),
    h("p", { class: "row" }, one.work ? [scrub(one.work.is_paused ? "resume" : "pause", one.work.is_paused ? "Go on" : "Pause"), scrub("cancel", "Cancel")] : [scrub("check", "Check"), scrub("repair", "Repair")]),
    h("form", { class: "fields give", "data-name": array.name, "data-array": one.name },
      h("label", {}, t("A file that is there, or a drive"), h("input", { name: "device", required: true, autocomplete: "off", spellcheck: "false" })),
      h("label", {}, t("What for"), h("select", { name: "slot" },
        h("option", { value: "" }, t("a slot without a member, or as a spare")),
        slots.map((member) => h("option", { value: String(member.slot) }, t("in place of member {slot}, {name}", { slot: member.slot, name: memberName(member.name) }))))),
      h("label", {}, t("Serial number of the drive, which may be erased"), h("input", { name: "erase", autocomplete: "off", spellcheck: "false" })),
      h("label", { class: "check" }, h("input", { type: "checkbox", name: "erase_signature" }), t("It may carry a signature, which is lost")),
      h("p", { class: "wide" }, h("button", { class: "main" }, t("Give it to the array"))),
      h("p", { class: "wide error", role: "alert", hidden: true })));
}
function traffic(array, course) {
  const row = (leaf, place) => {
    const rates = course?.leaves.get(place)?.rates ?? [];
    return h("tr", {}, h("th", { scope: "row", class: "path" }, memberName(leaf.name)),
      h("td", { class: "n" }, rate(mean(rates.map((one) => one[0])))), h("td", { class: "n" }, rate(mean(rates.map((one) => one[1])))),
      h("td", { class: "n" }, bytes(leaf.read_bytes)), h("td", { class: "n" }, bytes(leaf.written_bytes)));
  };
  const column = (text) => h("th", { scope: "col", class: "n" }, t(text));
  const name = t("What the devices of {name} move", array);
  return h("details", { "data-key": "traffic" }, h("summary", {}, t("What the devices move")),
    h("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": name }, h("table", { "aria-label": name },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("Device")), column("Reads now"), column("Writes now"), column("Read since the start"), column("Written"))),
      h("tbody", {}, array.members.map(row)))));
}
function cacheOf(cache) {
  const hits = (hit, miss) => (hit + miss ? percent(hit / (hit + miss)) : t("none asked"));
  return h("dl", { class: "facts", "data-key": `cache ${cache.name}` },
    fact("Cache", t(cache.mode)), fact("Used", t("{used} of {size}", { used: bytes(cache.used_bytes), size: bytes(cache.size_bytes) })),
    fact("Dirty", bytes(cache.dirty_bytes)), fact("Read hits", hits(cache.read_hits, cache.read_misses)),
    fact("Write hits", hits(cache.write_hits, cache.write_misses)), fact("Written out", rate(cache.write_out_bytes_per_second)),
    cache.failure ? fact("Failure", h("span", { class: "bad" }, failureOf(cache))) : null);
}

// Runs.
const STAGES = { running: ["running", "warn"], interrupted: ["interrupted", "bad"], finished: ["finished", "good"] };
let runs;
function showRuns(told) {
  runs = told;
  byId("runs-folder").textContent = t("In {folder}", told);
  const none = told.runs.length ? null : h("p", { class: "soft" }, t("None here. "), h("code", {}, "raidloom run PLAN"), t(" makes one."));
  show("runs-list", none, told.runs.map(runCard), told.more ? h("p", { class: "soft" }, t("and {more} older ones", told)) : null);
  fillCompare(told);
}
function runCard(run) {
  const remove = !about.allow_changes || run.stage === "running" || run.id === "." ? null : button(t("Delete"), { delete: run.id, sure: t("Really delete {id} with all its figures?", run) }, { "aria-label": t("Delete {id}", run) });
  if (run.problem) return h("article", { class: "card", "data-key": run.id, "aria-label": t("Run {id}", run) }, h("div", { class: "head" }, h("h3", {}, run.id), remove), h("p", { class: "bad" }, textOf(run.problem)));
  const [word, kind] = STAGES[run.stage];
  const share = run.trials ? run.trials_finished / run.trials : 0;
  const blocks = run.blocks === null ? t("{blocks} of a race", { blocks: blocksOf(run.blocks_finished) }) : t("{done} of {all}", { done: run.blocks_finished, all: blocksOf(run.blocks) });
  const address = `/report?${new URLSearchParams({ run: run.id, lang: root.lang, token })}`;
  return h("article", { class: "card", "data-key": run.id, "aria-label": t("Run {id}", run) },
    h("div", { class: "head" }, h("h3", {}, run.name), tag(word, kind),
      run.trials_finished ? h("a", { href: address, target: "_blank", rel: "noopener" }, t(run.stage === "finished" ? "Report" : "Report so far")) : null, remove),
    h("p", { class: "soft" }, t("{id}, begun {time}", { id: run.id, time: run.started.replace("T", " ").replace(/\.\d+/, "") })),
    run.stage === "finished" ? null : h("progress", { max: 1, value: share.toFixed(4), "aria-label": t("Trials of {name}", run) }),
    h("p", {}, list([blocks, t("{done} of {all}", { done: run.trials_finished, all: trialsOf(run.trials) }), run.stage === "finished" ? "" : percent(share), run.trials_flagged ? t("{count} flagged", { count: run.trials_flagged }) : "", run.now ? leftOf(run.now) : ""])),
    run.now ? h("p", { class: "soft" }, t("Now: {configuration}: {workload}", run.now)) : null,
    // Of a finished run what its report says, and nothing else.
    run.answer[root.lang]?.map((sentence) => h("p", {}, sentence)) ?? run.best.map((best) => h("p", { class: best.is_sure ? "" : "soft" }, bestOf(run, best))),
    run.trials_finished ? configurationsOf(run) : null,
    run.stage === "interrupted" ? h("p", { class: "soft row" }, about.allow_changes ? button(t("Go on"), { resume: run.id }) : null, h("span", {}, t(about.allow_changes ? "or in a terminal: " : "To go on: "), h("code", {}, `raidloom run --resume ${run.folder}`))) : null);
}
function configurationsOf(run) {
  const column = (text, kind) => h("th", { scope: "col", class: kind }, t(text));
  const times = (ratio) => (ratio === null ? "-" : `${ratio.toFixed(2)}×`);
  const row = (one) => h("tr", {}, h("th", { scope: "row" }, [one.comparison, one.configuration].filter(Boolean).join(": ")),
    h("td", { class: "n" }, String(one.trials)), h("td", { class: "n" }, times(one.ratio)),
    h("td", { class: "n" }, one.ratio_low === null ? "-" : t("{low} to {high}", { low: times(one.ratio_low), high: times(one.ratio_high) })),
    h("td", {}, one.is_baseline ? t("the baseline") : one.is_dropped ? t("dropped") : ""));
  return h("details", { "data-key": "configurations" }, h("summary", {}, configurationsIn(run.configurations.length)),
    h("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": t("Configurations of {id}", run) }, h("table", { "aria-label": t("Configurations of {id}", run) },
      h("thead", {}, h("tr", {}, column("Configuration"), column("Trials", "n"), column("Score", "n"), column("Interval", "n"), column("Note"))),
      h("tbody", {}, run.configurations.map(row)))));
}
function leftOf(now) {
  const [low, high] = [duration(now.left_low_seconds), duration(now.left_high_seconds)];
  const time = low === high ? low : t("{low} to {high}", { low, high });
  return now.left_is_rough ? t("{time} left (rough)", { time }) : t("{time} left", { time });
}
function bestOf(run, best) {
  const times = (ratio) => `${ratio.toFixed(2)}×`;
  const places = { where: list([best.comparison, t(best.work)]), configuration: best.configuration, figures: t(best.figures), ratio: times(best.ratio) };
  // As the report says it: an undefeated baseline alone is no answer.
  if (best.verdict.is === "nothing_faster") return t("{where}: nothing is faster than the baseline, {configuration} ({figures})", places);
  if (run.stage !== "running" && best.verdict.is !== "take") return t("{where}: no answer ({figures})", places);
  if (best.is_baseline) return t("{where}: the baseline, {configuration}, is ahead so far ({figures})", places);
  places.range = best.ratio_low === null ? "" : ` (${t("{low} to {high}", { low: times(best.ratio_low), high: times(best.ratio_high) })})`;
  places.verdict = t(best.is_sure ? "sure" : run.stage === "running" ? "ahead so far, not sure" : "not sure");
  return t("{where}: {configuration}, {ratio}{range} the baseline, {verdict} ({figures})", places);
}

// The run that was started from here; the folder says how far it is.
let course = { stage: "idle", what: "" };
function showCourse(told) {
  course = told;
  const name = course.what.split("/").pop();
  const texts = { idle: "", running: t("Running {name}. Nothing else is done meanwhile.", { name }), done: t("{name} is finished.", { name }), stopped: t("{name} was stopped.", { name }), failed: `${name}: ${textOf(course.error)}` };
  const now = byId("runs-now");
  now.textContent = texts[course.stage];
  now.className = course.stage === "failed" ? "bad" : "soft";
  byId("runs-stop").hidden = course.stage !== "running" || !about.allow_changes;
}
byId("runs-stop").addEventListener("click", () => ask("/api/run/stop", {}).catch((error) => say(error.message, true)));
byId("runs-list").addEventListener("click", async (event) => {
  const pressed = event.target.closest("button[data-resume], button[data-delete]");
  if (!pressed || asks(pressed)) return;
  pressed.disabled = true;
  try {
    if (pressed.dataset.resume) await ask("/api/run", { what: "resume", run: pressed.dataset.resume });
    else {
      const { deleted, left } = await ask("/api/run/delete", { run: pressed.dataset.delete });
      say(list([t("{folder} is deleted", { folder: deleted }), left.length ? t("but for what is not of the run: {names}", { names: left.map((path) => path.split("/").pop()).join(" ") }) : null]));
    }
  } catch (error) {
    say(error.message, true);
  }
  again(pressed);
});

// Two runs against each other.
const compareForm = byId("compare");
let compared = null;
function fillCompare(told) {
  const can = told.runs.filter((run) => !run.problem && run.trials_finished);
  byId("compare-details").hidden = can.length < 2;
  const texts = can.map((run) => `${run.name} (${run.id})`);
  for (const [name, place] of [["first", 1], ["second", 0]]) {
    const field = compareForm.elements[name], was = field.value;
    // What somebody has chosen stays chosen when another run comes.
    if (texts.join("\n") === [...field.options].map((option) => option.textContent).join("\n")) continue;
    field.replaceChildren(...can.map((run, index) => h("option", { value: run.id }, texts[index])));
    field.value = can.some((run) => run.id === was) ? was : (can[place]?.id ?? "");
  }
}
const AGAINST = { ahead: ["faster", "good"], behind: ["slower", "bad"], same: ["the same", ""], "no answer": ["no answer", "soft"] };
function showCompared() {
  show("compared", compared ? comparedOf(compared) : null);
}
function comparedOf(told) {
  const signed = (share) => `${share < 0 ? "" : "+"}${(100 * share).toFixed(1)} %`;
  const differing = [...new Map(told.differing.map((one) => [one.name, one])).values()];
  const valueOf = (text) => text || t("not said");
  const conditions = differing.length ? h("p", { class: "warn" }, t("Made under different conditions: {what}", { what: list(differing.map((one) => `${one.name} (${valueOf(one.first)} / ${valueOf(one.second)})`)) })) : null;
  if (!told.cells) return [conditions, h("p", {}, h("button", { type: "submit", form: "compare", value: "allow" }, t("Compare them all the same")))];
  const metricOf = (metric, value) => (metric.endsWith("bytes_per_second") ? rate(value) : metric.endsWith("_seconds") ? `${digits(1000 * value)} ms` : digits(value));
  const column = (text, kind) => h("th", { scope: "col", class: kind }, t(text));
  const row = (cell) => {
    const [word, kind] = AGAINST[cell.answer];
    return h("tr", {}, h("th", { scope: "row" }, [...cell.settings, cell.workload].join(" "), cell.judged ? null : h("span", { class: "word" }, cell.metric)),
      ...cell.medians.map((value) => h("td", { class: "n" }, metricOf(cell.metric, value))), h("td", { class: "n" }, cell.ratio.toFixed(3)),
      h("td", { class: "n" }, cell.interval ? t("{low} to {high}", { low: cell.interval.low.toFixed(3), high: cell.interval.high.toFixed(3) }) : "-"),
      h("td", {}, h("span", { class: kind }, t(word)), cell.better === "lower" ? h("span", { class: "word" }, t("less is better")) : null));
  };
  const { summary, common_shift: shift } = told;
  return [
    h("p", {}, t("The second run: {slower} slower, {faster} faster, {same} the same, {no_answer} without an answer.", summary)),
    shift ? h("p", {}, t("All configurations share {change} ({low} to {high}): the machine, or whatever else changed for all.", { change: signed(shift.change), low: signed(shift.interval.low), high: signed(shift.interval.high) })) : null,
    conditions,
    h("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": t("Two runs compared") }, h("table", { "aria-label": t("Two runs compared") },
      h("thead", {}, h("tr", {}, column("What was measured"), column("First", "n"), column("Second", "n"), column("Ratio", "n"), column("Interval", "n"), column("The second is"))),
      h("tbody", {}, told.cells.map(row)))),
    told.more ? h("p", { class: "soft" }, t("and {more} more", told)) : null,
    told.notes.map((note) => h("p", { class: "soft" }, textOf(note))),
  ];
}
compareForm.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { first, second } = compareForm.elements;
  sayIn(compareForm, "");
  try {
    compared = await ask("/api/compare", { first: first.value, second: second.value, allow: event.submitter?.value === "allow" });
  } catch (error) {
    compared = null;
    sayIn(compareForm, error.message);
  }
  showCompared();
});

// Board.
let job = { stage: "idle", target: "", rows: [], documents: [], commands: [] };
// What was measured on each target since the page was opened: a row stays when another is measured.
const measured = new Map();
function keep(job) {
  for (const document of job.documents) for (const one of document.summary ?? []) measured.set(`${one.row} ${job.target}`, one);
}
const boardForm = byId("board-form");
function figureOf(row, way, view) {
  const found = measured.get(`${row} ${way} ${job.target}`)?.[view];
  if (!found) return h("td", {}, "-");
  const best = found.best_bytes_per_second, audit = found.audit ?? t("not known whether it was cached");
  const flags = (found.flags ?? []).map((flag) => flag.mark).join(", ");
  const calm = audit.startsWith("no:");
  return h("td", {}, h("span", { class: "figure" }, best === null ? "-" : digits(best / 1e6)),
    found.median_bytes_per_second === null ? null : h("span", { class: "word" }, t("median {rate}", { rate: digits(found.median_bytes_per_second / 1e6) })),
    h("span", { class: calm ? "word" : "word warn" }, audit.replace(/^no:/, t("not cached:")).replace(/^yes:/, t("cached:"))),
    flags ? h("span", { class: "word warn" }, flags) : null);
}
// The flags in full, each row's under its name.
function flagsOf(rows) {
  const views = { direct: "", buffered: ", cached" };
  const lines = rows.flatMap((row) => ["read", "write"].flatMap((way) => Object.entries(views).flatMap(([view, word]) =>
    (measured.get(`${row} ${way} ${job.target}`)?.[view]?.flags ?? []).map((flag) => h("li", {}, `${row} ${t(way)}${word && t(word)}: ${flag.text}`)))));
  return lines.length ? h("details", { "data-key": "flags" }, h("summary", {}, t("What is doubtful about the figures")), h("ul", {}, lines)) : null;
}
// How long the row has been measured: a row may take a minute, and nothing else changes meanwhile.
let boardSince = Date.now();
function showBoardTime() {
  byId("board-time").textContent = job.stage === "running" ? duration((Date.now() - boardSince) / 1000) : "";
}
function showBoard() {
  const profile = about.profiles.find((one) => one.name === boardForm.elements.profile.value);
  const rows = profile?.rows ?? [], running = job.stage === "running";
  const off = running || !about.allow_changes;
  const push = (text, row) => h("button", { type: "submit", "data-row": row, disabled: off, "aria-label": row ? t("Measure {row}", { row }) : t("Measure all rows") }, text);
  const head = ["Read", "Read, cached", "Write", "Write, cached"].map((text) => h("th", { scope: "col" }, t(text)));
  show("board-table", h("caption", {}, job.target ? t("MB/s on {target}", job) : "MB/s"),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, push(t("All"), "")), head)),
    h("tbody", {}, rows.map((row) => h("tr", {}, h("th", { scope: "row" }, push(row, row)),
      ["read", "write"].map((way) => ["direct", "buffered"].map((view) => figureOf(row, way, view)))))));
  show("board-flags", flagsOf(rows));
  byId("board-stop").hidden = !running || !about.allow_changes;
  const place = job.rows.indexOf(job.now) + 1;
  byId("board-now").textContent = { idle: "", running: t("Measuring {row} ({place} of {all})", { row: job.now, place, all: job.rows.length }), done: t("Done"), stopped: t("Stopped"), failed: t("Failed") }[job.stage];
  showBoardTime();
  sayIn(boardForm, textOf(job.error));
  byId("board-commands-details").hidden = !job.commands.length;
  byId("board-commands").textContent = job.commands.join("\n");
}
const consent = (form) => ({
  erase: form.elements.erase.value.split(/[\s,]+/).filter(Boolean),
  erase_signature: form.elements.erase_signature.checked,
});
const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

boardForm.addEventListener("submit", (event) => {
  event.preventDefault();
  const { target, profile, size, runs, time, interval, access, create } = Object.fromEntries(["target", "profile", "size", "runs", "time", "interval", "access", "create"].map((name) => [name, boardForm.elements[name].value.trim()]));
  const row = event.submitter?.dataset.row || null;
  sayIn(boardForm, "");
  ask("/api/board", { target, row, profile, size, runs, time, interval, access, create, consent: consent(boardForm) }).catch((error) => sayIn(boardForm, error.message));
});
boardForm.elements.profile.addEventListener("change", showBoard);
byId("board-stop").addEventListener("click", () => ask("/api/board/stop", {}).catch((error) => say(error.message, true)));

// Verbs.
function onSubmit(form, verbOf) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const go = form.querySelector("button.main");
    go.disabled = true;
    sayIn(form, "");
    try {
      await act(verbOf(form.elements));
      form.closest("details")?.removeAttribute("open");
    } catch (error) {
      sayIn(form, error.message);
    }
    go.disabled = false;
  });
}
onSubmit(byId("make"), (fields) => ({ verb: "make", name: fields.name.value.trim(), level: fields.level.value, chunk: fields.chunk.value.trim(), size: fields.size.value.trim(), members: lines(fields.members.value), attach: fields.attach.value, consent: consent(byId("make")) }));
onSubmit(byId("start"), (fields) => ({ verb: "start", stack: fields.stack.value.trim(), name: fields.name.value.trim(), attach: fields.attach.value, read_only: fields.read_only.checked }));
byId("arrays-list").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target, { name, array } = form.dataset, slot = form.elements.slot.value;
  const device = form.elements.device.value.trim();
  sayIn(form, "");
  try {
    await act({ ...(slot === "" ? { verb: "add" } : { verb: "replace", member: slot }), name, array, device, consent: consent(form) });
    form.elements.device.value = "";
    document.activeElement?.blur();
  } catch (error) {
    sayIn(form, error.message);
  }
});
// What is not to be done by mistake asks once whether it is meant: whether this was the press that is asked about.
function asks(pressed) {
  const { sure } = pressed.dataset;
  if (!sure || pressed.dataset.armed !== undefined) return false;
  const text = pressed.textContent, label = pressed.getAttribute("aria-label");
  pressed.dataset.armed = "";
  pressed.textContent = sure;
  // What is read aloud is the question, too.
  pressed.removeAttribute("aria-label");
  setTimeout(() => {
    if (pressed.dataset.armed === undefined) return;
    delete pressed.dataset.armed;
    pressed.textContent = text;
    if (label) pressed.setAttribute("aria-label", label);
  }, 6000);
  return true;
}
// It may be pressed again. Who works by keyboard goes on from here: a button that is off has no focus.
function again(pressed) {
  delete pressed.dataset.armed;
  pressed.disabled = false;
  if (document.activeElement === document.body) pressed.focus();
}
byId("arrays-list").addEventListener("click", async (event) => {
  const pressed = event.target.closest("button[data-act]");
  if (!pressed || asks(pressed)) return;
  pressed.disabled = true;
  try {
    await act(JSON.parse(pressed.dataset.act));
  } catch (error) {
    say(error.message, true);
  }
  again(pressed);
});

// Plan.
const planForm = byId("plan-form"), planText = byId("plan-text");
function planOf(fields) {
  const quoted = (text) => JSON.stringify(text), list = (values) => `[${values.map(quoted).join(", ")}]`;
  const checked = (name) => [...planForm.querySelectorAll(`input[name=${name}]:checked`)].map((box) => box.value);
  const count = Math.max(1, Number(fields.count.value) || 1), kind = fields.members.value;
  const members = {
    files: `files = { count = ${count}, size = ${quoted(fields.size.value.trim())} }`,
    devices: `devices = ${list(lines(fields.devices.value))}`,
    models: `models = ${list(Array(count).fill(fields.model.value.trim()))}`,
  }[kind];
  const levels = checked("level"), systems = checked("fs");
  const chunks = fields.chunks.value.split(",").map((chunk) => chunk.trim()).filter(Boolean);
  const striped = (level) => !["single", "linear", "raid1"].includes(level);
  const withChunks = chunks.length && levels.some(striped);
  const text = [
    "schema = 1", `name = ${quoted(fields.name.value.trim())}`, "",
    "[members.mine]", members, "",
    "[matrix]", 'members = ["mine"]', `level = ${list(levels)}`,
    withChunks ? `chunk = ${list(chunks)}` : null,
    systems.length ? `file_system = ${list(systems)}` : null, "",
    "[baseline]", levels.length ? `level = ${quoted(levels[0])}` : null,
    withChunks && striped(levels[0]) ? `chunk = ${quoted(chunks[0])}` : null,
    systems.length ? `file_system = ${quoted(systems[0])}` : null, "",
    "[[workload]]", `suite = ${quoted(fields.suite.value)}`, "",
    "[trials]", `blocks = ${Math.max(1, Number(fields.blocks.value) || 1)}`, "",
  ];
  return text.filter((line) => line !== null).join("\n");
}
let planAsked = 0, planTold;
async function checkPlan() {
  const asked = ++planAsked;
  let told, failure;
  try {
    told = await ask("/api/plan", { text: planText.value });
  } catch (error) {
    failure = error.message;
  }
  // Only what was asked last is shown.
  if (asked !== planAsked) return;
  const place = byId("plan-error");
  place.textContent = failure ?? "";
  place.hidden = !failure;
  planText.setAttribute("aria-invalid", failure ? "true" : "false");
  planTold = told;
  showPlan();
  byId("plan-consent").hidden = !told?.outline.written.some((one) => !one.made);
}
function showPlan() {
  show("plan-outline", planTold ? outlineOf(planTold) : null);
}
function outlineOf({ plan, outline, skipped }) {
  const race = outline.design === "race";
  const axes = plan.axes.map((axis) => axis.name);
  const label = (one) => axes.map((axis) => one.settings[axis]).filter(Boolean).join(", ");
  const column = (text, kind) => h("th", { scope: "col", class: kind }, t(text));
  const cell = (one) => h("tr", {}, h("th", { scope: "row" }, label(one) || one.id),
    h("td", {}, t(one.clock === "virtual" ? "modelled" : "real")),
    h("td", {}, one.baseline === one.id ? t("the baseline") : label(plan.configurations.find((other) => other.id === one.baseline) ?? one)),
    h("td", { class: "path" }, one.stack));
  const written = (one) => h("tr", {}, h("th", { scope: "row", class: "path" }, one.path),
    h("td", { class: one.made ? "" : "erased" }, t(one.made ? "made, and removed at the end" : "ERASED: everything on it is overwritten")),
    h("td", { class: "n" }, bytes(one.size_bytes)), h("td", { class: "n" }, bytes(one.prepared_bytes)));
  const names = plan.workloads.map((workload) => workload.name), shown = names.slice(0, 8).join(t(", "));
  const each = names.length > 8 ? t("Configurations; each runs {names} and {more} more", { names: shown, more: names.length - 8 }) : t("Configurations; each runs {names}", { names: shown });
  const scroll = (name, ...children) => h("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": t(name), "data-key": name }, ...children);
  return [
    h("p", { id: "plan-sentence" }, t(race ? "{configurations} × {workloads} × {blocks} = at most {trials}, about {time} (a race drops clear losers)." : "{configurations} × {workloads} × {blocks} = {trials}, about {time}.", {
      configurations: configurationsIn(outline.configurations), workloads: counted(outline.workloads, "1 workload", "{count} workloads"),
      blocks: blocksOf(outline.blocks), trials: trialsOf(outline.trials), time: duration(outline.estimated_seconds),
    })),
    outline.written.length ? scroll("What is written to", h("table", {}, h("caption", {}, t("What is written to ({members} is a folder of the run's own)")),
      h("thead", {}, h("tr", {}, column("Where"), column("What becomes of it"), column("Size", "n"), column("Written by preparing", "n"))),
      h("tbody", {}, outline.written.map(written)))) : h("p", { class: "soft" }, t("Nothing is written but the run's own folder.")),
    outline.written.some((one) => !one.made) ? h("p", { class: "warn" }, t("To run it, once it is saved: "), h("code", {}, runWith("PLAN.toml", outline.written))) : null,
    scroll("Configurations", h("table", {}, h("caption", {}, each),
      h("thead", {}, h("tr", {}, column("Configuration"), column("Time"), column("Compared with"), column("Stack"))),
      h("tbody", {}, plan.configurations.map(cell)))),
    skipped.map((one) => h("p", { class: "soft" }, t("Left out: {configuration}: {why}", { configuration: label(one), why: one.why }))),
  ];
}
let planTimer;
function planSoon() {
  clearTimeout(planTimer);
  planTimer = setTimeout(checkPlan, 300);
}
function buildPlan() {
  const kind = planForm.elements.members.value;
  byId("plan-devices").hidden = kind !== "devices";
  byId("plan-model").hidden = kind !== "models";
  planForm.elements.count.closest("label").hidden = kind === "devices";
  planForm.elements.size.closest("label").hidden = kind !== "files";
  planText.value = planOf(planForm.elements);
  planSoon();
}
planForm.addEventListener("input", buildPlan);
planForm.addEventListener("submit", (event) => event.preventDefault());
planText.addEventListener("input", planSoon);
byId("plan-starter").addEventListener("click", async () => {
  try {
    planText.value = (await ask("/api/plan")).text;
    await checkPlan();
  } catch (error) {
    say(error.message, true);
  }
});
byId("plan-download").addEventListener("click", () => {
  const address = URL.createObjectURL(new Blob([planText.value], { type: "application/toml" }));
  h("a", { href: address, download: "plan.toml" }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
});
byId("plan-save").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  sayIn(form, "");
  try {
    const name = form.elements.name.value.trim();
    const saved = await ask("/api/plan/save", { name, text: planText.value });
    if (event.submitter?.value === "run") {
      await ask("/api/run", { what: "plan", name, consent: consent(form) });
      say(t("Saved as {path}, and started: see Runs.", saved));
      return;
    }
    say(`${t("Saved as {path}. To run it:", saved)}\n$ ${runWith(saved.path, saved.outline.written)}`);
  } catch (error) {
    sayIn(form, error.message);
  }
});

// Drives.
const ANSWERS = { "with-consent": ["with consent", "warn"], refused: ["refused", "bad"], "not-known": ["not known", "bad"] };
let drives = [], drivesKnown = false;
// The command that runs a plan, with the consents that it would ask for.
function runWith(file, written) {
  const word = (text) => (/^[\w./:=,+%@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const serials = written.filter((one) => !one.made).map((one) => drives.find((drive) => drive.path === one.path)?.serial).filter(Boolean);
  return ["raidloom run", word(file), ...serials.map((serial) => `--erase ${word(serial)}`)].join(" ");
}
function showDrives() {
  if (!drivesKnown) return;
  const column = (text, kind) => h("th", { scope: "col", class: kind }, t(text));
  const row = (drive) => {
    const [word, kind] = ANSWERS[drive.answer] ?? [drive.answer, ""];
    const parts = [drive.model, drive.serial ? t("serial {serial}", drive) : null, drive.rotational ? t("turning") : null, drive.removable ? t("removable") : null, drive.partitions ? counted(drive.partitions, "1 partition", "{count} partitions") : null];
    return h("tr", {}, h("th", { scope: "row", class: "path" }, drive.path), h("td", { class: "n" }, bytes(drive.size_bytes)),
      h("td", {}, list(parts) || "-"), h("td", {}, tag(word, kind)), h("td", { class: "why" }, textOf(drive.reason_parts ?? drive.reason)));
  };
  show("drives-list", drives.length ? h("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": t("Drives") }, h("table", { "aria-label": t("Drives") },
    h("thead", {}, h("tr", {}, column("Drive"), column("Size", "n"), column("What it is"), column("Writes"), column("Why"))),
    h("tbody", {}, drives.map(row)))) : h("p", { class: "soft" }, t("There are none, or this machine does not tell.")));
}
async function lookAtDrives() {
  try {
    drives = await ask("/api/drives");
    drivesKnown = true;
    showDrives();
    showChoice();
  } catch (error) {
    drivesKnown = false;
    show("drives-list", h("p", { class: "bad" }, error.message));
  }
}
byId("drives-again").addEventListener("click", lookAtDrives);

// Which layout.
const chooseForm = byId("choose-form");
let chosen = null, askedFor = null;
// The list is the guard's: what it refuses cannot be ticked, and says why.
function showChoice() {
  const box = (drive) => {
    const can = drive.answer === "with-consent";
    const parts = [bytes(drive.size_bytes), drive.model, drive.serial ? t("serial {serial}", drive) : null];
    return h("li", { "data-key": drive.path }, h("label", { class: "check" }, h("input", { type: "checkbox", name: "drive", value: drive.path, disabled: !can }),
      h("span", {}, h("span", { class: "path" }, drive.path), ` ${list(parts)}`)), can ? null : h("span", { class: "word warn" }, textOf(drive.reason_parts ?? drive.reason)));
  };
  if (drivesKnown) show("choose-drives", drives.length ? h("ul", { class: "plain" }, drives.map(box)) : h("p", { class: "soft" }, t("There are none, or this machine does not tell.")));
  const text = byId("choose-text");
  text.hidden = !chosen;
  text.textContent = chosen?.text[root.lang] ?? "";
  showCreate();
}
chooseForm.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { models, work, survive, fs } = chooseForm.elements, now = byId("choose-now");
  const ticked = [...chooseForm.querySelectorAll("input[name=drive]:checked")].map((box) => box.value);
  const go = chooseForm.querySelector("button.main");
  go.disabled = true;
  now.textContent = t("Working it out…");
  sayIn(chooseForm, "");
  try {
    const question = { drives: [...ticked, ...models.value.split(/\s+/).filter(Boolean)], work: work.value, survive: Number(survive.value), file_system: fs.value || null };
    createForm.hidden = true;
    [chosen, askedFor] = [await ask("/api/choose", question), question];
  } catch (error) {
    sayIn(chooseForm, error.message);
  }
  now.textContent = "";
  go.disabled = false;
  showChoice();
});

// Create: what was answered, made of the drives that were ticked, behind a question that says what is on each.
const createForm = byId("create");
const STEPS = {
  choose: "Working it out once more, to be kept among the runs", array: "Writing superblocks", configuration: "Writing the configuration",
  initramfs: "Running update-initramfs, so that md leaves it alone at boot", start: "Starting it",
};
let erased = [], making = { stage: "idle", name: "", steps: [], commands: [], made: null, error: null };
function showCreate() {
  const can = about.allow_changes && chosen?.erases.length > 0;
  createForm.hidden ||= !can;
  byId("create-ask").hidden = !can || !createForm.hidden || making.stage === "running";
  if (createForm.hidden) return;
  byId("create-what").textContent = t("This erases {count} drives:", { count: erased.length });
  byId("create-mount").hidden = !askedFor.file_system;
  const line = ({ path, drive, holds }) => h("li", {}, h("span", { class: "path" }, path), " ",
    list([drive && bytes(drive.size_bytes), drive?.model, drive?.serial ? t("serial {serial}", drive) : null, holds ? t("it holds {what}", { what: holds }) : t("nothing is known to be on it")]));
  byId("create-drives").replaceChildren(...erased.map(line));
}
byId("create-ask").addEventListener("click", async () => {
  try {
    erased = await ask("/api/create/drives", { drives: chosen.erases });
  } catch (error) {
    say(error.message, true);
    return;
  }
  sayIn(createForm, "");
  createForm.elements.sure.checked = false;
  createForm.hidden = false;
  showCreate();
  createForm.elements.name.focus();
});
byId("create-not").addEventListener("click", () => {
  createForm.hidden = true;
  showCreate();
  byId("create-ask").focus();
});
createForm.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { name, mount } = createForm.elements;
  const told = {
    erase: erased.map(({ drive }) => drive?.serial).filter(Boolean), erase_signature: erased.some(({ holds }) => holds),
    allow_device: erased.filter(({ drive }) => drive && !drive.serial).map(({ path }) => path),
  };
  sayIn(createForm, "");
  try {
    await ask("/api/create", { asked: askedFor, pick: chosen.choice.pick, name: name.value.trim(), mount: (askedFor.file_system && mount.value.trim()) || null, consent: told });
    createForm.hidden = true;
  } catch (error) {
    sayIn(createForm, error.message);
  }
  showCreate();
});
function showMaking(told) {
  making = told;
  const place = byId("making"), runs = making.stage === "running", last = making.steps.length - 1;
  place.hidden = making.stage === "idle";
  byId("making-name").textContent = making.name;
  const word = (index) => (index < last || making.stage === "done" ? ["done", "good"] : runs ? ["under way", "warn"] : ["not done", "bad"]);
  show("making-steps", making.steps.map((step, index) => h("li", {}, t(STEPS[step] ?? step), " ", tag(...word(index)))),
    making.stage === "done" ? h("li", {}, t(making.made?.starts_at_boot ? "It is made, runs, and starts with the machine." : "It is made and runs. Nothing starts it with the machine."), " ", h("code", {}, making.made?.configuration ?? "")) : null);
  sayIn(place, textOf(making.error));
  byId("making-stop").hidden = !runs;
  if (!runs) {
    byId("making-stop").disabled = false;
    byId("making-stopping").hidden = true;
  }
  byId("making-commands").textContent = making.commands.map((command) => `$ ${command}`).join("\n");
  showCreate();
}
byId("making-stop").addEventListener("click", async (event) => {
  // What is under way comes to its end first: pressed again, it would change nothing.
  event.target.disabled = true;
  try {
    await ask("/api/run/stop", {});
    byId("making-stopping").hidden = false;
  } catch (error) {
    event.target.disabled = false;
    say(error.message, true);
  }
});

// The live parts.
function listen() {
  const source = new EventSource(`/api/events?${new URLSearchParams({ token })}`);
  const on = (name, what) => source.addEventListener(name, (event) => what(JSON.parse(event.data)));
  on("arrays", (told) => {
    [arrays, arraysKnown] = [told, true];
    const targets = told.arrays.flatMap((array) => [...array.mounts, array.attached?.block_device]).filter(Boolean);
    show("targets", [...new Set([about.folder, ...targets])].map((target) => h("option", { value: target })));
    showArrays();
  });
  on("runs", showRuns);
  on("course", showCourse);
  on("making", showMaking);
  on("job", (told) => {
    if (told.now !== job.now || told.stage !== job.stage) boardSince = Date.now();
    job = told;
    keep(job);
    showBoard();
  });
  let lost = false;
  source.addEventListener("open", () => {
    if (lost) say("");
    lost = false;
  });
  source.addEventListener("error", () => {
    lost = true;
    say(t("The connection to raidloom ui is lost: what is shown is old. Start it again and open the new address."), true);
  });
}

// The language. What stands in the page is known by its English, and what is made here is made anew.
const still = [];
function find() {
  const known = (text) => text.trim() in JAPANESE;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (!node.parentElement.closest("script, style") && known(node.data)) still.push({ english: node.data.trim(), has: () => node.data, put: (text) => (node.data = text) });
  }
  for (const part of document.querySelectorAll("[aria-label], [placeholder]"))
    for (const name of ["aria-label", "placeholder"])
      if (part.hasAttribute(name) && known(part.getAttribute(name))) still.push({ english: part.getAttribute(name), has: () => part.getAttribute(name), put: (text) => part.setAttribute(name, text) });
}
function speak(language) {
  const was = still.map((one) => t(one.english));
  root.lang = language;
  // What has been written over since is not of the page any more.
  still.forEach((one, place) => one.has().trim() === was[place].trim() && one.put(one.has().replace(was[place].trim(), () => t(one.english))));
  const other = byId("language");
  [other.textContent, other.lang] = language === "ja" ? ["English", "en"] : ["日本語", "ja"];
  tellAbout();
  if (arraysKnown) showArrays();
  if (runs) showRuns(runs);
  showCompared();
  showCourse(course);
  showBoard();
  showPlan();
  showDrives();
  showChoice();
  showMaking(making);
}
byId("language").addEventListener("click", () => speak(root.lang === "ja" ? "en" : "ja"));

function tellAbout() {
  byId("about").textContent = t(about.allow_changes ? "version {version}; changes are allowed" : "version {version}; looking only", about);
  boardForm.querySelector(".locked").textContent = t("A measurement writes a file, so the buttons are off: start the page with raidloom ui --allow-changes.");
  show("profiles", about.profiles.map((profile) => h("option", { value: profile.name }, t(profile.what))));
}
async function begin() {
  find();
  const language = root.lang;
  root.lang = "en";
  speak(language);
  try {
    about = await ask("/api/about");
  } catch (error) {
    say(error.message, true);
    return;
  }
  tellAbout();
  document.querySelectorAll(".changes").forEach((part) => (part.hidden = !about.allow_changes));
  boardForm.querySelector(".locked").hidden = about.allow_changes;
  boardForm.elements.profile.value = "8";
  boardForm.elements.target.value = about.folder;
  showBoard();
  buildPlan();
  listen();
  lookAtDrives();
  setInterval(measure, 1000);
  setInterval(showBoardTime, 1000);
}
begin();
