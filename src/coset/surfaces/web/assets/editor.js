// Forms that hold a statement: an editor that completes names in place of the plain box, and rows that come below it.
"use strict";
const LOOK = `
  .cm-editor { border: 1px solid var(--line); border-radius: 7px; background: var(--page); color: var(--ink); }
  .cm-editor.cm-focused { outline: 2px solid var(--accent); }
  .cm-editor .cm-content { font-family: var(--mono); font-size: .92em; caret-color: var(--ink); min-height: 5.6em; }
  .cm-editor .cm-cursor { border-left-color: var(--ink); }
  .cm-editor .cm-selectionBackground, .cm-editor.cm-focused .cm-selectionBackground { background: var(--accent-soft) !important; }
  .cm-editor .cm-tooltip { background: var(--card); color: var(--ink); border: 1px solid var(--line); }
  .cm-editor .cm-tooltip-autocomplete > ul > li[aria-selected] { background: var(--accent); color: var(--accent-ink); }
  .tok-keyword { color: var(--accent); } .tok-string, .tok-string2 { color: var(--good); } .tok-number { color: var(--doubt); }
  .tok-comment { color: var(--soft); font-style: italic; }`;
let names = null;
function known() { return names ??= fetch("/sql/names", { headers: { "X-Part": "1" } }).then(a => a.ok ? a.json() : {}).catch(() => ({})); }

async function take(form) {
  const box = form.elements.statement, host = document.createElement("div");
  host.className = "editor";
  box.after(host);
  const root = host.attachShadow({ mode: "open" }), sheet = new CSSStyleSheet();
  sheet.replaceSync(LOOK);
  root.adoptedStyleSheets = [sheet];
  const parent = document.createElement("div");
  root.append(parent);
  const label = form.querySelector(`label[for="${box.id}"]`)?.textContent ?? "statement";
  Editor.edit({ parent, root, text: box.value, label, schema: await known(), run: () => form.requestSubmit(),
    changed: text => { box.value = text; } });
  box.hidden = true;
}

async function run(form, place) {
  place.classList.add("busy");
  try {
    const answer = await fetch(form.action, { method: "POST", headers: { "X-Part": "1" }, body: new URLSearchParams(new FormData(form)) });
    // The part is made by our own templates, which escape every value.
    place.innerHTML = await answer.text();
    globalThis.drawCharts?.(place);
    const kept = place.querySelector("[data-number]");
    if (kept && location.pathname.startsWith("/sql")) history.pushState(null, "", `/sql/${kept.dataset.number}`);
  } catch { place.textContent = "The server does not answer any more."; }
  place.classList.remove("busy");
}

function begin(within) {
  for (const form of within.querySelectorAll("form[data-statement]:not([data-taken])")) {
    form.dataset.taken = "1";
    take(form);
    const place = form.parentElement.querySelector("[data-result]");
    if (place) form.addEventListener("submit", event => { event.preventDefault(); run(form, place); });
  }
}
globalThis.takeStatements = begin;
begin(document);
