// The map. Places are typed arrays, dots are stamped into one picture, hits are looked up in a grid, and whatever happens
// there is at most one drawing a frame: twenty thousand objects stay smooth without a graphics card.
"use strict";
const plane = document.getElementById("plane"), pen = plane.getContext("2d", { alpha: false });
const tip = document.getElementById("tip"), detail = document.getElementById("detail"), find = document.getElementById("find");
const found = document.getElementById("found"), list = document.getElementById("identities");
const coordinate = plane.dataset.coordinate;
const look = { scale: 1, left: 0, top: 0 };
let data, objects, count = 0, hues, grid, picture, chosen = -1, hovered = -1, picked = -1, matches = null, asked = false, held = null;

// Light and dark

function theme() {
  const style = getComputedStyle(document.documentElement), of = name => style.getPropertyValue(name).trim();
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  return { page: bytes(of("--page")), ink: of("--ink"), soft: of("--soft"), card: of("--card"), dark };
}
function bytes(hex) { const n = parseInt(hex.slice(1), 16); return [n >> 16 & 255, n >> 8 & 255, n & 255]; }
function colour(number) { return `hsl(${hues[number]} ${colours.dark ? "62% 62%" : "62% 44%"})`; }
function rgb(hue, dark) {
  const light = dark ? .62 : .44, a = .62 * Math.min(light, 1 - light);
  const part = n => { const k = (n + hue / 30) % 12; return Math.round(255 * (light - a * Math.max(-1, Math.min(k - 3, 9 - k, 1)))); };
  return [part(0), part(8), part(4)];
}
let colours = theme(), palette = [];
function paint() { colours = theme(); palette = data.identities.map((_, number) => rgb(hues[number], colours.dark)); draw(); }

// Data

function take(answer) {
  data = answer;
  const from = data.objects, scale = data.scale;
  count = from.name.length;
  const whole = values => Float32Array.from(values, value => value / scale);
  objects = {
    name: from.name, x: whole(from.x), y: whole(from.y), identity: Uint16Array.from(from.identity),
    membership: whole(from.membership), runnerUp: Uint16Array.from(from.runnerUp), second: whole(from.runnerUpMembership),
    radius: whole(from.radius), taught: new Set(from.taught),
  };
  data.prototypes.x = whole(data.prototypes.x); data.prototypes.y = whole(data.prototypes.y);
  data.fiber = new Uint32Array(data.identities.length);
  for (let n = 0; n < count; n++) data.fiber[objects.identity[n]]++;
  // The golden angle by size, so that the largest fibers are the ones whose hues differ most.
  const bySize = [...data.identities.keys()].sort((a, b) => data.fiber[b] - data.fiber[a]), rank = [];
  bySize.forEach((number, place) => { rank[number] = place; });
  hues = data.identities.map((_, number) => Math.round(210 + rank[number] * 137.508) % 360);
  grid = makeGrid();
}

/** Objects by cell, counted and sorted once: cell c holds order[starts[c] .. starts[c + 1]]. */
function makeGrid() {
  let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
  const see = (x, y) => { left = Math.min(left, x); right = Math.max(right, x); low = Math.min(low, y); high = Math.max(high, y); };
  for (let n = 0; n < count; n++) see(objects.x[n], objects.y[n]);
  for (let n = 0; n < data.prototypes.x.length; n++) see(data.prototypes.x[n], data.prototypes.y[n]);
  const side = Math.max(1, Math.min(256, Math.ceil(Math.sqrt(count / 2))));
  const size = Math.max(right - left, high - low, 1e-6) / side * 1.0001, starts = new Int32Array(side * side + 1);
  const cell = n => Math.floor((objects.y[n] - low) / size) * side + Math.floor((objects.x[n] - left) / size);
  const cells = new Int32Array(count), order = new Int32Array(count);
  for (let n = 0; n < count; n++) starts[(cells[n] = cell(n)) + 1]++;
  for (let c = 0; c < side * side; c++) starts[c + 1] += starts[c];
  const next = starts.slice(0, -1);
  for (let n = 0; n < count; n++) order[next[cells[n]]++] = n;
  return { left, right, low, high, side, size, starts, order };
}

