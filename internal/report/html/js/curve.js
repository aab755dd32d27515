// The page of a sweep: curves of its points, with intervals, fronts and knees.

const curveColors = ["blue", "orange", "green", "purple", "red", "sky", "yellow", "grey"];
const curveDashes = [null, [7, 4], [2, 3], [10, 3, 2, 3], [14, 5], [5, 2, 1, 2, 1, 2], [3, 6], [1, 4]];
const sweep = { c: null, quantile: "p95", log: false };
const names = { ttft_ms: "TTFT", tpot_ms: "TPOT", e2e_ms: "E2E", ttft_from_due_ms: "TTFT", e2e_from_due_ms: "E2E" };

const unitOf = (name) => (state.doc.units[name] === "share" ? "%" : state.doc.units[name] || "");

// valueOf is a value of a point as a chart has it: {v, lo, hi}, shares in percent.
function valueOf(p, name) {
  const v = p.values[name], by = state.doc.units[name] === "share" ? 100 : 1;
  if (!v || v.value === null) return null;
  const [lo, hi] = v.ci;
  return { v: v.value * by, lo: lo === null ? null : lo * by, hi: hi === null ? null : hi * by };
}

// axisOf is the place of a point on the axis of its curve.
function axisOf(g, p, k) {
  if (!g.numeric) return { v: k + 1, lo: null, hi: null };
  return { v: p.at[sweep.c.fields.indexOf(g.axis)], lo: null, hi: null };
}

// seriesOf are the points of each curve that have both values. x and y give the values
// of a point; front is a latency whose front is joined.
function seriesOf(x, y, front) {
  return sweep.c.curves.map((g, i) => {
    const points = [];
    let gap = false; // a point before it has no value: no line leads across
    g.points.forEach((k, n) => {
      const p = sweep.c.points[k], a = p.state === "measured" && x(g, p, n), b = a && y(g, p, n);
      if (!b) { gap = true; return; }
      points.push({ gap, x: a, y: b, label: p.label, fit: p.fit, knee: !!p.knee, front: !!front && !!p.front && p.front.includes(front) });
      gap = false;
    });
    return { at: g.at, color: curveColors[i % curveColors.length], dash: curveDashes[i % curveDashes.length], points, line: g.numeric };
  });
}

// drawCurve draws points with the bars of their intervals. o: series, xLog, xText, xUnit,
// least (y of 0 if absent), mark (a line at that height).
function drawCurve(c, w, h, o, ink) {
  let a = Infinity, b = -Infinity, lo = 0, hi = 0;
  for (const s of o.series) for (const p of s.points) {
    a = Math.min(a, p.x.lo ?? p.x.v); b = Math.max(b, p.x.hi ?? p.x.v);
    lo = Math.min(lo, p.y.v, p.y.lo ?? p.y.v); hi = Math.max(hi, p.y.hi ?? p.y.v, p.y.v);
  }
  if (o.mark !== undefined) hi = Math.max(hi, o.mark);
  if (a === Infinity) { a = 0; b = 1; hi = 1; }
  const pad = (b - a || Math.abs(b) || 1) * 0.06;
  const x = o.xLog && a > 0 ? [a / 1.15, b * 1.15] : [Math.max(a >= 0 ? 0 : -Infinity, a - pad), b + pad];
  const f = frame(c, w, h, { x, y: [lo < 0 ? lo - (hi - lo) * 0.08 : 0, hi + (hi - Math.min(lo, 0)) * 0.12 || 1], xLog: o.xLog && a > 0, xUnit: o.xUnit, xText: o.xText, top: 14 }, ink);
  inside(c, f.box, () => {
    for (const [at, dash] of [...(o.mark !== undefined ? [[o.mark, [6, 4]]] : []), ...(lo < 0 ? [[0, []]] : [])]) {
      c.strokeStyle = ink.grey;
      c.lineWidth = 1;
      c.setLineDash(dash);
      c.beginPath(); c.moveTo(f.box.x, f.y(at)); c.lineTo(f.box.x + f.box.w, f.y(at)); c.stroke();
      c.setLineDash([]);
    }
    for (const s of o.series) {
      c.strokeStyle = c.fillStyle = ink[s.color];
      c.lineWidth = 1.5;
      if (s.line) {
        c.setLineDash(s.dash || []);
        c.globalAlpha = o.front ? 0.45 : 1;
        c.beginPath();
        s.points.forEach((p, i) => (i && !p.gap ? c.lineTo(f.x(p.x.v), f.y(p.y.v)) : c.moveTo(f.x(p.x.v), f.y(p.y.v))));
        c.stroke();
        c.globalAlpha = 1;
        c.setLineDash([]);
      }
      if (o.front) {
        const on = s.points.filter((p) => p.front).sort((p, q) => p.x.v - q.x.v);
        c.strokeStyle = ink.text;
        c.setLineDash([2, 3]);
        c.beginPath();
        on.forEach((p, i) => (i ? c.lineTo(f.x(p.x.v), f.y(p.y.v)) : c.moveTo(f.x(p.x.v), f.y(p.y.v))));
        if (on.length > 1) c.stroke();
        c.setLineDash([]);
      }
      for (const p of s.points) {
        c.strokeStyle = ink[s.color];
        c.lineWidth = 1;
        const px = f.x(p.x.v), py = f.y(p.y.v);
        if (p.y.lo !== null) { c.beginPath(); c.moveTo(px, f.y(p.y.lo)); c.lineTo(px, f.y(p.y.hi)); c.stroke(); }
        if (p.x.lo !== null) { c.beginPath(); c.moveTo(f.x(p.x.lo), py); c.lineTo(f.x(p.x.hi), py); c.stroke(); }
        drawPoint(c, px, py, p, ink, s.color);
      }
    }
  });
  drawNames(c, f, o.series, ink);
  return f;
}

