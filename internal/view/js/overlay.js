// The charts of report.html with several runs in each: told apart by colour, by the
// pattern of the line, and by a letter.

const runColors = ["blue", "orange", "green", "purple", "red", "sky", "yellow", "grey"];
const runDashes = [null, [7, 4], [2, 3], [10, 3, 2, 3], [14, 5], [5, 2, 1, 2, 1, 2], [3, 6], [1, 4]];
for (const [m, text] of [["ttft_ms", "TTFT"], ["tpot_ms", "TPOT"], ["itl_ms", "ITL"], ["e2e_ms", "E2E"]]) for (const q of ["p50", "p99"]) allWords[`${m}.${q}`] = [`${text} ${q}, ms`, `${text} ${q}（毫秒）`];
const letter = (i) => String.fromCharCode(65 + i);

// runs are those that are overlaid, in order: {id, i, doc}; name is that of the run.
const overlay = { runs: [], kind: null, log: true };
const nameOfRun = (r) => r.doc.results.name || r.doc.results.run || r.id;
const labelOf = (r) => `${letter(r.i)} ${nameOfRun(r)}`;
const lineOf = (r, more) => ({ plain: labelOf(r), column: letter(r.i), color: runColors[r.i], dash: runDashes[r.i], kind: "line", ...more });

// overlaid is a chart over time with a line for each run that has one. of gives the
// series of a document: {grid, values} or {points}.
function overlaid(host, o, of) {
  const series = [];
  for (const r of overlay.runs) {
    const s = of(r.doc);
    if (s && (s.values || s.points?.v)) series.push(lineOf(r, s));
  }
  return timeChart(host, {
    height: 150, ...o, series,
    columns: () => {
      const times = (s) => (s.points ? Array.from(s.points.t) : s.values.map((_, i) => +bucketEdge(s.grid, i).toPrecision(12)));
      const values = (s) => Array.from(s.points ? s.points.v : s.values);
      return [{ name: "run", values: series.flatMap((s) => times(s).map(() => s.column)) }, { name: "t_s", values: series.flatMap(times) }, { name: "value", values: series.flatMap(values) }];
    },
  });
}

function overlayTime() {
  const host = find("#time-charts"), timed = overlay.runs.filter((r) => r.doc.time);
  if (!timed.length) return;
  find("#time").hidden = false;
  time.all = [Math.min(...timed.map((r) => r.doc.time.first)), Math.max(...timed.map((r) => r.doc.time.last), 1e-3)];
  time.view = [...time.all];
  const of = (name, grid) => (d) => d.time && d.time.series[name] && { grid: grid ? d.time[grid] : d.time, values: d.time.series[name], kind: "step" };
  overlaid(host, { id: "in-flight", title: "view.in_flight" }, of("in_flight"));
  overlaid(host, { id: "waiting", title: "view.waiting_slot", height: 110 }, of("waiting"));
  overlaid(host, { id: "client-lag", title: "client_lag", height: 110 }, of("client_lag"));
  overlaid(host, { id: "offered", title: "view.offered", height: 110 }, of("offered", "rates"));
  overlaid(host, { id: "sent", title: "view.sent" }, of("sent", "rates"));
  overlaid(host, { id: "ended", title: "view.ended" }, of("ended", "rates"));
  const fails = of("failed", "rates");
  overlaid(host, { id: "failed", title: "view.failing", height: 110 }, (d) => { const s = fails(d); return s && s.values.some((v) => v > 0) ? s : null; });
  overlaid(host, { id: "output-tokens", title: "output_rate" }, of("output_tokens", "tokens"));
  overlaid(host, { id: "input-tokens", title: "input_rate", height: 110 }, of("input_tokens", "rates"));
  for (const m of [...new Set(overlay.runs.flatMap((r) => r.doc.latency.map((l) => l.metric)))]) for (const q of ["p50", "p99"]) {
    overlaid(host, { id: `${m.replace("_ms", "")}-${q}`, title: m + "." + q, canLog: true }, (d) => {
      const l = d.latency.find((x) => x.metric === m);
      return l && { grid: l, values: l[q], kind: "step" };
    });
  }
  // The servers' own gauges, one chart for each name; of several pages of one run the first.
  for (const name of [...new Set(overlay.runs.flatMap((r) => (r.doc.results.server?.lines || []).map((l) => l.name)))]) {
    const unit = overlay.runs.map((r) => r.doc.results.server?.lines?.find((l) => l.name === name)?.unit).find(Boolean) || "";
    const title = overlay.runs.map((r) => r.doc.defs["server." + name]?.title).find(Boolean) || name.replaceAll("_", " ");
    overlaid(host, { id: "server-" + name.replaceAll("_", "-"), height: 110, plain: `${title}, ${unit}`, note: "server.note" }, (d) => {
      const l = d.results.server?.lines?.find((x) => x.name === name);
      return l && { points: { t: l.t_s, v: l.value } };
    });
  }
  overlaid(host, { id: "client-cpu", title: "view.cpu", height: 96 }, (d) => d.client?.cpu?.some((v) => v !== null) && { points: { t: d.client.t, v: d.client.cpu } });
  for (const b of findAll("[data-zoom]")) b.addEventListener("click", () => {
    const k = b.dataset.zoom;
    if (k === "in") zoomBy(0.5);
    else if (k === "out") zoomBy(2);
    else setView(...time.all);
  });
  time.changed();
}

