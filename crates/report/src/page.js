// Saving the summary and the card is all that this does; the page reads the same without it.
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
    while (texts.nextNode()) if (!texts.currentNode.parentElement.closest("script, style, output")) put(texts.currentNode, "data");
    for (const part of document.querySelectorAll("[aria-label]")) put(part, "ariaLabel");
  });
  // Charts say their figures: of the mark that is pointed at, or that the arrow keys have reached.
  const textOf = (mark) => {
    if (mark.dataset.c === undefined) return mark.querySelector("title").textContent;
    const [c, w] = mark.dataset.c.split(" ");
    return `${data.workloads[w]}, ${data.labels[c]}: ${data.cells[c][w]}`;
  };
  for (const figure of document.querySelectorAll("main figure")) {
    const charts = [...figure.querySelectorAll(".scroll > :is(svg, .heat)")].filter((chart) => chart.querySelector("[data-c], svg > * title"));
    if (!charts.length) continue;
    const shown = Object.assign(document.createElement("output"), { className: "figures" });
    figure.insertBefore(shown, [...figure.children].find((part) => part.matches("details")) ?? null);
    let last = null;
    const show = (mark) => {
      last?.classList.remove("at");
      last = mark;
      mark?.classList.add("at");
      shown.textContent = mark ? textOf(mark) : "";
    };
    for (const chart of charts) {
      const marks = [...chart.querySelectorAll("[data-c], svg > * :has(> title), svg > :has(> title)")];
      chart.addEventListener("pointerover", (event) => show(event.target.closest("[data-c], svg :has(> title)")));
      chart.addEventListener("pointerleave", () => show(null));
      chart.parentElement.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        const next = marks.indexOf(last) + step;
        show(marks[Math.max(0, Math.min(marks.length - 1, next))]);
        last.scrollIntoView({ block: "nearest", inline: "nearest" });
      });
      chart.parentElement.addEventListener("blur", () => show(null));
    }
  }
  for (const part of document.querySelectorAll("[data-needs-script]")) part.hidden = false;
  document.getElementById("save").hidden = false;
})();
