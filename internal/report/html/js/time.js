// Charts over time. They, the client's track and the waterfall share one view and one
// cursor.

const time = { view: [0, 1], all: [0, 1], cursor: null, listeners: [] };

const windowsOf = (kind) => {
  const w = state.doc.results.windows.find((x) => x.kind === kind);
  if (!w || w.from_s === null) return [];
  return w.spans ? w.spans.map((s) => [s.from_s, s.to_s]) : [[w.from_s, w.to_s]];
};

function setView(a, b) {
  const [lo, hi] = time.all, least = (hi - lo) / 1e6 || 1e-6;
  const span = Math.min(Math.max(b - a, least), hi - lo);
  a = Math.min(Math.max(a, lo), hi - span);
  time.view = [a, a + span];
  time.changed();
}
function setCursor(t) { time.cursor = t; time.changed(); }
function zoomBy(k, at) {
  const [a, b] = time.view;
  at = at ?? (time.cursor !== null && time.cursor >= a && time.cursor <= b ? time.cursor : (a + b) / 2);
  setView(at - (at - a) * k, at + (b - at) * k);
}
const panBy = (share) => setView(time.view[0] + (time.view[1] - time.view[0]) * share, time.view[1] + (time.view[1] - time.view[0]) * share);

time.changed = soon(() => {
  for (const c of charts) if (c.o.time) c.draw();
  for (const f of time.listeners) f();
  const out = find("#cursor");
  if (out) out.textContent = time.cursor === null ? `${moment(time.view[0])} – ${moment(time.view[1])} s` : `${moment(time.cursor)} s`;
});

// atCursor is the value of a series at the cursor.
function atCursor(s) {
  if (time.cursor === null || !s) return "";
  if (s.points) {
    let best = -1;
    for (let i = 0; i < s.points.t.length; i++) if (s.points.t[i] >= time.cursor) { best = i; break; }
    return best < 0 ? "" : num(s.points.v[best]);
  }
  return time.cursor >= s.grid.start && time.cursor <= s.grid.to ? num(s.values[bucketAt(s.grid, time.cursor)]) : "";
}

// steer lets a canvas zoom by dragging, pan with shift or with a grabbing hand, and
// obey keys. o.pan: dragging pans.
function steer(canvas, frameOf, o = {}) {
  const at = (e) => { const f = frameOf(); return f ? f.x.back(e.offsetX) : 0; };
  let from = null, moved = false, shade = null;
  const inView = (t) => Math.min(Math.max(t, time.view[0]), time.view[1]);
  canvas.addEventListener("pointermove", (e) => {
    const f = frameOf();
    if (!f) return;
    if (from) {
      const dx = e.offsetX - from.x;
      if (Math.abs(dx) > 3 || Math.abs(e.offsetY - from.y) > 3) moved = true;
      if (from.pan) { setView(from.view[0] - dx * (from.view[1] - from.view[0]) / f.box.w, from.view[1] - dx * (from.view[1] - from.view[0]) / f.box.w); o.dragged?.(e, from); return; }
      if (moved) {
        shade ??= canvas.parentNode.appendChild(el("div", { className: "shade" }));
        const a = Math.max(f.box.x, Math.min(from.x, e.offsetX)), b = Math.min(f.box.x + f.box.w, Math.max(from.x, e.offsetX));
        Object.assign(shade.style, { left: canvas.offsetLeft + a + "px", width: Math.max(0, b - a) + "px", top: canvas.offsetTop + f.box.y + "px", height: f.box.h + "px" });
      }
    }
    setCursor(inView(at(e)));
    o.moved?.(e);
  });
  canvas.addEventListener("pointerdown", (e) => {
    if (e.button) return;
    canvas.setPointerCapture(e.pointerId);
    from = { x: e.offsetX, y: e.offsetY, t: inView(at(e)), view: [...time.view], pan: o.pan || e.shiftKey, y0: o.y0?.() };
    moved = false;
  });
  const end = (e) => {
    if (!from) return;
    const was = from;
    from = null;
    shade?.remove();
    shade = null;
    if (!moved) { o.clicked?.(e); return; }
    const t = inView(at(e));
    if (!was.pan && Math.abs(e.offsetX - was.x) > 4) setView(Math.min(was.t, t), Math.max(was.t, t));
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", () => { from = null; shade?.remove(); shade = null; });
  canvas.addEventListener("pointerleave", () => { if (!from) setCursor(null); });
  canvas.addEventListener("dblclick", () => setView(...time.all));
  canvas.addEventListener("wheel", (e) => {
    if (!e.ctrlKey && !e.metaKey) {
      if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) { e.preventDefault(); panBy(e.deltaX / canvas.clientWidth); }
      return;
    }
    e.preventDefault();
    zoomBy(Math.exp(e.deltaY / 300), inView(at(e)));
  }, { passive: false });
  canvas.addEventListener("keydown", (e) => {
    const step = (time.view[1] - time.view[0]) / 100, t = time.cursor ?? time.view[0];
    const does = {
      ArrowLeft: () => (e.shiftKey ? panBy(-0.1) : setCursor(inView(t - step))), ArrowRight: () => (e.shiftKey ? panBy(0.1) : setCursor(inView(t + step))),
      "+": () => zoomBy(0.5), "=": () => zoomBy(0.5), "-": () => zoomBy(2), 0: () => setView(...time.all), Home: () => setCursor(time.view[0]), End: () => setCursor(time.view[1]), Escape: () => setCursor(null),
      ...o.keys,
    }[e.key];
    if (does && !e.ctrlKey && !e.metaKey && !e.altKey) { e.preventDefault(); does(e); }
  });
}

