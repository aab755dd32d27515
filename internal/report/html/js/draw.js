// Drawing. Nothing here knows a page: functions draw on whatever has the methods of a
// canvas that they call, so that a canvas, an SVG file and a program without a browser
// draw the same.

const palettes = {
  light: {
    text: "#24292f", faint: "#5b6470", grid: "#e3e6ea", axis: "#9aa3ad", paper: "#ffffff", band: "rgba(0,114,178,.08)", edge: "rgba(0,114,178,.45)",
    blue: "#2763a3", orange: "#b15f1f", green: "#1e8160", purple: "#8f4873", sky: "#2f99db", yellow: "#b38d37", grey: "#7b7b85", red: "#a13832", brown: "#79501f", black: "#24292f",
  },
  dark: {
    text: "#e6e9ec", faint: "#a3abb5", grid: "#2a3038", axis: "#66707c", paper: "#14181d", band: "rgba(86,180,233,.12)", edge: "rgba(86,180,233,.55)",
    blue: "#54b8fb", orange: "#f88e3e", green: "#4bb183", purple: "#d289bf", sky: "#a5dbf1", yellow: "#f0d169", grey: "#9c9a9a", red: "#ee5b61", brown: "#cda681", black: "#e6e9ec",
  },
};
const chartFont = "11px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif";

// fixed is toFixed with halves to even, as the text views round.
function fixed(x, d) {
  const twice = Math.abs(x) * 2 ** (d + 1); // of a half this is an odd integer, exactly
  if (twice % 2 !== 1 || twice > 2 ** 52) return x.toFixed(d);
  const whole = Math.floor(Math.abs(x) * 10 ** d);
  return (Math.sign(x) * (whole + (whole % 2)) / 10 ** d).toFixed(d);
}