// kindsOfAll are the windows that every run has.
function kindsOfAll() {
  const has = (r, kind) => r.doc.results.windows.some((w) => w.kind === kind && w.from_s !== null);
  return (overlay.runs[0]?.doc.windows || []).filter((k) => overlay.runs.every((r) => has(r, k)));
}

function overlayDists() {
  const host = find("#dist-charts"), metrics = [...new Set(overlay.runs.flatMap((r) => r.doc.dists.map((d) => d.metric)))];
  if (!metrics.length || !overlay.kind) return;
  find("#dist").hidden = false;
  for (const m of metrics) {
    const of = (r) => r.doc.dists.find((d) => d.metric === m && d.window === overlay.kind);
    const curves = () => overlay.runs.filter(of).map((r) => ({ r, d: of(r) }));
    const unit = overlay.runs.map((r) => r.doc.dists.find((d) => d.metric === m)?.unit).find(Boolean);
    addChart(host, {
      id: m.replace(/_ms$/, "").replaceAll("_", "-") + "-cdf", title: m + ".cdf", height: 210,
      draw: (c, w, h, ink) => drawCDF(c, w, h, { curves: curves().map(({ r, d }) => ({ cdf: d.cdf, color: runColors[r.i], dash: runDashes[r.i] })), log: overlay.log, unit }, ink),
      legend: () => curves().map(({ r, d }) => ({ color: runColors[r.i], dash: runDashes[r.i], text: `${labelOf(r)}, n ${num(d.n)}` })),
      columns: () => [
        { name: "run", values: curves().flatMap(({ r, d }) => d.cdf.map(() => letter(r.i))) }, { name: "q", values: curves().flatMap(({ d }) => d.cdf.map((p) => p.q)) }, { name: unit, values: curves().flatMap(({ d }) => d.cdf.map((p) => p.v)) },
      ],
      label: () => say("chart.label", say(m + ".cdf"), curves().map(({ r }) => { const s = metricOf(r, m); return `${labelOf(r)}: p50 ${num(s?.p50)}, p99 ${num(s?.p99)} ${unit}`; }).join("; ")),
    });
  }
  find("#dist-log").addEventListener("change", (e) => { overlay.log = e.target.checked; charts.forEach((c) => c.relabel()); });
}

const windowOf = (r) => r.doc.results.windows.find((w) => w.kind === overlay.kind);
const metricOf = (r, m) => windowOf(r)?.metrics?.[m] || null;

// keyTable shows the numbers of all runs in the chosen window.
function keyTable() {
  const host = find("#key-table");
  find("#keys").hidden = !overlay.kind;
  if (!overlay.kind) return;
  const rows = [];
  const decides = new Set((comparing.result?.pairs || []).flatMap((p) => p.metrics.filter((m) => m.decides).map((m) => m.name)));
  const put = (name, of, key) => { const vs = overlay.runs.map(of); if (vs.some((v) => v !== null && v !== undefined)) rows.push([name + (decides.has(key) ? " *" : ""), vs]); };
  // Of the whole run, as the comparison takes them: a fast run that fails is none.
  put(say("failed"), (r) => r.doc.results.counts.failed);
  put(say("view.failed_share"), (r) => { const c = r.doc.results.counts; return c.ok + c.failed ? (c.failed / (c.ok + c.failed)) * 100 : null; }, "failed_share");
  for (const [m, text] of [["ttft_ms", "TTFT"], ["tpot_ms", "TPOT"], ["itl_ms", "ITL"], ["e2e_ms", "E2E"]]) for (const q of ["mean", "p50", "p90", "p95", "p99"]) if (q !== "p95" || decides.has(`${m}.p95`)) put(`${text} ${q}, ms`, (r) => metricOf(r, m)?.[q], `${m}.${q}`);
  for (const [k, text] of [["output_tokens_per_s", "output_rate"], ["input_tokens_per_s", "input_rate"], ["requests_per_s", "requests_per_s"], ["concurrency_mean", "in_flight"]]) put(say(text), (r) => windowOf(r)?.system?.[k], k);
  put(say("duration") + ", s", (r) => windowOf(r)?.system?.duration_s);
  put(say("requests"), (r) => windowOf(r)?.requests);
  const others = overlay.runs.slice(1), none = (v) => v === null || v === undefined;
  const change = (a, b) => (none(a) || none(b) || !a ? "–" : percent((b - a) / Math.abs(a)));
  host.replaceChildren(el("table", { className: "plain keys" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, say("view.metric")), overlay.runs.map((r) => el("th", { scope: "col", className: "r" }, el("bdi", {}, labelOf(r)))), others.map((r) => el("th", { scope: "col", className: "r" }, `${say("view.change")} ${letter(overlay.runs[0].i)} → ${letter(r.i)}, %`)))),
    el("tbody", {}, rows.map(([name, vs]) => el("tr", {}, el("th", { scope: "row" }, name), vs.map((v) => el("td", { className: "r" }, none(v) ? "–" : num(v))), others.map((_, k) => el("td", { className: "r" }, change(vs[0], vs[k + 1]))))))),
    ...(decides.size ? [el("p", { className: "hint" }, say("view.key.decides"))] : []));
}
