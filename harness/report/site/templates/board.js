"use strict";
// The view of a board: facets, columns, the difference of two rows, exports, and its state in the URL.
// Numbers are read from the page; nothing is computed from scores.

const data = JSON.parse(document.getElementById("data").textContent);
const view = document.querySelector("form.view");
const board = document.querySelector("figure.leaderboard table");
const measured = [...board.querySelectorAll("tr.measured")];
const shownTables = [...document.querySelectorAll("figure.leaderboard table")];
const FIXED = 2; // rank and arm are always shown
const FIRST_SCORE = FIXED + (data.average ? 1 : 0); // a single column has no average before it
const headTexts = [...board.tHead.rows[0].cells].map((cell) => spaced(cell));
let chosen = []; // names of the rows that are compared

// The text of a cell: a small second line of a head is put in parentheses.
function spaced(cell) {
  const lines = [...(cell.querySelector("button") ?? cell).childNodes].map((node) => node.textContent.trim());
  const [first, second] = lines.filter(Boolean);
  return cell.tagName === "TH" && second ? `${first} (${second})` : lines.join(" ").trim();
}

function nameOf(row) {
  return row.querySelector("th").firstChild.textContent; // without the mark of a note
}

// A cell without its explanation.
function cellText(cell) {
  return cell.classList.contains("missing") ? "" : cell.textContent.replace(/\s+/g, " ").trim();
}

// Facets

function passesFacets(row) {
  const facets = [...view.querySelectorAll("[data-facet]")];
  return facets.every((one) => !one.value || row.dataset[one.name] === one.value);
}

// Columns

function makeColumns() {
  const set = view.querySelector("fieldset.columns");
  headTexts.slice(FIXED).forEach((text, place) => {
    const label = document.createElement("label");
    const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: true });
    box.dataset.column = place + FIXED;
    label.append(box, ` ${text}`);
    set.append(label);
  });
}

function hiddenColumns() {
  const boxes = [...view.querySelectorAll("[data-column]")];
  return boxes.filter((box) => !box.checked).map((box) => Number(box.dataset.column));
}

function showColumns() {
  const hidden = hiddenColumns();
  for (const table of shownTables) {
    for (const row of table.rows) {
      if (row.querySelector("[scope=rowgroup]")) continue;
      [...row.cells].forEach((cell, place) => { cell.hidden = hidden.includes(place); });
    }
  }
  showTask();
}

// The choice of a task checks the boxes of its columns; it has no state of its own.

function makeTasks() {
  const tasks = [...new Set(data.tasks)];
  if (tasks.length < 2) return;
  const set = view.querySelector("fieldset.tasks");
  for (const task of ["", ...tasks]) {
    const label = document.createElement("label");
    const radio = Object.assign(document.createElement("input"), { type: "radio", name: "task", value: task });
    radio.addEventListener("change", () => {
      for (const box of scoreBoxes()) box.checked = isOf(box, task);
    });
    label.append(radio, ` ${task || "all"}`);
    set.append(label);
  }
  set.hidden = false;
}

function scoreBoxes() {
  return [...view.querySelectorAll("[data-column]")].slice(FIRST_SCORE - FIXED, FIRST_SCORE - FIXED + data.tasks.length);
}

function isOf(box, task) {
  return !task || data.tasks[box.dataset.column - FIRST_SCORE] === task;
}

function showTask() {
  for (const radio of view.querySelectorAll("[name=task]")) {
    radio.checked = scoreBoxes().every((box) => box.checked === isOf(box, radio.value));
  }
}

// The difference of two rows

function makeSelectable() {
  for (const row of measured) {
    const box = Object.assign(document.createElement("input"), { type: "checkbox" });
    box.setAttribute("aria-label", `Compare ${nameOf(row)}`);
    row.cells[0].prepend(box, " ");
    box.addEventListener("change", () => choose(nameOf(row), box.checked));
    row.addEventListener("click", (event) => {
      if (!event.target.closest("input, summary, a, button")) box.click();
    });
  }
}

function choose(name, on) {
  chosen = chosen.filter((other) => other !== name);
  if (on) chosen = [...chosen, name].slice(-2); // the oldest of three is given up
  showDifference();
  writeState();
}

function signed(value) {
  return (value > 0 ? "+" : "") + value.toFixed(1).replace("-", "−");
}

function differencesOf(first, second) {
  const [i, j] = [data.rows.indexOf(first), data.rows.indexOf(second)];
  const [low, high, sign] = i < j ? [i, j, 1] : [j, i, -1];
  return Object.entries(data.differences).flatMap(([column, lines]) => {
    const line = lines.find(([a, b]) => a === low && b === high);
    if (!line) return [];
    const ends = [sign * line[3], sign * line[4]].sort((a, b) => a - b);
    const interval = ends[0] === 0 && ends[1] === 0 ? "equal in every run" : ends.map(signed).join(" to ");
    return [[column, signed(sign * line[2]), interval, line[5], line[6]]];
  });
}

function showDifference() {
  for (const row of measured) {
    const on = chosen.includes(nameOf(row));
    row.classList.toggle("chosen", on);
    row.cells[0].querySelector("input").checked = on;
  }
  const panel = document.querySelector(".compared");
  const [hint, place] = [panel.querySelector(".hint"), panel.querySelector(".scroll")];
  const [first, second] = chosen;
  const lines = second ? differencesOf(first, second) : [];
  hint.textContent = !second ? "Select two rows to compare them."
    : lines.length ? `${first} − ${second}: points with 95 % interval; p adjusted for all pairs of rows.`
    : `No difference of ${first} and ${second} is known. ${data.without}`;
  place.replaceChildren(...(lines.length ? [tableOf(["column", "difference", "95 % interval", "p", "adjusted p"], lines)] : []));
}

