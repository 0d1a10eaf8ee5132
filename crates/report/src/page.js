// Saving, the other language, figures of what is pointed at and the table of all trials: the page reads the same without it.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const fixed = ["workload", "metric", "trials", "median", "low", "high", "ratio", "ratio_low", "ratio_high", "verdict"];
  const head = data.axes.concat(fixed);
  const rows = () => data.rows.map(([c, w, m, ...rest]) => [...data.configurations[c], data.workloads[w], data.metrics[m], ...rest]);
  // As `summary.csv` has it: what is not seen is shown, no text is a formula, and it is quoted where it must be.
  const code = (character) => `\\u{${character.codePointAt(0).toString(16)}}`;
  const field = (value) => {
    if (typeof value !== "string") return value === null ? "" : String(value);
    const text = value.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, code).replace(/(^|;)(["\s]*)(?=[=+\-@＝＋－＠])/g, "$1$2'");
    return /[",;]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const kinds = {
    csv: () => [head, ...rows()].map((row) => row.map(field).join(",") + "\r\n").join(""),
    json: () => JSON.stringify(rows().map((row) => Object.fromEntries(head.map((name, index) => [name, row[index]]))), null, 1),
  };
  for (const button of document.querySelectorAll("[data-save]")) {
    button.addEventListener("click", () => {
      const kind = button.dataset.save;
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([kinds[kind]()], { type: kind === "csv" ? "text/csv" : "application/json" }));
      link.download = `summary.${kind}`;
      link.click();
      URL.revokeObjectURL(link.href);
    });
  }
  for (const button of document.querySelectorAll("[data-card]")) {
    button.addEventListener("click", () => {
      const picture = new XMLSerializer().serializeToString(button.closest("figure").querySelector("svg"));
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([picture], { type: "image/svg+xml" }));
      link.download = "card.svg";
      link.click();
      URL.revokeObjectURL(link.href);
    });
  }
  // The other language: what stands in the page is looked up, and put back the second time.
  const button = document.getElementById("language");
  const first = document.documentElement.lang;
  button.textContent = data.language_name[0];
  button.lang = data.language;
  const swapped = [];
  const put = (place, key) => {
    const known = data.words[place[key]];
    if (known === undefined) return;
    swapped.push([place, key, place[key]]);
    place[key] = known;
  };
  button.addEventListener("click", () => {
    const back = swapped.length > 0;
    document.documentElement.lang = back ? first : data.language;
    button.textContent = data.language_name[back ? 0 : 1];
    button.lang = back ? data.language : first;
    if (back) {
      for (const [place, key, text] of swapped.splice(0)) place[key] = text;
      return;
    }
    const texts = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) if (!texts.currentNode.parentElement.closest("script, style, output, .card, [data-own]")) put(texts.currentNode, "data");
    for (const part of document.querySelectorAll("[aria-label]")) put(part, "ariaLabel");
  });
  // Every trial, sorted and filtered: rows are made when the table is first opened.
  const every = document.getElementById("every");
  const fill = () => {
    const { cells, units, cell, figure, tail, blocks, texts, flags } = data.trials;
    const block = blocks.flatMap(([number, count]) => Array(count).fill(number + 1));
    const digits = (value) => (Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(4))));
    const rows = cell.map((at, index) => {
      const c = at === null ? null : Math.floor(at / data.workloads.length), w = at === null ? null : at % data.workloads.length, unit = units[w] ?? "", median = cells[c]?.[w] ?? null;
      const text = (flags[index] ?? []).map((flag) => texts[flag]).join("; ");
      const row = {
        place: index + 1, block: block[index], configuration: c, workload: w, figure: figure[index],
        distance: median && figure[index] !== null ? (figure[index] / median - 1) * 100 : null, tail: tail[index] ?? null, flags: text,
      };
      row.shown = {
        ...row, configuration: data.labels[c] ?? "–", workload: data.names[w] ?? "–", figure: row.figure === null ? "–" : `${digits(row.figure)} ${unit}`,
        distance: row.distance === null ? "–" : (row.distance > 0 ? "+" : "") + row.distance.toFixed(1), tail: row.tail === null ? "–" : digits(row.tail),
      };
      row.text = `${row.shown.configuration} ${row.shown.workload} ${text}`.toLowerCase();
      return row;
    });
    const heads = [...every.querySelectorAll("th[data-by]")], body = every.querySelector("tbody");
    const made = (row) => {
      const line = document.createElement("tr");
      line.role = "row";
      for (const [index, head] of heads.entries()) {
        const cell = document.createElement(index ? "td" : "th");
        cell.role = index ? "cell" : "rowheader";
        if (!index) cell.scope = "row";
        if (head.className) cell.className = head.className;
        cell.textContent = row.shown[head.dataset.by];
        line.append(cell);
      }
      return line;
    };
    // Each column is as wide as its longest text, so that no row has to be laid out to know: only those that are seen are.
    const wide = (text) => [...text].reduce((sum, letter) => sum + (letter > "\u2e80" ? 2 : 1), 0);
    const longest = (head) => Math.max(...[head.textContent, data.words[head.textContent] ?? ""].map((text) => wide(text) + 3), rows.reduce((most, row) => Math.max(most, wide(String(row.shown[head.dataset.by]))), 0));
    every.querySelector("table").style.setProperty("--columns", heads.map((head) => `${Math.min(longest(head), 60) + 2}ch`).join(" "));
    const chosen = (name) => document.getElementById(name);
    const show = () => {
      const words = chosen("find").value.toLowerCase().split(/\s+/).filter(Boolean);
      const [c, w] = ["of-configuration", "of-workload"].map((name) => chosen(name).value);
      const found = rows.filter((row) => (c === "" || row.configuration === +c) && (w === "" || row.workload === +w)
        && (!chosen("flagged").checked || row.flags) && words.every((word) => row.text.includes(word)));
      const by = heads.find((head) => head.ariaSort), key = by.dataset.by, sign = by.ariaSort === "ascending" ? 1 : -1;
      // What has no figure stands last, whichever way.
      const order = (one, other) => typeof one === "string" ? one.localeCompare(other) : one - other;
      const none = (value) => value === null || value === "";
      found.sort((one, other) => none(one[key]) - none(other[key]) || (none(one[key]) ? 0 : sign * order(one[key], other[key])) || one.place - other.place);
      body.replaceChildren(...found.map((row) => (row.line ??= made(row))));
      chosen("found").textContent = `${found.length} / ${rows.length}`;
    };
    for (const head of heads) head.querySelector("button").addEventListener("click", () => {
      const next = head.ariaSort === "ascending" ? "descending" : "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.ariaSort = next;
      show();
    });
    let timer;
    for (const name of ["find", "of-configuration", "of-workload", "flagged"]) chosen(name).addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(show, 100);
    });
    show();
  };
  // Pages without trials have none of it.
  if (every?.open) fill();
  else every?.addEventListener("toggle", fill, { once: true });
  // Charts say their figures at the mark that is pointed at, or that the arrow keys have reached; nothing moves for it.
  const textOf = (mark) => {
    if (mark.dataset.c === undefined) return mark.querySelector("title").textContent;
    const [c, w] = mark.dataset.c.split(" ");
    return `${data.names[w]}, ${data.labels[c]}: ${data.cells[c][w]}`;
  };
  for (const figure of document.querySelectorAll("main figure")) {
    const charts = [...figure.querySelectorAll(".scroll > :is(svg, .heat)")].filter((chart) => chart.querySelector("[data-c], svg > * title"));
    if (!charts.length) continue;
    const shown = Object.assign(document.createElement("output"), { className: "figures" });
    figure.append(shown);
    let last = null;
    const show = (mark) => {
      last?.classList.remove("at");
      last = mark;
      mark?.classList.add("at");
      shown.textContent = mark ? textOf(mark) : "";
      if (!mark) return;
      shown.style.left = shown.style.top = "0";
      const at = (mark.querySelector(".dot") ?? mark).getBoundingClientRect(), own = shown.getBoundingClientRect(), around = figure.getBoundingClientRect();
      const left = Math.min(Math.max(at.left + at.width / 2 - own.width / 2, 4), document.documentElement.clientWidth - own.width - 4) - around.left;
      const above = at.top - own.height - 6;
      shown.style.left = `${left}px`;
      shown.style.top = `${(above < 0 ? at.bottom + 6 : above) - around.top}px`;
    };
    for (const chart of charts) {
      const marks = [...chart.querySelectorAll("[data-c], svg > * :has(> title), svg > :has(> title)")];
      chart.addEventListener("pointerover", (event) => show(event.target.closest("[data-c], svg :has(> title)")));
      chart.addEventListener("pointerleave", () => show(null));
      chart.parentElement.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        const next = marks[Math.max(0, Math.min(marks.length - 1, marks.indexOf(last) + step))];
        next.scrollIntoView({ block: "nearest", inline: "nearest" });
        show(next);
      });
      chart.parentElement.addEventListener("blur", () => show(null));
    }
  }
  for (const part of document.querySelectorAll("[data-needs-script]")) part.hidden = false;
  document.getElementById("save").hidden = false;
})();
