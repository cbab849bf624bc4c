"use strict";
// Shows the claims that pass all filters, and keeps the filters in the URL.
const view = document.querySelector("form.tools");
const rows = [...document.querySelectorAll("tr[id]")];
const sections = [...document.querySelectorAll("section[data-area]")];

function passes(row, of) {
  const { search, area, verdict, report } = of;
  return row.textContent.toLowerCase().includes(search.toLowerCase())
    && (!area || row.closest("section").dataset.area === area)
    && (!verdict || row.dataset.verdict === verdict)
    && (!report || row.dataset.reports.split("|").includes(report));
}

function refresh() {
  const of = Object.fromEntries(new FormData(view));
  for (const row of rows) row.hidden = !passes(row, of);
  for (const one of sections) one.hidden = !one.querySelector("tr[id]:not([hidden])");
  const count = rows.filter((row) => !row.hidden).length;
  view.querySelector("output").value = `${count} of ${rows.length} claims`;
}

function writeState() {
  const state = new URLSearchParams([...new FormData(view)].filter(([, value]) => value));
  history.replaceState(null, "", `#${state}`);
}

// A hash without "=" is the id of a claim.
function readState() {
  const state = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  for (const one of view.elements) if (one.name) one.value = state.get(one.name) ?? "";
  refresh();
}

view.addEventListener("input", () => { refresh(); writeState(); });
view.addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", readState);
readState();