function group(s) {
  const [, sign, digits] = /^(-?)(\d+)$/.exec(s);
  return sign + digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

// num rounds for the eye, as the text views do; a dash for what is not there.
function num(f) {
  if (f === null || f === undefined || !Number.isFinite(f)) return "–";
  const a = Math.abs(f);
  if ((f === Math.trunc(f) && a < 1e15) || a >= 999.95) return a < 1e21 ? group(fixed(f, 0)) : f.toPrecision(3);
  if (a >= 99.995) return fixed(f, 1);
  if (a >= 9.9995) return fixed(f, 2);
  if (a >= 0.1) return fixed(f, 3);
  if (a >= 0.001) return fixed(f, 4);
  if (a >= 1e-4) return String(+f.toPrecision(2));
  return f.toExponential(1).replace(".0e", "e").replace(/e-(\d)$/, "e-0$1");
}

// moment is a time in seconds, to the microsecond near 0, and never with an exponent.
const moment = (t) => (t !== null && Math.abs(t) < 0.1 ? String(+t.toFixed(6)) : num(t));

// tick writes a number of an axis, all of a kind: 1.2k, 35M.
function tick(v) {
  const a = Math.abs(v);
  for (const [n, s] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) if (a >= n) return String(+(v / (s === "k" ? 1e3 : n)).toPrecision(4)) + s;
  return a >= 1e3 ? group(String(Math.round(v))) : String(+v.toPrecision(4));
}

// ticks are round numbers between lo and hi.
function ticks(lo, hi, most) {
  if (!(hi > lo)) return [lo];
  const raw = (hi - lo) / Math.max(1, most), unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((k) => k * unit >= raw * 0.999) * unit;
  const out = [];
  for (let i = Math.ceil(lo / step - 1e-9); i * step <= hi + step * 1e-9 && out.length < 100; i++) out.push(+(i * step).toPrecision(12));
  return out;
}

// logTicks are 1, 2 and 5 times powers of ten, or powers alone where these are many.
function logTicks(lo, hi, most) {
  const from = Math.floor(Math.log10(lo)), to = Math.ceil(Math.log10(hi));
  const every = to - from > 6 ? Math.ceil((to - from) / Math.max(2, most)) : 1;
  const out = [];
  for (let e = from; e <= to; e += every) for (const k of to - from > 3 ? [1] : [1, 2, 5]) {
    const v = +(k * 10 ** e).toPrecision(12);
    if (v >= lo * 0.999 && v <= hi * 1.001) out.push(v);
  }
  return out.length > 1 ? out : [lo, hi];
}

// scale maps [lo, hi] to [a, b].
function scale(lo, hi, a, b, log) {
  if (log) {
    lo = Math.max(lo, 1e-12);
    if (!(hi > lo)) hi = lo * 10;
    const l = Math.log(lo), k = (b - a) / (Math.log(hi) - l);
    const f = (v) => a + (Math.log(Math.max(v, lo)) - l) * k;
    f.back = (x) => Math.exp(l + (x - a) / k);
    return Object.assign(f, { lo, hi, log });
  }
  if (!(hi > lo)) hi = lo + 1;
  const k = (b - a) / (hi - lo);
  const f = (v) => a + (v - lo) * k;
  f.back = (x) => lo + (x - a) / k;
  return Object.assign(f, { lo, hi });
}

// Pen has the part of a canvas's methods that drawings use, and makes SVG.
class Pen {
  constructor(w, h) {
    Object.assign(this, { w, h, out: [], d: "", stack: [], fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, globalAlpha: 1, font: chartFont, textAlign: "left", textBaseline: "alphabetic", dash: "", clips: 0, open: 0 });
  }
  static n(x) { return String(+x.toFixed(2)); }
  // esc makes a text fit for XML, which has no place for some characters.
  static esc(s) {
    return [...String(s)].map((c) => (/^[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]$/.test(c) ? "\ufffd" : { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }[c] || c)).join("");
  }
  // paint writes a colour; not every reader of SVG knows rgba().
  static paint(name, color) {
    const m = /^rgba\((\d+,\d+,\d+),([.\d]+)\)$/.exec(color);
    return m ? `${name}="rgb(${m[1]})" ${name}-opacity="${m[2]}"` : `${name}="${color}"`;
  }
  save() { this.stack.push([this.fillStyle, this.strokeStyle, this.lineWidth, this.globalAlpha, this.font, this.textAlign, this.textBaseline, this.dash, this.open]); }
  restore() {
    const s = this.stack.pop();
    while (this.open > s[8]) { this.out.push("</g>"); this.open--; }
    [this.fillStyle, this.strokeStyle, this.lineWidth, this.globalAlpha, this.font, this.textAlign, this.textBaseline, this.dash] = s;
  }
  beginPath() { this.d = ""; }
  moveTo(x, y) { this.d += `M${Pen.n(x)} ${Pen.n(y)}`; }
  lineTo(x, y) { this.d += `L${Pen.n(x)} ${Pen.n(y)}`; }
  closePath() { this.d += "Z"; }
  rect(x, y, w, h) { this.d += `M${Pen.n(x)} ${Pen.n(y)}h${Pen.n(w)}v${Pen.n(h)}h${Pen.n(-w)}Z`; }
  clip() {
    this.clips++;
    this.out.push(`<clipPath id="c${this.clips}"><path d="${this.d}"/></clipPath><g clip-path="url(#c${this.clips})">`);
    this.open++;
  }
  translate(x, y) {
    this.out.push(`<g transform="translate(${Pen.n(x)} ${Pen.n(y)})">`);
    this.open++;
  }
  setLineDash(a) { this.dash = a.join(" "); }
  alpha() { return this.globalAlpha < 1 ? ` opacity="${Pen.n(this.globalAlpha)}"` : ""; }
  stroke() { this.out.push(`<path d="${this.d}" fill="none" ${Pen.paint("stroke", this.strokeStyle)} stroke-width="${Pen.n(this.lineWidth)}"${this.dash ? ` stroke-dasharray="${this.dash}"` : ""}${this.alpha()}/>`); }
  fill() { this.out.push(`<path d="${this.d}" ${Pen.paint("fill", this.fillStyle)}${this.alpha()}/>`); }
  fillRect(x, y, w, h) { this.out.push(`<rect x="${Pen.n(x)}" y="${Pen.n(y)}" width="${Pen.n(w)}" height="${Pen.n(h)}" ${Pen.paint("fill", this.fillStyle)}${this.alpha()}/>`); }
  fillText(s, x, y) {
    const anchor = { left: "start", right: "end", center: "middle" }[this.textAlign];
    const dy = { middle: "0.35em", top: "0.8em", alphabetic: "0" }[this.textBaseline];
    this.out.push(`<text x="${Pen.n(x)}" y="${Pen.n(y)}" dy="${dy}" text-anchor="${anchor}" ${Pen.paint("fill", this.fillStyle)}${this.font.startsWith("bold") ? ' font-weight="bold"' : ""}${this.alpha()}>${Pen.esc(s)}</text>`);
  }
  measureText(s) {
    let width = 0;
    for (const c of String(s)) width += c.codePointAt(0) < 0x2e80 ? 6.2 : 11;
    return { width };
  }
  // svg is the file; about says what it shows to those who cannot see it.
  svg(title, about, paper) {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.w}" height="${this.h}" viewBox="0 0 ${this.w} ${this.h}" font-family="system-ui, sans-serif" font-size="11" role="img"><title>${Pen.esc(title)}</title><desc>${Pen.esc(about)}</desc><rect width="100%" height="100%" fill="${paper}"/>${this.out.join("")}</svg>\n`;
  }
}

