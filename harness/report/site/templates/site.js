"use strict";
// Sorts tables by their column heads and searches lists and boards. The pages are readable without.

// A number ("71.0 ± 0.2", "1,000", "-3"), or the text in lower case; null where a cell is empty.
function value(row, column) {
  const text = (row.cells[column]?.textContent ?? "").trim().replace("−", "-");
  if (text === "" || text === "–") return null;
  const number = /^[-+]?[\d,]*\.?\d+(e[-+]?\d+)?(?=$| ±)/i.exec(text);
  return number ? Number(number[0].replaceAll(",", "")) : text.toLowerCase();
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
      const ascending = head.ariaSort ? head.ariaSort !== "ascending" : !isScore(table, column);
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      sort(table, column, ascending ? 1 : -1);
    });
  });
}

// Scores are first sorted in descending order, ranks and text in ascending order.
function isScore(table, column) {
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
  const values = rows.map((row) => value(row, column)).filter((found) => found !== null);
  const named = table.tHead.rows[0].cells[column].textContent.trim() === "rank";
  return !named && values.length > 0 && typeof values[0] === "number";
}

function search(words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const section of document.querySelectorAll(".listed")) {
    const rows = [...section.querySelectorAll("tbody tr:not(.reference, .published, :has([scope=rowgroup]))")];
    for (const row of rows) {
      const text = `${row.textContent} ${row.dataset.words ?? ""}`.toLowerCase();
      row.hidden = !wanted.every((word) => text.includes(word));
    }
    const shown = rows.filter((row) => !row.hidden).length;
    section.hidden = wanted.length > 0 && shown === 0;
    found += shown;
  }
  document.getElementById("found").textContent = wanted.length ? `${found} found` : "";
}

document.querySelectorAll("table").forEach(makeSortable);
const form = document.querySelector("form.search");
if (form) {
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.elements.search.addEventListener("input", (event) => search(event.target.value));
  search(form.elements.search.value);
}