/** The object nearest to a place on the canvas, within so many pixels; -1 when there is none. */
function nearest(px, py, within) {
  const x = (px - look.left) / look.scale, y = (look.top - py) / look.scale, reach = within / look.scale;
  const from = v => Math.max(0, Math.min(grid.side - 1, Math.floor(v / grid.size)));
  let best = -1, least = reach * reach;
  for (let row = from(y - reach - grid.low); row <= from(y + reach - grid.low); row++)
    for (let col = from(x - reach - grid.left); col <= from(x + reach - grid.left); col++) {
      const c = row * grid.side + col;
      for (let k = grid.starts[c]; k < grid.starts[c + 1]; k++) {
        const n = grid.order[k], dx = objects.x[n] - x, dy = objects.y[n] - y, away = dx * dx + dy * dy;
        if (away <= least) { least = away; best = n; }
      }
    }
  return best;
}

// Drawing

function draw() { if (!asked && data) { asked = true; requestAnimationFrame(() => { asked = false; render(); }); } }
const X = x => look.left + look.scale * x, Y = y => look.top - look.scale * y;

/** The pixels of a dot: where they lie in a picture of this width, and how much of each the dot covers. */
function disc(radius, width) {
  const reach = Math.ceil(radius), dx = [], dy = [], cover = [];
  for (let y = -reach; y <= reach; y++) for (let x = -reach; x <= reach; x++) {
    const part = Math.max(0, Math.min(1, radius + .5 - Math.hypot(x, y)));
    if (part > .02) { dx.push(x); dy.push(y); cover.push(part * 256); }
  }
  return { reach, dx, dy, cover: Uint16Array.from(cover), offset: Int32Array.from(dx, (x, k) => dy[k] * width + x) };
}

function render() {
  const ratio = devicePixelRatio || 1, wide = Math.round(plane.clientWidth * ratio), high = Math.round(plane.clientHeight * ratio);
  if (!wide || !high) return;
  if (plane.width !== wide || plane.height !== high || !picture) {
    plane.width = wide; plane.height = high; picture = pen.createImageData(wide, high);
  }
  const started = performance.now();
  stamp(picture, ratio);
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.putImageData(picture, 0, 0);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  overlay();
  plane.dataset.frames = Number(plane.dataset.frames || 0) + 1;
  plane.dataset.milliseconds = (performance.now() - started).toFixed(1);
  if (!plane.dataset.painted) plane.dataset.painted = performance.now().toFixed(0);
}

function stamp(into, ratio) {
  const { data: to, width, height } = into, pixels = new Uint32Array(to.buffer), [pr, pg, pb] = colours.page;
  pixels.fill((255 << 24 | pb << 16 | pg << 8 | pr) >>> 0);
  const size = count > 6000 ? 2.1 : count > 1500 ? 2.8 : 4.2, zoomed = Math.min(1.8, Math.max(1, Math.sqrt(look.scale / look.fit)));
  const { reach, dx, dy, cover, offset } = disc(size * zoomed * ratio, width), many = cover.length;
  const { x: xs, y: ys, identity } = objects, dims = matches !== null || picked >= 0;
  const left = look.left * ratio, top = look.top * ratio, scale = look.scale * ratio;
  // What is dimmed lies below what is not.
  for (let pass = dims ? 0 : 1; pass < 2; pass++) {
    const weight = pass ? 232 : 34;
    for (let n = 0; n < count; n++) {
      if (dims && (matches ? matches.has(n) : identity[n] === picked) !== (pass === 1)) continue;
      const cx = left + scale * xs[n] + .5 | 0, cy = top - scale * ys[n] + .5 | 0;
      if (cx < -reach || cy < -reach || cx >= width + reach || cy >= height + reach) continue;
      const colour = palette[identity[n]], r = colour[0], g = colour[1], b = colour[2], middle = cy * width + cx;
      const inside = cx >= reach && cy >= reach && cx < width - reach && cy < height - reach;
      for (let k = 0; k < many; k++) {
        if (!inside) { const x = cx + dx[k], y = cy + dy[k]; if (x < 0 || y < 0 || x >= width || y >= height) continue; }
        const at = middle + offset[k], there = pixels[at], a = cover[k] * weight >> 8;
        const tr = there & 255, tg = there >> 8 & 255, tb = there >> 16 & 255;
        pixels[at] = 255 << 24 | tb + ((b - tb) * a >> 8) << 16 | tg + ((g - tg) * a >> 8) << 8 | tr + ((r - tr) * a >> 8);
      }
    }
  }
}