// A picture is a chart that stands alone: with its title and its legend above it.
// o: title, legend [{color, text, dash}], draw(c, w, h, ink, cursor).

// pictureHead places title and legend over a picture w wide.
function pictureHead(c, w, o) {
  const short = (s) => { const cs = [...s]; return cs.length > 90 ? cs.slice(0, 89).join("") + "…" : s; };
  const keys = [];
  let x = 12, y = 36;
  c.font = chartFont;
  for (const l of o.legend) {
    const text = short(l.text), wide = 17 + c.measureText(text).width;
    if (x > 12 && x + wide > w - 12) { x = 12; y += 16; }
    keys.push({ ...l, text, x, y });
    x += wide + 16;
  }
  return { title: short(o.title), keys, h: keys.length ? y + 10 : 26 };
}

function drawPicture(c, w, h, o, ink) {
  const head = pictureHead(c, w, o);
  c.textAlign = "left"; c.textBaseline = "alphabetic";
  c.font = "bold " + chartFont;
  c.fillStyle = ink.text;
  c.fillText(head.title, 12, 18);
  c.font = chartFont;
  for (const k of head.keys) {
    c.fillStyle = ink[k.color];
    for (const [at, wide] of k.dash ? [[0, 5], [7, 5]] : [[0, 12]]) c.fillRect(k.x + at, k.y - 6, wide, 4);
    c.fillStyle = ink.faint;
    c.fillText(k.text, k.x + 17, k.y);
  }
  c.save();
  c.translate(0, head.h);
  o.draw(c, w, h - head.h, ink, null);
  c.restore();
}