// timeChart is a chart of the view. series: [{name, color, values|points, grid, kind,
// dash}], each with a column in the table.
function timeChart(host, o) {
  const shown = o.series.filter((s) => (s.values || s.points?.v)?.some((v) => v !== null && v === v));
  const named = shown.filter((s) => s.name || s.plain), nameOf = (s) => s.plain || say(s.name);
  if (!named.length) return null;
  const log = { on: false };
  const toggle = o.canLog ? [el("label", {}, el("input", { type: "checkbox", on: { change: (e) => { log.on = e.target.checked; chart.draw(); } } }), " ", word("log"))] : [];
  const chart = addChart(host, {
    id: o.id, title: o.title, plain: o.plain, note: o.note, def: o.def, height: o.height || 150, time: true, tools: toggle,
    draw: (c, w, h, ink, cursor) => drawTime(c, w, h, { series: shown, view: time.view, spans: windowsOf(state.kind), log: log.on, cursor, lines: o.lines }, ink),
    legend: () => named.map((s) => ({ color: s.color, dash: s.dash, text: nameOf(s), value: () => atCursor(s) })),
    columns: () => {
      if (o.columns) return o.columns();
      const first = shown.find((s) => s.grid), list = named;
      if (!first && list.length > 1 && list.some((s) => s.points.t !== list[0].points.t)) return [{ name: "series", values: list.flatMap((s) => s.points.t.map(() => nameOf(s))) }, { name: "t_s", values: list.flatMap((s) => s.points.t) }, { name: "value", values: list.flatMap((s) => s.points.v) }];
      const t = first ? Array.from({ length: first.grid.n }, (_, i) => +bucketEdge(first.grid, i).toPrecision(12)) : shown[0].points.t;
      return [{ name: first ? "from_s" : "t_s", values: [...t] }, ...list.map((s) => ({ name: s.column || s.name || s.plain, values: [...(s.values || s.points.v)] }))];
    },
    rows: o.rows || (() => { const first = shown.find((s) => s.grid); return first ? (i) => ({ flight: [bucketEdge(first.grid, i), bucketEdge(first.grid, i + 1)] }) : null; })(),
    label: () => say("chart.label", o.plain || say(o.title), named.map((s) => `${nameOf(s)}: ${say("peak")} ${num(greatest(s.values || s.points.v))}`).join("; ")),
  });
  steer(chart.canvas, () => chart.frame);
  return chart;
}

function greatest(vs) {
  let m = null;
  for (const v of vs) if (v !== null && v === v && (m === null || v > m)) m = v;
  return m;
}

