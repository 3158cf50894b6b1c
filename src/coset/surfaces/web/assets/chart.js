// Results that invite a chart are drawn; the table below says the same to those who cannot see it.
"use strict";
function ink(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
globalThis.drawCharts = within => {
  for (const place of within.querySelectorAll("canvas[data-chart]:not([data-drawn])")) {
    place.dataset.drawn = "1";
    const { kind, labels, series } = JSON.parse(place.dataset.chart), lines = { color: ink("--line") };
    const ticks = { color: ink("--soft") }, colours = ["--accent", "--good", "--doubt", "--bad"].map(ink);
    const title = text => ({ display: true, text, color: ink("--soft") });
    const data = kind === "scatter"
      ? { datasets: [{ label: series[1][0], backgroundColor: colours[0], data: series[0][1].map((x, at) => ({ x, y: series[1][1][at] })) }] }
      : { labels, datasets: series.map(([label, values], at) => ({ label, data: values, backgroundColor: colours[at], borderColor: colours[at],
          borderWidth: kind === "line" ? 2 : 0, pointRadius: labels.length > 60 ? 0 : 2, maxBarThickness: 38 })) };
    new Charts.Chart(place, { type: kind, data, options: {
      animation: false, responsive: true, maintainAspectRatio: false,
      scales: { x: { grid: lines, ticks: { ...ticks, maxRotation: 60 }, title: kind === "scatter" ? title(series[0][0]) : { display: false } },
        y: { grid: lines, ticks, beginAtZero: kind === "bar", title: series.length === 1 || kind === "scatter" ? title(series.at(-1)[0]) : { display: false } } },
      plugins: { legend: { display: series.length > 1 && kind !== "scatter", labels: { color: ink("--ink") } } } } });
  }
};
drawCharts(document);