// frame draws axes and grid and gives the scales of the inner box.
function frame(c, w, h, o, ink) {
  c.font = chartFont;
  // A unit stands at the end of the axis and no number on it; a long one below the numbers.
  const unit = o.axis !== false && o.xUnit ? c.measureText(o.xUnit).width : 0, below = unit > 44;
  const m = { l: 58, r: 14, t: o.top ?? 8, b: o.axis === false ? 6 : below ? 36 : 22 };
  const box = { x: m.l, y: m.t, w: Math.max(10, w - m.l - m.r), h: Math.max(10, h - m.t - m.b) };
  const x = scale(o.x[0], o.x[1], box.x, box.x + box.w, o.xLog);
  const y = scale(o.y[0], o.y[1], box.y + box.h, box.y, o.yLog);
  c.lineWidth = 1;
  c.textBaseline = "middle";
  c.textAlign = "right";
  for (const v of o.noY ? [] : o.yLog && y.hi > 8 * y.lo ? logTicks(y.lo, y.hi, box.h / 30) : ticks(y.lo, y.hi, Math.max(3, box.h / 32))) {
    const at = Math.round(y(v)) + 0.5;
    c.strokeStyle = ink.grid;
    c.beginPath(); c.moveTo(box.x, at); c.lineTo(box.x + box.w, at); c.stroke();
    c.fillStyle = ink.faint;
    c.fillText((o.yText || tick)(v), box.x - 6, at);
  }
  c.strokeStyle = ink.axis;
  c.beginPath(); c.moveTo(box.x, box.y + box.h + 0.5); c.lineTo(box.x + box.w, box.y + box.h + 0.5); c.stroke();
  if (o.axis !== false) {
    c.textAlign = "center";
    c.textBaseline = "top";
    c.fillStyle = ink.faint;
    let last = -1e9;
    const end = unit && !below ? w - unit - 8 : w;
    const list = o.xLog && x.hi > 8 * x.lo ? logTicks(x.lo, x.hi, box.w / 60) : ticks(x.lo, x.hi, box.w / 80);
    for (const v of list) {
      const at = x(v), text = (o.xText || tick)(v), half = c.measureText(text).width / 2;
      c.beginPath(); c.moveTo(Math.round(at) + 0.5, box.y + box.h); c.lineTo(Math.round(at) + 0.5, box.y + box.h + 4); c.stroke();
      if (at - half < last + 8 || at + half > end) continue;
      c.fillText(text, at, box.y + box.h + 7);
      last = at + half;
    }
    if (unit) { c.textAlign = "right"; c.fillText(o.xUnit, w - 2, box.y + box.h + (below ? 21 : 7)); }
  }
  return { box, x, y };
}

function inside(c, box, draw) {
  c.save();
  c.beginPath();
  c.rect(box.x, box.y - 1, box.w, box.h + 2);
  c.clip();
  draw();
  c.restore();
}

// bands shade the chosen window and mark its ends.
function bands(c, f, spans, ink) {
  for (const s of spans) {
    const a = f.x(Math.max(s[0], f.x.lo)), b = f.x(Math.min(s[1], f.x.hi));
    if (b < a) continue;
    c.fillStyle = ink.band;
    c.fillRect(a, f.box.y, b - a, f.box.h);
    c.strokeStyle = ink.edge;
    c.setLineDash([3, 3]);
    for (const t of s) if (t >= f.x.lo && t <= f.x.hi) { c.beginPath(); c.moveTo(f.x(t), f.box.y); c.lineTo(f.x(t), f.box.y + f.box.h); c.stroke(); }
    c.setLineDash([]);
  }
}

// bucketEdge is where bucket i of a grid begins, and bucket i - 1 ends.
const bucketEdge = (g, i) => (i <= 0 ? g.start : i >= g.n ? g.to : g.from + i * g.step);

// bucketAt is the bucket that holds a time of the grid.
const bucketAt = (g, t) => Math.min(Math.max(Math.floor((t - g.from) / g.step), 0), g.n - 1);

// visible are the buckets of a grid that a view shows.
function visible(g, view) {
  return [bucketAt(g, view[0]), Math.min(Math.max(Math.ceil((view[1] - g.from) / g.step), 1), g.n)];
}

// extent is the greatest value of the series in view, and the least above 0.
function extent(series, view) {
  let hi = 0, lo = Infinity;
  for (const s of series) {
    const see = (v) => { if (v !== null && Number.isFinite(v)) { if (v > hi) hi = v; if (v > 0 && v < lo) lo = v; } };
    if (s.points) { for (let i = 0; i < s.points.t.length; i++) if (s.points.t[i] >= view[0] && s.points.t[i] <= view[1]) see(s.points.v[i]); continue; }
    const [a, b] = s.grid ? visible(s.grid, view) : [0, s.values.length];
    for (let i = a; i < b; i++) see(s.values[i]);
  }
  return [lo === Infinity ? 1 : lo, hi];
}