function makeTime() {
  const d = state.doc, host = find("#time-charts");
  if (!d.time || !host) return;
  const t = d.time, g = t, s = t.series;
  const rg = t.rates;
  time.all = [t.first, Math.max(t.last, t.first + 1e-3)];
  time.view = [...time.all];
  const there = d.windows.filter((k) => windowsOf(k).length);
  const ruler = addChart(host, {
    id: "windows", title: "windows", height: Math.max(1, there.length) * 16 + 2, time: true, className: "ruler",
    draw: (c, w, h, ink) => (drawRuler(c, w, h, { view: time.view, windows: there.map((kind) => ({ kind, chosen: kind === state.kind, spans: windowsOf(kind) })) }, ink), null),
    columns: () => [{ name: "window", values: d.windows }, { name: "from_s", values: d.windows.map((k) => windowsOf(k)[0]?.[0] ?? null) }, { name: "to_s", values: d.windows.map((k) => windowsOf(k).at(-1)?.[1] ?? null) }],
    rows: (i) => (windowsOf(d.windows[i]).length && d.results.windows[i].requests ? { window: d.windows[i] } : null),
    label: () => say("windows"),
  });
  ruler.canvas.tabIndex = -1;
  ruler.canvas.addEventListener("click", (e) => {
    const kind = there[Math.floor(e.offsetY / (ruler.canvas.clientHeight / there.length))];
    if (kind) choose(kind);
  });
  const of = (name, series, color, more = {}) => ({ name, color, values: series, grid: g, kind: "step", ...more });
  const rate = (name, series, color, more = {}) => of(name, series, color, { grid: rg, ...more });
  const cap = d.results.load.concurrency;
  timeChart(host, { id: "in-flight", title: "in_flight", note: "in_flight.note", series: [of("in_flight", s.in_flight, "blue", { kind: "area" }), of("peak", s.in_flight_peak, "sky", { width: 1 }), of("waiting", s.waiting, "orange"), of("client_lag", s.client_lag, "brown")], lines: cap ? [{ v: cap, text: "C = " + num(cap) }] : [] });
  timeChart(host, { id: "rates", title: "rates", note: "rates.note", series: [rate("offered", s.offered, "grey", { dash: [4, 3] }), rate("sent", s.sent, "blue"), rate("ended", s.ended, "green"), rate("failed", s.failed, "red"), rate("abandoned", s.abandoned, "purple")] });
  timeChart(host, { id: "output-tokens", title: "output_rate", def: "system.output_tokens_per_s", note: t.whole_answers ? (d.untold ? "tokens.untold" : "tokens.at_end") : null, series: [of("output_rate", s.output_tokens, "green", { grid: t.tokens, kind: "area" })] });
  timeChart(host, { id: "input-tokens", title: "input_rate", def: "input_tokens_per_s", height: 110, series: [rate("input_rate", s.input_tokens, "purple", { kind: "area" })] });
  for (const l of d.latency) {
    const lg = l, line = (name, v, color, more) => ({ name, values: v, grid: lg, color, kind: "step", ...more });
    timeChart(host, {
      id: l.metric.replace("_ms", "-time"), title: l.metric + ".time", def: l.metric, note: "by_release", canLog: true,
      series: [cloudOf(l.metric), line("p99", l.p99, "red"), line("p90", l.p90, "orange", { dash: [5, 3] }), line("p50", l.p50, "blue", { width: 2 })],
      rows: (i) => ({ phase: "measure", outcome: "ok", has: [l.metric], range: { released: [bucketEdge(lg, i), bucketEdge(lg, i + 1), i === lg.n - 1] } }),
      columns: () => [{ name: "from_s", values: l.p50.map((_, i) => +bucketEdge(lg, i).toPrecision(12)) }, { name: "n", values: l.count }, { name: "p50_ms", values: l.p50 }, { name: "p90_ms", values: l.p90 }, { name: "p99_ms", values: l.p99 }],
    });
  }
  for (const c of serverCharts(d.results.server?.lines || [])) timeChart(host, c);
  const slices = d.results.cache?.over_time || [];
  if (slices.length > 1) timeChart(host, { id: "cached-ratio", title: "cached_over_time", height: 110, series: [{ name: "cached_share", color: "purple", kind: "line", points: { t: slices.map((s) => (s.from_s + s.to_s) / 2), v: slices.map((s) => (s.cached_ratio === null ? null : s.cached_ratio * 100)) } }] });
  for (const b of findAll("[data-zoom]")) b.addEventListener("click", () => {
    const k = b.dataset.zoom, spans = windowsOf(state.kind);
    if (k === "in") zoomBy(0.5);
    else if (k === "out") zoomBy(2);
    else if (k === "all") setView(...time.all);
    else if (spans.length) { const pad = (spans.at(-1)[1] - spans[0][0]) * 0.02; setView(spans[0][0] - pad, spans.at(-1)[1] + pad); }
  });
}