// drawPoint is a square, a diamond at the knee, hollow where the run is not fit for use.
function drawPoint(c, x, y, p, ink, color) {
  const r = p.knee ? 6 : 3.5;
  c.beginPath();
  if (p.knee) { c.moveTo(x, y - r); c.lineTo(x + r, y); c.lineTo(x, y + r); c.lineTo(x - r, y); c.closePath(); }
  else c.rect(x - r, y - r, 2 * r, 2 * r);
  c.fillStyle = p.fit ? ink[color] : ink.paper;
  c.fill();
  c.lineWidth = 1.5;
  c.stroke();
}

// drawNames writes the labels of points, where there is room for them.
function drawNames(c, f, series, ink) {
  const taken = [];
  c.font = chartFont;
  c.fillStyle = ink.faint;
  c.textBaseline = "alphabetic";
  for (const s of series) for (const p of s.points) {
    const w = c.measureText(p.label).width, x = f.x(p.x.v), y = f.y(p.y.v);
    for (const [dx, dy] of [[7, -6], [-7 - w, -6], [7, 14], [-7 - w, 14]]) {
      const box = [x + dx, y + dy - 10, x + dx + w, y + dy + 2];
      if (box[0] < f.box.x || box[2] > f.box.x + f.box.w || box[1] < 0 || box[3] > f.box.y + f.box.h) continue;
      if (taken.some((t) => box[0] < t[2] && box[2] > t[0] && box[1] < t[3] && box[3] > t[1])) continue;
      taken.push(box);
      c.textAlign = "left";
      c.fillText(p.label, x + dx, y + dy);
      break;
    }
  }
}

// leftOut says which points a chart lacks, and why, by the values it needs.
function leftOut(...names) {
  const why = new Map();
  for (const p of sweep.c.points) {
    if (p.state !== "measured") continue;
    const v = names.map((n) => p.values[n]).find((v) => !v || v.value === null);
    if (v === undefined && names.every((n) => p.values[n])) continue;
    const text = reasonOf(v?.why);
    why.set(text, [...(why.get(text) || []), p.label]);
  }
  return [...why].map(([text, list]) => `${list.slice(0, 8).join(", ")}${list.length > 8 ? ", …" : ""} (${text})`).join("; ");
}

const reasonOf = (why) => (why === "n too small" ? say("c.small") : why?.startsWith("unstable") ? say("c.unstable") : say("not_observed"));