// drawTime draws series over time. o: series {grid {from, step, n, start, to}, values, color,
// kind step|area, dash} or {points {t, v}, color, kind dots|line}, view, spans,
// log, axis, cursor, dots.
function drawTime(c, w, h, o, ink) {
  const [lo, hi] = extent(o.series.concat((o.lines || []).map((l) => ({ points: { t: [o.view[0]], v: [l.v] } }))), o.view);
  const f = frame(c, w, h, { x: o.view, y: o.log ? [lo * 0.9, Math.max(hi * 1.1, lo * 2)] : [0, hi > 0 ? hi * 1.08 : 1], yLog: o.log, axis: o.axis, xUnit: "s" }, ink);
  bands(c, f, o.spans || [], ink);
  inside(c, f.box, () => {
    for (const s of o.series) {
      c.strokeStyle = c.fillStyle = ink[s.color];
      c.lineWidth = s.width || 1.5;
      c.setLineDash(s.dash || []);
      if (s.kind === "dots") drawDots(c, f, s.points, o.view, s.alpha ?? 0.35);
      else if (s.points) drawPoints(c, f, s.points, o.view);
      else drawBuckets(c, f, s, o.view);
      c.setLineDash([]);
      c.globalAlpha = 1;
    }
    for (const l of o.lines || []) {
      c.strokeStyle = ink[l.color || "grey"];
      c.lineWidth = 1;
      c.setLineDash([6, 4]);
      c.beginPath(); c.moveTo(f.box.x, f.y(l.v)); c.lineTo(f.box.x + f.box.w, f.y(l.v)); c.stroke();
      c.setLineDash([]);
      c.fillStyle = ink.faint; c.textAlign = "right"; c.textBaseline = "alphabetic";
      c.fillText(l.text, f.box.x + f.box.w - 4, f.y(l.v) + (f.y(l.v) - f.box.y < 14 ? 12 : -3));
    }
    if (o.cursor !== null && o.cursor !== undefined && o.cursor >= o.view[0] && o.cursor <= o.view[1]) {
      c.strokeStyle = ink.text;
      c.lineWidth = 1;
      c.globalAlpha = 0.6;
      c.beginPath(); c.moveTo(Math.round(f.x(o.cursor)) + 0.5, f.box.y); c.lineTo(Math.round(f.x(o.cursor)) + 0.5, f.box.y + f.box.h); c.stroke();
      c.globalAlpha = 1;
    }
  });
  return f;
}

function drawBuckets(c, f, s, view) {
  const g = s.grid, [a, b] = visible(g, view);
  const edge = (i) => f.x(Math.min(Math.max(bucketEdge(g, i), view[0] - g.step), view[1] + g.step));
  if (s.kind === "area") {
    c.globalAlpha = 0.18;
    c.beginPath();
    c.moveTo(edge(a), f.y(0));
    for (let i = a; i < b; i++) { const y = f.y(s.values[i] ?? 0); c.lineTo(edge(i), y); c.lineTo(edge(i + 1), y); }
    c.lineTo(edge(b), f.y(0));
    c.closePath();
    c.fill();
    c.globalAlpha = 1;
  }
  c.beginPath();
  let on = false;
  for (let i = a; i < b; i++) {
    if (s.values[i] === null || s.values[i] === undefined) { on = false; continue; }
    const y = f.y(s.values[i]);
    if (on) c.lineTo(edge(i), y); else c.moveTo(edge(i), y);
    c.lineTo(edge(i + 1), y);
    on = true;
  }
  c.stroke();
}

function drawPoints(c, f, p, view) {
  c.beginPath();
  let on = false;
  for (let i = 0; i < p.t.length; i++) {
    if (p.v[i] === null || p.v[i] === undefined) { on = false; continue; }
    if (i + 1 < p.t.length && p.t[i + 1] < view[0] || i > 0 && p.t[i - 1] > view[1]) continue;
    const x = f.x(p.t[i]), y = f.y(p.v[i]);
    if (on) c.lineTo(x, y); else c.moveTo(x, y);
    on = true;
  }
  c.stroke();
  if (p.t.length === 1 && p.v[0] !== null) c.fillRect(f.x(p.t[0]) - 2, f.y(p.v[0]) - 2, 4, 4);
}

