// While a question or a refresh is on its way, its page asks how it goes.
"use strict";
const place = document.getElementById("state");
async function look() {
  try {
    const answer = await fetch(place.dataset.address, { headers: { "X-Part": "1" } });
    place.innerHTML = await answer.text();
    globalThis.drawCharts?.(place);
    globalThis.takeStatements?.(place);
    if (answer.ok && place.querySelector("[data-goes-on]")) setTimeout(look, 400);
  } catch { place.textContent = "The server does not answer any more."; }
}
if (place.querySelector("[data-goes-on]")) setTimeout(look, 300);