// serverCharts are the server's own gauges: those of one name and unit together, a
// line for each page.
function serverCharts(lines) {
  const by = new Map();
  for (const l of lines) (by.get(l.name) || by.set(l.name, []).get(l.name)).push(l);
  const colors = ["blue", "orange", "green", "purple", "grey", "yellow", "sky", "red"];
  return [...by].map(([name, list]) => ({
    id: "server-" + name.replaceAll("_", "-"), height: 110, def: "server." + name, plain: `${state.doc.defs["server." + name]?.title || name.replaceAll("_", " ")}, ${list[0].unit}`, note: "server.note",
    series: list.map((l, i) => ({ plain: l.source + (l.part === undefined ? "" : ` (${l.part})`), column: l.source, color: colors[i % colors.length], kind: "line", points: { t: l.t_s, v: l.value } })),
  }));
}

// cloudOf are the measured ok requests as dots: by release, one value each. Of more than
// there is room for, a view shows the slowest of each moment and some of the others.
const mostDots = 8000, thinSlots = 1500;
function cloudOf(metric) {
  const vs = column(metric), at = column("released");
  if (!vs || !at) return {};
  const keep = measuredOK().filter((i) => vs[i] === vs[i] && at[i] === at[i]);
  if (keep.some((i, k) => k && at[keep[k - 1]] > at[i])) keep.sort((a, b) => at[a] - at[b]);
  const all = { t: gather(at, keep), v: gather(vs, keep) };
  let thin = all;
  if (keep.length > mostDots) {
    const take = [], per = Math.ceil(keep.length / thinSlots);
    for (let from = 0; from < keep.length; from += per) {
      const to = Math.min(keep.length, from + per);
      let top = from;
      for (let k = from; k < to; k++) if (all.v[k] > all.v[top]) top = k;
      take.push(top);
      for (let k = 0; k < 4; k++) take.push(Math.min(to - 1, from + Math.floor((k + 0.5) * (to - from) / 4)));
    }
    thin = { t: gather(all.t, take), v: gather(all.v, take) };
  }
  const first = (t) => { let a = 0, b = all.t.length; while (a < b) { const m = (a + b) >> 1; if (all.t[m] < t) a = m + 1; else b = m; } return a; };
  return {
    name: null, color: "grey", kind: "dots", alpha: keep.length > 1000 ? 0.3 : 0.6,
    get points() {
      const a = first(time.view[0]), b = first(time.view[1]) + 1;
      return b - a > mostDots ? thin : { t: all.t.subarray(a, b), v: all.v.subarray(a, b) };
    },
  };
}

function makeClient() {
  const host = find("#client-charts"), c = state.doc.client;
  if (!host) return;
  if (!c) { host.append(el("p", { className: "absent" }, word("not_observed"))); return; }
  if (!state.doc.time) { const t = c.t; time.all = [Math.min(0, t[0]), t.at(-1) || 1]; time.view = [...time.all]; }
  const line = (name, color, more) => ({ name, color, kind: "line", points: c[name] && c[name].some((v) => v !== null) ? { t: c.t, v: c[name] } : null, ...more });
  const few = (id, ...series) => timeChart(host, { id, title: id, height: 96, series });
  few("client.cpu", line("cpu", "blue"), line("host_cpu", "grey", { dash: [4, 3] }));
  few("client.lag", line("pacer_lag_p99_ms", "orange"), line("sched_p99_ms", "purple"), line("gc_pause_ms", "grey"));
  few("client.memory", line("rss_mb", "green"), line("queue", "red"));
}