// drawDots draws a cloud: single dots, or where these are many cells of it, the
// fuller the darker.
function drawDots(c, f, p, view, alpha) {
  const n = p.t.length;
  if (n <= 3000) {
    const half = n <= 20 ? 2.5 : 1.5; // a few are seen alone
    c.globalAlpha = n <= 20 ? 1 : alpha;
    for (let i = 0; i < n; i++) if (p.t[i] >= view[0] && p.t[i] <= view[1] && Number.isFinite(p.v[i])) {
      const x = f.x(p.t[i]), at = n <= 20 ? Math.max(x, f.box.x + half) : x; // the first is sent at 0
      c.fillRect(at - half, f.y(p.v[i]) - half, 2 * half, 2 * half);
    }
    c.globalAlpha = 1;
    return;
  }
  const cell = 2, W = Math.ceil(f.box.w / cell) + 1, H = Math.ceil(f.box.h / cell) + 1, cells = new Uint32Array(W * H);
  for (let i = 0; i < n; i++) {
    const t = p.t[i], v = p.v[i];
    if (!(t >= view[0] && t <= view[1]) || !Number.isFinite(v)) continue;
    const x = (f.x(t) - f.box.x) / cell | 0, y = (f.y(v) - f.box.y) / cell | 0;
    if (x >= 0 && x < W && y >= 0 && y < H) cells[y * W + x]++;
  }
  for (let y = 0; y < H; y++) for (let x = 0; x < W; x++) {
    const k = cells[y * W + x];
    if (!k) continue;
    c.globalAlpha = Math.min(1, 0.25 + 0.15 * Math.log2(k));
    c.fillRect(f.box.x + x * cell, f.box.y + y * cell, cell, cell);
  }
  c.globalAlpha = 1;
}

// drawHistogram draws the bars of one distribution, and the marks of its statistics.
// o: bins {from, step, counts}, log, marks [{v, text}], unit, color.
function drawHistogram(c, w, h, o, ink) {
  const b = o.bins, n = b.counts.length;
  const edge = o.log ? (i) => b.from * b.step ** i : (i) => b.from + i * b.step;
  const top = Math.max(1, ...b.counts);
  const ends = around(edge(0), edge(n)), one = ends[0] < edge(0); // all have one value
  const f = frame(c, w, h, { x: ends, y: [0, top * 1.12], xLog: o.log, xUnit: o.unit, top: 14 }, ink);
  inside(c, f.box, () => {
    c.fillStyle = ink[o.color];
    for (let i = 0; i < n; i++) if (b.counts[i]) {
      const x0 = f.x(edge(i)), x1 = f.x(edge(i + 1)), y = Math.min(f.y(b.counts[i]), f.y(0) - 1);
      if (one) c.fillRect(x0 - 4, y, 8, f.y(0) - y);
      else c.fillRect(x0 + 0.5, y, Math.max(1, x1 - x0 - 1), f.y(0) - y);
    }
  });
  drawMarks(c, f, o.marks || [], ink);
  return f;
}

// around is a range with room on both sides where its ends are all but the same.
const around = (lo, hi) => (hi > 0 && hi - lo < hi * 0.001 ? [lo * 0.9, hi * 1.1] : [lo, hi]);

function drawMarks(c, f, marks, ink) {
  let last = -1e9;
  c.font = chartFont;
  for (const m of marks) {
    if (m.v === null || m.v < f.x.lo || m.v > f.x.hi) continue;
    const x = Math.round(f.x(m.v)) + 0.5;
    c.strokeStyle = ink.text;
    c.lineWidth = 1;
    c.setLineDash([2, 3]);
    c.beginPath(); c.moveTo(x, f.box.y); c.lineTo(x, f.box.y + f.box.h); c.stroke();
    c.setLineDash([]);
    const half = c.measureText(m.text).width / 2;
    if (x - half < last + 4) continue;
    c.fillStyle = ink.faint; c.textAlign = "center"; c.textBaseline = "alphabetic";
    c.fillText(m.text, x, f.box.y - 3);
    last = x + half;
  }
}