function tableOf(head, lines) {
  const table = document.createElement("table");
  const row = table.createTHead().insertRow();
  for (const text of head) row.append(cellOf("col", text));
  row.cells[0].className = "text";
  const body = table.createTBody();
  for (const [name, ...cells] of lines) {
    const line = body.insertRow();
    line.append(cellOf("row", name));
    for (const text of cells) line.insertCell().textContent = text;
  }
  return table;
}

function cellOf(scope, text) {
  return Object.assign(document.createElement("th"), { scope, textContent: text });
}

// Exports

// The shown cells: the head, then every shown row.
function shownCells() {
  const hidden = hiddenColumns();
  const kept = (cells) => cells.filter((_, place) => !hidden.includes(place));
  const rows = [...board.querySelectorAll("tbody tr")].filter((row) => !row.hidden && !row.querySelector("[scope=rowgroup]"));
  return [kept(headTexts), ...rows.map((row) => kept([...row.cells].map(cellText)))];
}

function csv() {
  // As harness/core/csv_text.py: no text cell is a formula.
  const number = /^[-+]?(\d[\d.,e%±()[\] +-]*|inf|nan)$/;
  const plain = (text) => text.replace(/^−(?=\d)/, "-");
  const safe = (text) => (/^[=+\-@\t\r]/.test(text) && !number.test(text) ? `'${text}` : text);
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return shownCells().map((cells) => cells.map(plain).map(safe).map(quoted).join(",")).join("\n") + "\n";
}

function latex() {
  const escapes = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "±": "$\\pm$", "†": "$^\\dagger$", "‡": "$^\\ddagger$", "–": "--", "−": "$-$" };
  const escaped = (text) => text.replace(/[&%$#_{}\\~^±†‡–−]/g, (letter) => escapes[letter] ?? `\\${letter}`);
  const [head, ...rows] = shownCells().map((cells) => `${cells.map(escaped).join(" & ")} \\\\`);
  const align = `rl${"r".repeat(shownCells()[0].length - FIXED)}`;
  return [`\\begin{tabular}{${align}}`, "\\toprule", head, "\\midrule", ...rows, "\\bottomrule", "\\end{tabular}", ""].join("\n");
}

function bibtex() {
  const shown = measured.filter((row) => !row.hidden).map((row) => data.experiments[data.rows.indexOf(nameOf(row))]);
  const others = Object.keys(data.bibtex).filter((key) => !data.experiments.includes(key));
  return [...new Set([...others, ...shown])].map((key) => data.bibtex[key]).join("\n");
}

const EXPORTS = { CSV: [csv, "csv"], LaTeX: [latex, "tex"], BibTeX: [bibtex, "bib"] };

function exportView(format) {
  const [make, ending] = EXPORTS[format];
  const text = make();
  document.getElementById("exported").value = text;
  const link = document.getElementById("download");
  link.href = `data:text/plain;charset=utf-8,${encodeURIComponent(text)}`;
  link.download = `${data.suite}.${ending}`;
  link.textContent = `download ${link.download}`;
  link.hidden = false;
}

// The state of the view stands behind the "#" of the address.

function writeState() {
  const state = new URLSearchParams();
  const words = document.getElementById("search").value;
  if (words) state.set("search", words);
  for (const one of view.querySelectorAll("[data-facet]")) if (one.value) state.set(one.name, one.value);
  for (const place of hiddenColumns()) state.append("hide", headTexts[place]);
  for (const name of chosen) state.append("compare", name);
  const head = board.tHead.querySelector("[aria-sort]");
  if (head) state.set("sort", `${head.ariaSort} ${spaced(head)}`);
  history.replaceState(null, "", `#${state}`);
}

function readState() {
  const state = new URLSearchParams(location.hash.slice(1));
  document.getElementById("search").value = state.get("search") ?? "";
  for (const one of view.querySelectorAll("[data-facet]")) one.value = state.get(one.name) ?? "";
  const hidden = state.getAll("hide");
  for (const box of view.querySelectorAll("[data-column]")) box.checked = !hidden.includes(headTexts[box.dataset.column]);
  chosen = state.getAll("compare").filter((name) => data.rows.includes(name)).slice(0, 2);
  const [direction, ...words] = (state.get("sort") ?? "").split(" ");
  const column = headTexts.indexOf(words.join(" "));
  if (column >= 0) sortBy(board, column, direction === "ascending");
  showColumns();
  showDifference();
  refresh();
}

function refresh() {
  search(document.getElementById("search").value, passesFacets);
}

makeColumns();
makeTasks();
makeSelectable();
view.hidden = document.querySelector(".compared").hidden = false;
view.addEventListener("submit", (event) => event.preventDefault());
view.addEventListener("change", () => { showColumns(); refresh(); writeState(); });
view.addEventListener("click", (event) => {
  if (event.target.dataset.export) exportView(event.target.dataset.export);
});
document.getElementById("search").addEventListener("input", () => { refresh(); writeState(); });
board.tHead.addEventListener("click", writeState);
addEventListener("hashchange", () => { if (location.hash !== "#main") readState(); });
readState();
