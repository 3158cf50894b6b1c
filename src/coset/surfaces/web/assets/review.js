// Review by keys: y it is so, n it is not, s or j the next one, k the one before, u takes the last back.
"use strict";
const cards = [...document.querySelectorAll("[data-doubt]")], count = document.getElementById("waiting"), bar = document.querySelector("#progress .fill");
const told = document.getElementById("told"), undo = document.getElementById("undo");
let at = 0, settled = Number(count?.dataset.settled ?? 0), left = Number(count?.textContent.replace(/\D/g, "") ?? 0);
function show(to) {
  cards[at]?.classList.remove("at");
  at = Math.min(Math.max(to, 0), cards.length - 1);
  while (at < cards.length - 1 && cards[at].hidden) at++;
  const card = cards[at];
  if (!card) return;
  card.classList.add("at");
  card.focus({ preventScroll: true });
  card.scrollIntoView({ block: "nearest" });
}
async function settle(card, form, button) {
  const fields = new URLSearchParams(new FormData(form, button));
  const answer = await fetch(form.getAttribute("action"), { method: "POST", body: fields, headers: { "X-Part": "1" } });
  if (!answer.ok) { told.innerHTML = await answer.text(); return; }
  card.hidden = true;
  settled++; left--;
  count.textContent = String(left);
  bar.setAttribute("width", String(100 * settled / Math.max(settled + left, 1)));
  told.textContent = `${card.dataset.doubt}: ${button.textContent.trim()}. u takes it back.`;
  undo.hidden = false;
  show(at + 1);
}
for (const [place, card] of cards.entries()) {
  card.tabIndex = -1;
  card.addEventListener("focusin", () => { if (at !== place) { cards[at].classList.remove("at"); at = place; card.classList.add("at"); } });
  for (const form of card.querySelectorAll("form"))
    form.addEventListener("submit", event => { event.preventDefault(); settle(card, form, event.submitter); });
}
addEventListener("keydown", event => {
  const focused = document.activeElement;
  if (event.ctrlKey || event.metaKey || event.altKey || focused?.matches("input, textarea, select")) return;
  if (event.key === "j" || event.key === "s") show(at + 1);
  else if (event.key === "k") { at--; while (at > 0 && cards[at].hidden) at--; show(at); }
  else if (event.key === "u" && !undo.hidden) undo.querySelector("button").click();
  else cards[at]?.hidden || cards[at]?.querySelector(`button[data-key="${CSS.escape(event.key)}"]`)?.click();
});
if (cards.length) show(0);