// drawCDF draws cumulative shares. o: curves [{cdf [{q, v}], color, dash}], log, unit.
function drawCDF(c, w, h, o, ink) {
  let lo = Infinity, hi = 0;
  for (const k of o.curves) for (const p of k.cdf) { if (p.v > 0 || !o.log) lo = Math.min(lo, p.v); hi = Math.max(hi, p.v); }
  if (lo === Infinity) lo = o.log ? 1e-3 : 0;
  if (o.log) lo = Math.max(lo, hi / 1e6);
  const f = frame(c, w, h, { x: hi > 0 ? around(lo, hi) : [lo, lo + 1], y: [0, 1], xLog: o.log, xUnit: o.unit, yText: (v) => Math.round(v * 100) + " %", top: 14 }, ink);
  inside(c, f.box, () => {
    for (const k of o.curves) {
      c.strokeStyle = ink[k.color];
      c.lineWidth = k.width || 1.75;
      c.setLineDash(k.dash || []);
      c.beginPath();
      k.cdf.forEach((p, i) => (i ? c.lineTo(f.x(p.v), f.y(p.q)) : c.moveTo(f.x(p.v), f.y(p.q))));
      c.stroke();
      c.setLineDash([]);
    }
  });
  drawMarks(c, f, o.marks || [], ink);
  return f;
}

// drawCloud draws one value of requests against another. o: x, y (arrays), xLog,
// yLog, xUnit, color.
function drawCloud(c, w, h, o, ink) {
  let a = Infinity, b = -Infinity, lo = Infinity, hi = -Infinity;
  for (let i = 0; i < o.x.length; i++) {
    const x = o.x[i], y = o.y[i];
    if (!Number.isFinite(x) || !Number.isFinite(y) || o.xLog && x <= 0 || o.yLog && y <= 0) continue;
    if (x < a) a = x; if (x > b) b = x; if (y < lo) lo = y; if (y > hi) hi = y;
  }
  if (a === Infinity) { a = 1; b = 10; lo = 1; hi = 10; }
  const wide = (p, q, log) => (log ? [p / 1.15, q * 1.15] : [p - (q - p || Math.abs(p) || 1) * 0.04, q + (q - p || Math.abs(p) || 1) * 0.04]);
  const x = wide(a, b, o.xLog);
  if (a >= 0 && !o.xLog) x[0] = Math.max(0, x[0]); // nothing has tokens below 0
  const f = frame(c, w, h, { x, y: o.yLog ? wide(lo, hi, true) : [0, hi * 1.08 || 1], xLog: o.xLog, yLog: o.yLog, xUnit: o.xUnit }, ink);
  inside(c, f.box, () => {
    c.fillStyle = ink[o.color];
    drawDots(c, f, { t: o.x, v: o.y }, [f.x.lo, f.x.hi], 0.5);
  });
  return f;
}

// drawRuler draws the windows as bars over the time axis. o: view, windows [{kind,
// spans, chosen}].
function drawRuler(c, w, h, o, ink) {
  const box = { x: 58, w: Math.max(10, w - 72) }, x = scale(o.view[0], o.view[1], box.x, box.x + box.w);
  const each = h / Math.max(1, o.windows.length);
  c.font = chartFont;
  o.windows.forEach((win, i) => {
    const y = i * each + 2;
    for (const s of win.spans) {
      const a = Math.max(box.x, x(s[0])), b = Math.min(box.x + box.w, x(s[1]));
      if (b <= a) continue;
      c.fillStyle = ink.blue;
      c.globalAlpha = win.chosen ? 0.85 : 0.28;
      c.fillRect(a, y, b - a, each - 4);
      c.globalAlpha = 1;
    }
    c.fillStyle = win.chosen ? ink.text : ink.faint;
    c.textAlign = "right"; c.textBaseline = "middle";
    const cs = [...win.kind].slice(0, 60);
    let name = win.kind;
    while (cs.length > 4 && c.measureText(name).width > 52) { cs.pop(); name = cs.join("") + "…"; }
    c.fillText(name, box.x - 6, y + each / 2 - 2);
  });
}