// curveChart adds a chart. o: id, title(), series(), x and y {name, unit}, and what
// drawCurve takes; needs() are the values without which a point is not in it.
function curveChart(o) {
  const has = () => o.series().some((s) => s.points.length);
  addChart(find("#curve-charts"), {
    id: o.id, height: 240, title: o.id, get plain() { return o.title(); },
    draw: (c, w, h, ink) => drawCurve(c, w, h, { series: o.series(), front: o.front, mark: o.mark, ...(o.axis ? axisOptions() : { xUnit: o.x.unit }) }, ink),
    legend: () => (sweep.c.curves.length > 1 ? o.series().map((s) => ({ color: s.color, dash: s.dash, text: s.at })) : []),
    columns: () => {
      const rows = o.series().flatMap((s) => s.points.map((p) => ({ at: s.at, ...p })));
      const of = (name, get) => ({ name, values: rows.map(get) });
      return [...(sweep.c.curves.length > 1 ? [of(say("c.curve"), (r) => r.at)] : []), of("point", (r) => r.label), of(o.x.name, (r) => r.x.v), of(o.y.name, (r) => r.y.v), of(o.y.name + " low", (r) => r.y.lo), of(o.y.name + " high", (r) => r.y.hi),
        ...(o.front ? [of(say("c.front"), (r) => (r.front ? say("c.yes") : "–"))] : []), of(say("c.knee"), (r) => (r.knee ? say("c.yes") : "–"))];
    },
    label: () => say("chart.label", o.title(), o.series().flatMap((s) => s.points.map((p) => `${p.label}: ${num(p.y.v)} ${o.y.unit}`)).join("; ")),
  });
  const figure = find("#chart-" + o.id), title = find(".title", figure), note = el("p", { className: "hint" });
  find("canvas", figure).after(note);
  titles.push(() => {
    const some = has(), out = o.needs && (some || o.front) ? leftOut(...o.needs()) : "";
    title.textContent = o.title();
    figure.hidden = !some && !out;
    find("canvas", figure).hidden = !some;
    note.textContent = out && say(some ? "c.leftout" : "c.novalues", out);
    note.hidden = !out;
  });
  titles.at(-1)();
}
const titles = [];

// axisOptions are those of an axis of load.
function axisOptions() {
  const g = sweep.c.curves[0];
  if (!g.numeric) return { xText: (v) => (Number.isInteger(v) ? sweep.c.points[g.points[v - 1]]?.label || "" : "") };
  return { xLog: sweep.log, xUnit: g.axis };
}

function makeCurves() {
  const c = sweep.c, through = c.throughput, byValue = (name) => (g, p) => valueOf(p, name);
  const axis = { name: c.curves[0]?.axis || "point", unit: "" }, along = (name) => () => seriesOf(axisOf, byValue(name));
  const unit = { name: through, unit: unitOf(through) };
  curveChart({ id: "throughput", title: () => say("c.t.load", axis.name, unit.unit), series: along(through), x: axis, y: unit, axis: true });
  curveChart({ id: "per-user", title: () => say("c.t.user") + `, ${unit.unit}`, x: { name: "output_tokens_per_s_per_user", unit: "tokens/s" }, y: unit, series: () => seriesOf(byValue("output_tokens_per_s_per_user"), byValue(through)), needs: () => ["output_tokens_per_s_per_user", through] });
  for (const m of c.latencies) {
    const name = () => m + "." + sweep.quantile, key = m.replace("_ms", "").replaceAll("_", "-");
    curveChart({
      id: key + "-by-throughput", title: () => say("c.t.latency", say("m." + m), sweep.quantile) + ", ms", x: unit, y: { get name() { return name(); }, unit: "ms" }, front: true,
      series: () => seriesOf(byValue(through), byValue(name()), name()), needs: () => [through, name()],
    });
    curveChart({ id: key + "-by-load", title: () => say("c.t.bylabel", say("m." + m), sweep.quantile) + ", ms", x: axis, y: { get name() { return name(); }, unit: "ms" }, axis: true, series: () => along(name())(), needs: () => [name()] });
  }
  for (const [id, name] of [["cached", "cached_ratio"], ["queue", "server_queue"], ["slope", "backlog_slope_per_s"]]) {
    curveChart({ id, title: () => say("c.t." + id) + (unitOf(name) ? `, ${unitOf(name)}` : ""), x: axis, y: { name, unit: unitOf(name) }, axis: true, series: along(name) });
  }
  if (c.expected) makeExpected(axis);
  if (!c.points.some((p) => p.state === "measured")) find("#curve-charts").append(el("p", { className: "absent" }, word("c.nofigures")));
}