function ring(n, weight) {
  pen.strokeStyle = colour(objects.identity[n]); pen.globalAlpha = weight;
  pen.beginPath(); pen.arc(X(objects.x[n]), Y(objects.y[n]), Math.max(7, objects.radius[n] * look.scale), 0, 7); pen.stroke();
  pen.globalAlpha = 1;
}

function overlay() {
  const p = data.prototypes;
  pen.lineWidth = 1;
  if (picked >= 0 && picked < p.x.length) {
    // The fiber: every object that the prototype holds, with its radius while they can be told apart.
    pen.strokeStyle = colour(picked); pen.globalAlpha = data.fiber[picked] > 400 ? .12 : .4; pen.beginPath();
    for (let n = 0; n < count; n++) if (objects.identity[n] === picked) { pen.moveTo(X(p.x[picked]), Y(p.y[picked])); pen.lineTo(X(objects.x[n]), Y(objects.y[n])); }
    pen.stroke(); pen.globalAlpha = 1;
    if (data.fiber[picked] <= 200) for (let n = 0; n < count; n++) if (objects.identity[n] === picked && objects.radius[n] > 0) ring(n, .3);
  }
  for (const n of [hovered, chosen]) if (n >= 0) {
    pen.lineWidth = n === chosen ? 2 : 1.2;
    const home = objects.identity[n];
    if (home < p.x.length) { pen.strokeStyle = colour(home); pen.beginPath(); pen.moveTo(X(objects.x[n]), Y(objects.y[n])); pen.lineTo(X(p.x[home]), Y(p.y[home])); pen.stroke(); }
    ring(n, .95);
    pen.fillStyle = colour(home); pen.beginPath(); pen.arc(X(objects.x[n]), Y(objects.y[n]), 5.5, 0, 7); pen.fill();
    pen.strokeStyle = colours.ink; pen.lineWidth = 1.5; pen.stroke();
  }
  pen.font = "12px system-ui, sans-serif"; pen.textAlign = "center"; pen.lineJoin = "round";
  const used = [], order = [...p.x.keys()].sort((a, b) => (b === picked) - (a === picked) || data.fiber[b] - data.fiber[a]);
  for (const n of order) {
    const x = X(p.x[n]), y = Y(p.y[n]), on = picked < 0 || n === picked;
    pen.globalAlpha = on ? 1 : .35; pen.strokeStyle = colour(n); pen.lineWidth = 2.4;
    pen.beginPath(); pen.moveTo(x - 6, y); pen.lineTo(x + 6, y); pen.moveTo(x, y - 6); pen.lineTo(x, y + 6); pen.stroke();
    const half = pen.measureText(data.names[n]).width / 2 + 4, box = [x - half, y - 24, x + half, y - 7];
    if (used.some(b => box[0] < b[2] && b[0] < box[2] && box[1] < b[3] && b[1] < box[3])) continue;
    used.push(box);
    pen.strokeStyle = `rgb(${colours.page})`; pen.lineWidth = 4; pen.strokeText(data.names[n], x, y - 11);
    pen.fillStyle = colours.ink; pen.fillText(data.names[n], x, y - 11);
  }
  pen.globalAlpha = 1;
}

// Moving about

