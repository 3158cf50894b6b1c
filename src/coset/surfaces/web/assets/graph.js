// The drawing of relations: a table that is looked at shows its own joins, the others step back.
"use strict";
const graph = document.getElementById("graph");
function look(table) {
  graph.classList.toggle("looks", table !== null);
  const near = new Set([table]);
  for (const join of graph.querySelectorAll("a.join")) {
    const tables = JSON.parse(join.dataset.tables), on = table !== null && tables.includes(table);
    join.classList.toggle("on", on);
    if (on) tables.forEach(each => near.add(each));
  }
  for (const box of graph.querySelectorAll("[data-table]"))
    box.querySelector("rect").classList.toggle("on", table !== null && near.has(box.dataset.table));
}
for (const box of graph ? graph.querySelectorAll("[data-table]") : []) {
  for (const event of ["pointerenter", "focusin"]) box.addEventListener(event, () => look(box.dataset.table));
  for (const event of ["pointerleave", "focusout"]) box.addEventListener(event, () => look(null));
}
