// The waterfall: a line for each request in order of release, from due to the end of
// its stream. Of many requests to a pixel the longest that ended well is drawn; how many
// of them failed or were abandoned stands at the edge.

const fall = { order: null, place: null, levels: [], zoom: 1, center: 0.5, selected: -1, hover: -1, rows: [0, 0] };

const fallColors = { wait: "yellow", lag: "brown", connect: "purple", prefill: "blue", decode: "green", whole: "sky", tail: "grey", stall: "black", failed: "red", abandoned: "orange" };

// leastLines are as few as "Taller" leaves in sight.
const leastLines = 8;

// prepareFall sorts requests and says for blocks of 2, 4, 8 … of them which one stands
// for the block.
function prepareFall() {
  const rel = column("released");
  if (!rel) return false;
  const n = state.doc.rows, list = [];
  for (let i = 0; i < n; i++) if (rel[i] === rel[i]) list.push(i);
  const order = Uint32Array.from(list);
  let sorted = true;
  for (let i = 1; i < order.length && sorted; i++) sorted = rel[order[i - 1]] <= rel[order[i]];
  if (!sorted) order.sort((a, b) => rel[a] - rel[b] || a - b);
  const m = order.length, get = (name) => gather(column(name), order, 1e3);
  const f = Object.assign(fall, { order, rel: gather(rel, order), ready: gather(column("ready"), order), wait: get("slot_wait"), conn: get("connect"), ttft: get("ttft_ms"), e2e: get("e2e_ms"), end: get("stream_end_ms") });
  f.place = new Int32Array(n).fill(-1);
  order.forEach((row, at) => (f.place[row] = at));
  const due = gather(column("due"), order);
  f.begin = f.rel.map((t, i) => Math.min(t, due[i] < t ? due[i] : t, f.ready[i] < t ? f.ready[i] : t));
  f.bad = new Uint8Array(m);
  f.until = new Float64Array(m); // the latest end of this request and all before it
  let latest = -Infinity;
  const words = state.doc.col.outcome?.words || [], outcome = column("outcome");
  const rank = words.map((w) => (w === "ok" ? 0 : w === "abandoned" || w === "cancelled" ? 1 : 2));
  for (let i = 0; i < m; i++) {
    f.bad[i] = rank[outcome[order[i]]] ?? 0;
    latest = Math.max(latest, f.rel[i] + (last(i) || 0));
    f.until[i] = latest;
  }
  f.before = [new Uint32Array(m + 1), new Uint32Array(m + 1)]; // abandoned, failed among the first i
  for (let i = 0; i < m; i++) for (const k of [0, 1]) f.before[k][i + 1] = f.before[k][i] + (f.bad[i] === k + 1 ? 1 : 0);
  const worth = (i) => (f.bad[i] ? -1 / (1 + (last(i) || 0)) : last(i) || 0);
  f.levels = [];
  for (let size = m, below = null; size > 1;) {
    const next = new Uint32Array(Math.ceil(size / 2));
    for (let i = 0; i < next.length; i++) {
      const a = below ? below[2 * i] : 2 * i, b = 2 * i + 1 < size ? (below ? below[2 * i + 1] : 2 * i + 1) : a;
      next[i] = worth(b) > worth(a) ? b : a;
    }
    f.levels.push(next);
    below = next;
    size = next.length;
  }
  f.stalls = new Map();
  const sr = column("stall_row"), st = column("stall_t"), sm = column("stall_ms");
  for (let k = 0; sr && k < sr.length; k++) {
    const at = f.place[sr[k]];
    if (at >= 0) (f.stalls.get(at) || f.stalls.set(at, []).get(at)).push([st[k], sm[k] / 1e3]);
  }
  return m > 0;
}

const last = (i) => (fall.end[i] === fall.end[i] ? fall.end[i] : fall.e2e[i]);

// inTime are the places whose requests a view can touch: [from, to).
function inTime(view) {
  const f = fall, n = f.order.length;
  let lo = 0, hi = n;
  for (let a = 0, b = n; a < b;) { const m = (a + b) >> 1; if (f.until[m] >= view[0]) b = m; else a = m + 1; lo = b; }
  for (let a = lo, b = n; a < b;) { const m = (a + b) >> 1; if (f.begin[m] > view[1]) b = m; else a = m + 1; hi = b; }
  if (lo >= hi) { lo = Math.min(lo, Math.max(0, n - 1)); hi = Math.min(n, lo + 1); }
  return [lo, hi];
}