function fit() {
  const w = plane.clientWidth, h = plane.clientHeight;
  look.fit = look.scale = .86 * Math.min(w / (grid.right - grid.left || 1), h / (grid.high - grid.low || 1));
  look.left = w / 2 - look.scale * (grid.left + grid.right) / 2; look.top = h / 2 + look.scale * (grid.low + grid.high) / 2;
  draw();
}
function zoom(by, x = plane.clientWidth / 2, y = plane.clientHeight / 2) {
  by = Math.max(look.fit * .4, Math.min(look.fit * 400, look.scale * by)) / look.scale;
  look.left = x - (x - look.left) * by; look.top = y - (y - look.top) * by; look.scale *= by; draw();
}
function move(dx, dy) { look.left += dx; look.top += dy; draw(); }
function bring(n) {
  const x = X(objects.x[n]), y = Y(objects.y[n]), w = plane.clientWidth, h = plane.clientHeight;
  if (x < 60 || y < 60 || x > w - 60 || y > h - 60) move(w / 2 - x, h / 2 - y);
}

// Telling

function element(tag, text, into, name) { const made = document.createElement(tag); made.textContent = text; if (name) made.className = name; if (into) into.append(made); return made; }
function link(text, address, into, name) { const made = element("a", text, into, name); made.href = address; return made; }
const degree = value => value.toFixed(2);
function objectAddress(n) { return `/object?${new URLSearchParams({ reference: objects.name[n] })}`; }
function identityAddress(n) { return `/identities/${coordinate}?${new URLSearchParams({ id: data.identities[n] })}`; }

function tell() {
  detail.replaceChildren();
  if (chosen >= 0) {
    element("h2", objects.name[chosen], detail);
    const facts = element("dl", "", detail);
    const fact = (name, text) => { element("dt", name, facts); return element("dd", text, facts); };
    const role = fact("plays", ""); link(data.identities[objects.identity[chosen]], identityAddress(objects.identity[chosen]), role);
    role.append(` ${degree(objects.membership[chosen])}${objects.taught.has(chosen) ? ", said by a person" : ""}`);
    fact("runner-up", `${data.identities[objects.runnerUp[chosen]]} ${degree(objects.second[chosen])}`);
    fact("radius", objects.radius[chosen] < 0 ? "any" : degree(objects.radius[chosen]));
    link("Open it", objectAddress(chosen), detail, "button");
  } else if (picked >= 0) {
    element("h2", data.names[picked], detail);
    const p = data.prototypes;
    element("p", `${data.fiber[picked]} objects` + (picked < p.x.length ? `, support ${degree(p.support[picked] / data.scale)}, ${Math.round(100 * p.interpolation[picked] / data.scale)} % as realised here` : ""), detail, "soft");
    link("Open it", identityAddress(picked), detail, "button");
  }
}
function choose(n) { chosen = n; tell(); if (n >= 0) bring(n); draw(); }
function pick(number) {
  picked = picked === number ? -1 : number; chosen = -1;
  for (const button of list.querySelectorAll("button")) button.setAttribute("aria-pressed", String(Number(button.dataset.number) === picked));
  tell(); draw();
}
function hover(n, x, y) {
  if (n !== hovered) { hovered = n; plane.classList.toggle("over", n >= 0); draw(); }
  tip.hidden = n < 0;
  if (n < 0) return;
  tip.replaceChildren(); element("b", objects.name[n], tip);
  element("div", `${data.identities[objects.identity[n]]} ${degree(objects.membership[n])}, then ${data.identities[objects.runnerUp[n]]} ${degree(objects.second[n])}`, tip, "soft");
  tip.style.left = `${Math.min(x + 14, plane.clientWidth - tip.offsetWidth - 8)}px`;
  tip.style.top = `${Math.min(y + 14, plane.clientHeight - tip.offsetHeight - 8)}px`;
}
function search() {
  const wanted = find.value.trim().toLowerCase();
  found.replaceChildren(); matches = null;
  if (wanted) {
    matches = new Set();
    const named = data.identities.map(id => id.toLowerCase().includes(wanted));
    for (let n = 0; n < count; n++) if (objects.name[n].toLowerCase().includes(wanted) || named[objects.identity[n]]) matches.add(n);
    element("p", `${matches.size} of ${count} objects`, found, "soft");
    const shown = element("ul", "", found, "plain");
    for (const n of [...matches].slice(0, 40)) {
      const button = element("button", "", element("li", "", shown));
      button.type = "button"; dot(button, objects.identity[n]); button.append(objects.name[n]);
      button.addEventListener("click", () => choose(n));
    }
  }
  draw();
}
function dot(into, number) { const made = element("span", "", into, "dot"); made.style.background = colour(number); return made; }
function listIdentities() {
  list.replaceChildren();
  const order = data.identities.map((_, n) => n).filter(n => data.fiber[n]).sort((a, b) => data.fiber[b] - data.fiber[a]);
  for (const number of order) {
    const button = element("button", "", element("li", "", list));
    button.type = "button"; button.dataset.number = number; button.setAttribute("aria-pressed", "false");
    dot(button, number); button.append(data.names[number]); element("span", data.fiber[number], button, "number");
    button.addEventListener("click", () => pick(number));
  }
}

