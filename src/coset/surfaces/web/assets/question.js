// The view follows the question and the budget. One request is on its way at a time; the newest wish is the next one.
"use strict";
const form = document.getElementById("ask"), view = document.getElementById("view");
const box = form.elements.q, slider = form.elements.budget, told = document.getElementById("told");
let busy = false, wanted = false, shown = form.dataset.shown;
const number = new Intl.NumberFormat("en");

function address(page) { return `${page}?${new URLSearchParams({ q: box.value.trim(), budget: slider.value })}`; }

function references() { return new Set([...view.querySelectorAll("[data-reference]")].map(row => row.dataset.reference)); }

async function show() {
  if (!box.value.trim() || address("") === shown) return;
  if (busy) { wanted = true; return; }
  busy = true; wanted = false;
  const mine = address("");
  view.classList.add("busy");
  try {
    const answer = await fetch(address("/question/view"), { headers: { "X-Part": "1" } });
    const text = await answer.text(), before = references();
    // The part is made by our own templates, which escape every value.
    view.innerHTML = text;
    shown = mine;
    if (answer.ok) {
      let come = 0;
      const now = references();
      for (const row of view.querySelectorAll("[data-reference]"))
        if (before.size && !before.has(row.dataset.reference)) { row.classList.add("come"); come++; }
      const gone = [...before].filter(reference => !now.has(reference)).length;
      told.textContent = !before.size ? "" : come || gone ? `${come} came, ${gone} went` : "the same evidence";
      history.replaceState(null, "", address("/question"));
    }
  } catch { view.textContent = "The server does not answer any more."; }
  view.classList.remove("busy");
  busy = false;
  if (wanted) show();
}

function say() { document.getElementById("budget-told").value = `${number.format(slider.value)} tokens`; }
slider.addEventListener("input", () => { say(); show(); });
let typed = 0;
box.addEventListener("input", () => { clearTimeout(typed); typed = setTimeout(show, 350); });
box.addEventListener("keydown", event => {
  if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); clearTimeout(typed); show(); }
});
say();