// standsFor is the place that is drawn for places [a, b).
function standsFor(a, b) {
  if (b - a <= 1) return a;
  const l = Math.floor(Math.log2(b - a)), level = fall.levels[l - 1];
  return level[Math.min(a >> l, level.length - 1)];
}

// drawFall draws the rows [a, b) over the view.
function drawFall(c, w, h, o, ink) {
  const f = frame(c, w, h, { x: o.view, y: [o.rows[1], o.rows[0]], xUnit: "s", noY: true }, ink);
  bands(c, f, o.spans, ink);
  const [a, b] = o.rows, count = b - a, px = f.box.h / Math.max(1e-9, count), lines = Math.min(Math.ceil(count), Math.floor(f.box.h));
  const sx = (f.x.hi - f.x.lo) / f.box.w;
  inside(c, f.box, () => {
    for (let k = 0; k < lines; k++) {
      const p = px >= 1 ? Math.floor(a) + k : standsFor(Math.floor(a + (k * count) / lines), Math.max(Math.floor(a + (k * count) / lines) + 1, Math.floor(a + ((k + 1) * count) / lines)));
      if (p >= fall.order.length) break;
      const y = px >= 1 ? f.box.y + (p - a) * px : f.box.y + (k * f.box.h) / lines, height = px >= 1 ? Math.max(1, px - (px > 3 ? 1 : 0)) : Math.ceil(f.box.h / lines);
      drawRequest(c, f, p, y, height, sx, ink);
    }
    if (o.selected >= Math.floor(a) && o.selected < b) {
      const y = f.box.y + (o.selected - a) * px;
      c.strokeStyle = ink.text;
      c.lineWidth = 1.5;
      c.beginPath(); c.rect(f.box.x + 1, y - 1, f.box.w - 2, Math.max(3, px) + 1); c.stroke();
    }
    if (o.cursor !== null && o.cursor !== undefined) {
      c.strokeStyle = ink.text; c.globalAlpha = 0.5; c.lineWidth = 1;
      c.beginPath(); c.moveTo(Math.round(f.x(o.cursor)) + 0.5, f.box.y); c.lineTo(Math.round(f.x(o.cursor)) + 0.5, f.box.y + f.box.h); c.stroke();
      c.globalAlpha = 1;
    }
  });
  for (let k = 0; k < f.box.h; k++) {
    const from = Math.min(fall.order.length, Math.floor(a + (k * count) / f.box.h)), to = Math.min(fall.order.length, Math.max(from + 1, Math.floor(a + ((k + 1) * count) / f.box.h)));
    for (const [kind, x, color] of [[1, 3, fallColors.failed], [0, 8, fallColors.abandoned]]) {
      const bad = fall.before[kind][to] - fall.before[kind][from];
      if (!bad) continue;
      c.fillStyle = ink[color];
      c.globalAlpha = 0.35 + 0.65 * Math.min(1, (bad / (to - from)) * 2);
      c.fillRect(f.box.x + f.box.w + x, f.box.y + k, 4, 1);
      c.globalAlpha = 1;
    }
  }
  c.fillStyle = ink.faint; c.textAlign = "right"; c.textBaseline = "top"; c.font = chartFont;
  c.fillText(num(Math.floor(a) + 1), f.box.x - 6, f.box.y);
  c.textBaseline = "alphabetic";
  c.fillText(num(Math.min(fall.order.length, Math.ceil(b))), f.box.x - 6, f.box.y + f.box.h);
  return f;
}

function drawRequest(c, f, p, y, h, sx, ink) {
  const r = fall.rel[p], bar = (from, to, color, share = 1) => {
    if (!(to > from) || to < f.x.lo || from > f.x.hi) return;
    const x0 = f.x(Math.max(from, f.x.lo - sx)), x1 = f.x(Math.min(to, f.x.hi + sx));
    c.fillStyle = ink[color];
    c.fillRect(x0, y + (h * (1 - share)) / 2, Math.max(x1 - x0, 0.75), Math.max(1, h * share));
  };
  const wait = fall.wait[p], conn = fall.conn[p] || 0, ttft = fall.ttft[p], e2e = fall.e2e[p], end = fall.end[p], bad = fall.bad[p];
  const ready = fall.ready[p] < r ? fall.ready[p] : r;
  if (wait > 0) bar(ready - wait, ready, fallColors.wait, 0.5);
  if (r - ready > sx * 0.75) bar(ready, r, fallColors.lag, 0.5);
  if (conn > 0) bar(r, r + conn, fallColors.connect);
  if (bad) {
    const stop = end === end ? end : e2e === e2e ? e2e : 0;
    if (ttft === ttft) { bar(r + conn, r + ttft, fallColors.prefill, 0.6); }
    bar(ttft === ttft ? r + ttft : r + conn, r + Math.max(stop, sx * 2), bad > 1 ? fallColors.failed : fallColors.abandoned);
    return;
  }
  if (ttft === ttft) {
    bar(r + conn, r + ttft, fallColors.prefill);
    if (e2e === e2e) bar(r + ttft, r + e2e, fallColors.decode);
  } else if (e2e === e2e) bar(r + conn, r + e2e, fallColors.whole);
  if (end === end && e2e === e2e) bar(r + e2e, r + end, fallColors.tail, 0.4);
  if (h >= 2) for (const [t, long] of fall.stalls.get(p) || []) bar(t, t + long, fallColors.stall, 0.5);
}

