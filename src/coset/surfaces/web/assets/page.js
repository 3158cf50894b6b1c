// Every page: "/" goes to the question box; parts that take longer are fetched when the page is there.
"use strict";
addEventListener("keydown", event => {
  const at = document.activeElement, typing = at && (at.matches("input, textarea, select") || at.isContentEditable);
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const box = document.querySelector("[data-question-box]");
  if (box) { event.preventDefault(); box.focus(); box.select(); }
});
for (const place of document.querySelectorAll("[data-part]")) {
  fetch(place.dataset.part, { headers: { "X-Part": "1" } })
    .then(answer => answer.text()).then(text => { place.innerHTML = text; })
    .catch(() => { place.textContent = "The server does not answer any more."; });
}