// makeExpected draws measured ÷ expected, a curve for each value.
function makeExpected(axis) {
  const metrics = [...new Set(sweep.c.expected.rows.map((r) => r.metric))];
  const place = (k) => { for (const g of sweep.c.curves) { const n = g.points.indexOf(k); if (n >= 0) return axisOf(g, sweep.c.points[k], n); } return null; };
  const series = () => metrics.map((m, i) => ({
    at: m, color: curveColors[i % curveColors.length], dash: curveDashes[i % curveDashes.length], line: true,
    points: sweep.c.expected.rows.filter((r) => r.metric === m && r.ratio !== null).map((r) => {
      const p = sweep.c.points[r.point], at = (v) => (v === null ? null : v / r.expected);
      return { x: place(r.point), y: { v: r.ratio, lo: at(r.ci[0]), hi: at(r.ci[1]) }, label: p.label, fit: p.fit, knee: false, front: false };
    }).filter((p) => p.x).sort((p, q) => p.x.v - q.x.v),
  }));
  curveChart({ id: "expected", title: () => say("c.t.expected"), x: axis, y: { name: "measured ÷ expected", unit: "" }, axis: true, mark: 1, series });
  const chart = charts.at(-1);
  chart.o.legend = () => series().map((s) => ({ color: s.color, dash: s.dash, text: s.at }));
  chart.relabel();
}

function curveSwitches() {
  const again = () => { titles.forEach((f) => f()); charts.forEach((c) => c.relabel()); };
  const pick = find("#pick"), buttons = findAll("[data-quantile]", pick);
  const choose = (q) => {
    sweep.quantile = q;
    for (const b of buttons) { const on = b.dataset.quantile === q; b.setAttribute("aria-checked", on); b.tabIndex = on ? 0 : -1; }
    again();
  };
  pick.addEventListener("click", (e) => { const b = e.target.closest("[data-quantile]"); if (b) choose(b.dataset.quantile); });
  pick.addEventListener("keydown", (e) => {
    const d = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    if (!d) return;
    e.preventDefault();
    const next = buttons[(buttons.findIndex((b) => b.dataset.quantile === sweep.quantile) + d + buttons.length) % buttons.length];
    choose(next.dataset.quantile);
    next.focus();
  });
  const log = find("#log-load");
  log.checked = sweep.log;
  log.addEventListener("change", () => { sweep.log = log.checked; again(); });
  find("#theme").addEventListener("click", () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; redrawAll(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  find("#lang").addEventListener("click", () => {
    state.lang = state.lang === "zh" ? "en" : "zh";
    const b = find("#lang");
    b.textContent = state.lang === "zh" ? "English" : "中文";
    b.lang = state.lang === "zh" ? "en" : "zh";
    relabel();
    for (const e of findAll("[data-zh]")) { e.textContent = e.dataset[state.lang]; e.lang = state.lang; }
    again();
  });
  find("#print").addEventListener("click", () => print());
  for (const [name, on] of [["beforeprint", true], ["afterprint", false]]) addEventListener(name, () => { state.printing = on; charts.forEach((c) => c.draw()); });
}

function startCurves() {
  document.documentElement.classList.add("js");
  const d = JSON.parse(find("#data").textContent);
  for (const [m, text] of Object.entries(names)) d.words["m." + m] ||= m.includes("from_due") ? [text + " from due", "自计划时刻的 " + text] : [text, text];
  sweep.c = d.curves;
  state.doc = { words: d.words, units: d.units, defs: {}, run: d.curves.name, col: {} };
  // A ladder of factors is shown by factors.
  const g = d.curves.curves[0], xs = g?.numeric ? g.points.map((k) => d.curves.points[k].at[d.curves.fields.indexOf(g.axis)]) : [];
  sweep.log = xs.length > 2 && xs[0] > 0 && xs.at(-1) / xs[0] >= 8;
  sweep.quantile = find("#pick [aria-checked=true]")?.dataset.quantile || sweep.quantile;
  makeCurves();
  curveSwitches();
  relabel();
  document.documentElement.dataset.ready = "";
}

startCurves();