// visibleRows are the rows that the waterfall shows: those of the view, or the part of
// them that is zoomed to.
function visibleRows() {
  const [lo, hi] = inTime(time.view), all = Math.max(1, hi - lo), span = Math.max(1, all / fall.zoom);
  const from = Math.min(Math.max(lo, lo + fall.center * all - span / 2), hi - span);
  return [Math.max(0, from), Math.max(0, from) + span];
}

function makeFall() {
  const host = find("#waterfall");
  if (!host) return;
  if (!state.doc.time || !prepareFall()) { host.append(el("p", { className: "absent" }, word(state.doc.rows ? "untimed" : "no_rows"))); return; }
  const taller = (k) => { const [lo, hi] = inTime(time.view); fall.zoom = Math.max(1, Math.min(fall.zoom * k, (hi - lo) / leastLines)); chart.draw(); };
  const info = el("div", { className: "info", id: "row-info" }, el("span", { className: "hint" }, word("row.pick")));
  const name = (i) => fall.order[i];
  const chart = addChart(host, {
    id: "waterfall", title: "waterfall.title", height: 420, time: true, note: "waterfall.note",
    tools: [el("button", { type: "button", on: { click: () => taller(2) } }, word("taller")), el("button", { type: "button", on: { click: () => taller(0.5) } }, word("shorter"))],
    draw: (c, w, h, ink, cursor) => { const rows = visibleRows(); fall.rows = rows; return drawFall(c, w, h, { view: time.view, rows, spans: windowsOf(state.kind), cursor, selected: fall.selected }, ink); },
    legend: () => ["wait", "lag", "connect", "prefill", "decode", "whole", "tail", "stall", "failed", "abandoned"].filter((k) => fallHas(k)).map((k) => ({ color: fallColors[k], text: say(k === "whole" && state.doc.untold ? "w.untold" : "w." + k) })),
    columns: (most) => rowColumns(Array.from(most ? fall.order.subarray(0, most) : fall.order)),
    rows: (i) => ({ eq: { seq: value("seq", fall.order[i]) } }),
    total: () => fall.order.length,
    label: () => say("chart.label", say("waterfall.title"), `${num(fall.order.length)} ${say("requests")}; ${num(state.doc.results.counts.failed)} ${say("failed")}`),
  });
  const rowAt = (e) => {
    const f = chart.frame;
    if (!f) return -1;
    const [a, b] = fall.rows, p = a + ((e.offsetY - f.box.y) / f.box.h) * (b - a);
    if (p < a || p >= b || p >= fall.order.length) return -1;
    const lines = Math.floor(f.box.h);
    if (b - a <= lines) return Math.floor(p);
    const k = Math.floor(((p - a) / (b - a)) * lines);
    return standsFor(Math.floor(a + (k * (b - a)) / lines), Math.max(Math.floor(a + (k * (b - a)) / lines) + 1, Math.floor(a + ((k + 1) * (b - a)) / lines)));
  };
  const move = (d) => selectPlace(Math.min(Math.max(0, (fall.selected < 0 ? Math.floor(fall.rows[0]) : fall.selected + d)), fall.order.length - 1), true);
  steer(chart.canvas, () => chart.frame, {
    pan: true,
    y0: () => fall.center,
    dragged: (e, from) => { const [lo, hi] = inTime(time.view); if (fall.zoom > 1) fall.center = Math.min(1, Math.max(0, from.y0 - (e.offsetY - from.y) / chart.frame.box.h * ((fall.rows[1] - fall.rows[0]) / Math.max(1, hi - lo)))); },
    moved: (e) => { const p = rowAt(e); if (p !== fall.hover) { fall.hover = p; if (fall.selected < 0 && p >= 0) describe(info, name(p)); } },
    clicked: (e) => { const p = rowAt(e); if (p >= 0) selectPlace(p, false); },
    keys: { ArrowDown: () => move(1), ArrowUp: () => move(-1), PageDown: () => taller(2), PageUp: () => taller(0.5) },
  });
  chart.canvas.addEventListener("wheel", (e) => { if (e.altKey) { e.preventDefault(); taller(Math.exp(-e.deltaY / 300)); } }, { passive: false });
  host.append(info, el("p", { className: "hint" }, word("waterfall.hint")), el("p", { className: "hint" }, word("w.stall"), ": ", el("span", { lang: "en" }, state.doc.stall_rule), state.doc.left_out.stalls ? el("span", {}, " · " + say("stalls.left", num(state.doc.left_out.stalls))) : null));
  fall.chart = chart;
  fall.info = info;
}

