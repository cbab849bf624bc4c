"use strict";
// Sorts tables by their column heads and searches lists and boards. The pages are readable without.

// A number ("71.0 ± 0.2", "1,000", "-3", "< 0.001", of "1 to 3" the first), or the text in lower
// case; null where a cell is empty.
function value(row, column) {
  const cell = row.cells[column];
  if (!cell || cell.classList.contains("missing")) return null;
  const text = cell.textContent.trim().replace("−", "-");
  if (text === "" || text === "–") return null;
  const number = /^(< )?([-+]?[\d,]*\.?\d+(e[-+]?\d+)?)(?=$| ±| to )/i.exec(text);
  if (!number) return text.toLowerCase();
  const found = Number(number[2].replaceAll(",", ""));
  return number[1] ? found - Number.EPSILON : found;
}

// Numbers before text; missing values come last in both directions.
function compare(first, second, direction) {
  if (first === null || second === null) return (first === null) - (second === null);
  if (typeof first !== typeof second) return typeof first === "number" ? -1 : 1;
  const order = typeof first === "number" ? first - second : first.localeCompare(second, "en", { numeric: true });
  return direction * order;
}

function sort(table, column, direction) {
  for (const body of table.tBodies) {
    const rows = [...body.rows].filter((row) => !row.querySelector("[scope=rowgroup]"));
    const kept = ["measured", "reference", "published"]; // reference rows stay below the measured ones
    const place = (row) => Math.max(0, kept.indexOf(row.className));
    rows.sort((a, b) => place(a) - place(b) || compare(value(a, column), value(b, column), direction));
    body.append(...rows);
  }
}

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      sortBy(table, column, head.ariaSort ? head.ariaSort !== "ascending" : !isScore(table, column));
    });
  });
}

function sortBy(table, column, ascending) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", ascending ? "ascending" : "descending");
  sort(table, column, ascending ? 1 : -1);
}

// Scores are first sorted in descending order, ranks and text in ascending order.
function isScore(table, column) {
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
  const values = rows.map((row) => value(row, column)).filter((found) => found !== null);
  const named = table.tHead.rows[0].cells[column].textContent.trim() === "rank";
  return !named && values.length > 0 && typeof values[0] === "number";
}

// Hides the rows that lack one of the words, or that do not pass a further test.
function search(words, passes = () => true) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const section of document.querySelectorAll(".listed")) {
    const board = section.querySelector(".leaderboard");
    const rows = [...section.querySelectorAll("tbody tr:not(.reference, .published, :has([scope=rowgroup]))")]
      .filter((row) => !board || row.closest(".leaderboard")); // not the signals below a board
    for (const row of rows) {
      const text = `${row.textContent} ${row.dataset.words ?? ""}`.toLowerCase();
      row.hidden = !(wanted.every((word) => text.includes(word)) && passes(row));
    }
    const shown = rows.filter((row) => !row.hidden).length;
    section.hidden = wanted.length > 0 && shown === 0 && !board;
    found += shown;
  }
  document.getElementById("found").textContent = wanted.length ? `${found} found` : "";
}

document.querySelectorAll("table").forEach(makeSortable);
const form = document.querySelector("form.search");
if (form) {
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  if (!document.querySelector("form.view")) { // a board has a view of its own (board.js)
    form.elements.search.addEventListener("input", (event) => search(event.target.value));
    search(form.elements.search.value);
  }
}