plane.addEventListener("pointerdown", event => { held = { x: event.offsetX, y: event.offsetY, moved: false }; plane.setPointerCapture(event.pointerId); });
plane.addEventListener("pointermove", event => {
  if (!data) return;
  if (!held) { hover(nearest(event.offsetX, event.offsetY, 12), event.offsetX, event.offsetY); return; }
  const dx = event.offsetX - held.x, dy = event.offsetY - held.y;
  if (!held.moved && Math.hypot(dx, dy) < 4) return;
  held.moved = true; plane.classList.add("held"); hover(-1); move(dx, dy); held.x = event.offsetX; held.y = event.offsetY;
});
plane.addEventListener("pointerup", event => {
  if (held && !held.moved && data) choose(nearest(event.offsetX, event.offsetY, 12));
  held = null; plane.classList.remove("held");
});
plane.addEventListener("pointerleave", () => hover(-1));
plane.addEventListener("dblclick", () => { if (chosen >= 0) location.href = objectAddress(chosen); });
plane.addEventListener("wheel", event => { event.preventDefault(); if (data) zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY); }, { passive: false });
plane.addEventListener("keydown", event => {
  if (!data) return;
  const step = event.shiftKey ? 160 : 48;
  const does = {
    ArrowLeft: () => move(step, 0), ArrowRight: () => move(-step, 0), ArrowUp: () => move(0, step), ArrowDown: () => move(0, -step),
    "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(1 / 1.3), 0: fit, Escape: () => { picked = -1; pick(-1); },
    Enter: () => { if (chosen >= 0) location.href = objectAddress(chosen); else choose(nearest(plane.clientWidth / 2, plane.clientHeight / 2, 200)); },
  }[event.key];
  if (does) { event.preventDefault(); does(); }
});
find.addEventListener("input", () => data && search());
document.getElementById("nearer").addEventListener("click", () => zoom(1.4));
document.getElementById("farther").addEventListener("click", () => zoom(1 / 1.4));
document.getElementById("whole").addEventListener("click", fit);
new ResizeObserver(() => { if (data) { if (look.scale === look.fit) fit(); else draw(); } }).observe(plane);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (data) { paint(); listIdentities(); } });

fetch(`/map/data?coordinate=${coordinate}`, { headers: { "X-Part": "1" } }).then(async answer => {
  if (!answer.ok) { detail.innerHTML = await answer.text(); return; }
  take(await answer.json());
  fit(); paint();
  const named = plane.dataset.chosen ? objects.name.indexOf(plane.dataset.chosen) : -1;
  if (named >= 0) choose(named); else if (plane.dataset.picked) pick(data.identities.indexOf(plane.dataset.picked));
  // The list can wait until the map is there.
  requestAnimationFrame(() => setTimeout(listIdentities));
}).catch(() => { detail.textContent = "The server does not answer any more."; });