function fallHas(kind) {
  const some = (v) => { for (let i = 0; i < v.length; i++) if (v[i] > 0) return true; return false; };
  const has = (fall.has ??= {});
  return (has[kind] ??= {
    wait: () => some(fall.wait), lag: () => fall.ready.some((t, i) => t < fall.rel[i]), connect: () => some(fall.conn), prefill: () => some(fall.ttft), decode: () => some(fall.ttft),
    whole: () => { for (let i = 0; i < fall.order.length; i++) if (!fall.bad[i] && fall.ttft[i] !== fall.ttft[i] && fall.e2e[i] === fall.e2e[i]) return true; return false; },
    tail: () => true, stall: () => fall.stalls.size > 0, failed: () => fall.bad.includes(2), abandoned: () => fall.bad.includes(1),
  }[kind]());
}

// selectPlace marks a request in the waterfall and says what it is.
function selectPlace(p, show) {
  fall.selected = p;
  const row = fall.order[p];
  describe(fall.info, row);
  showTexts(row);
  markRow(row);
  if (show) {
    const [a, b] = time.view, from = fall.begin[p], to = fall.rel[p] + (last(p) || 0);
    if (from < a || to > b) { const pad = Math.max((to - from) * 0.5, (b - a) / 2 - (to - from) / 2); setView(from - pad, to + pad); }
    const [lo, hi] = inTime(time.view);
    fall.center = (p - lo + 0.5) / Math.max(1, hi - lo);
  }
  time.changed();
}

// showRow brings a request into view, its line tall enough to see.
function showRow(row) {
  showTexts(row);
  const p = fall.place ? fall.place[row] : -1;
  if (p < 0) return;
  const from = fall.begin[p], long = Math.max((last(p) || 0) + fall.rel[p] - from, (time.all[1] - time.all[0]) / 1e4);
  setView(from - long, from + 2 * long);
  const [lo, hi] = inTime(time.view);
  fall.zoom = Math.max(1, (hi - lo) / 60);
  selectPlace(p, true);
}

function describe(host, row) {
  const parts = [];
  const put = (key, v, unit = "") => { if (v !== null && v !== "–" && v !== "") parts.push(el("span", {}, el("b", {}, say(key)), " ", el("bdi", {}, v + unit))); };
  const n = (name) => { const v = value(name, row); return v === null ? null : num(v); };
  put("request", "#" + value("seq", row));
  put("phase", value("phase", row));
  put("outcome", [value("outcome", row), n("status"), value("cause", row)].filter((x) => x !== null).join(" "));
  put("due", moment(value("due", row)), " s");
  put("slot_wait", n("slot_wait"), " ms");
  put("pacer_lag", n("pacer_lag"), " ms");
  put("released", moment(value("released", row)), " s");
  put("connect", n("connect"), " ms");
  put("ttft_ms", n("ttft_ms"), " ms");
  put("ttft_from_due_ms", n("ttft_from_due_ms"), " ms");
  put("tpot_ms", n("tpot_ms"), " ms");
  put("itl_max", n("itl_ms"), " ms");
  put("e2e_ms", n("e2e_ms"), " ms");
  put("input", n("input"));
  put("cached", n("cached"));
  put("output", n("output"));
  put("finish", value("finish", row));
  put("session", value("session", row));
  put("data_row", n("data_row"));
  put("flags", value("flags", row));
  put("message", value("message", row));
  host.replaceChildren(...parts);
}
