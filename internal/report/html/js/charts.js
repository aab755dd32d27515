// Charts on the page: a figure with title, legend, tools, canvas and the table behind.

const charts = [];
const pictureWidth = 960; // of the files that a chart is saved as

// addChart puts a figure into host. o: id, title (word or text), height, draw(c, w, h,
// ink, cursor), legend [{color, text, dash, value()}], columns(most) for the table and,
// all of them, the CSV, rows(i) the link from row i of the table, total() where there can be many, label() for those who cannot see it, time (it shares the time axis).
function addChart(host, o) {
  const canvas = el("canvas", { tabIndex: 0, role: "img" });
  const legend = el("div", { className: "legend" });
  const body = el("div", { className: "behind" });
  const button = (key, f) => el("button", { type: "button", on: { click: f } }, word(key));
  const title = () => o.plain || say(o.title);
  const toggle = button("table", () => { body.hidden = !body.hidden; toggle.setAttribute("aria-expanded", !body.hidden); if (!body.hidden) fillTable(body, o); });
  const picture = () => ({ title: title(), legend: o.legend ? o.legend() : [], draw: o.draw });
  body.hidden = true;
  toggle.setAttribute("aria-expanded", "false");
  const caption = el("figcaption", {},
    el("span", { className: "title" }, o.def ? definedWord(o.def, o.plain || word(o.title)) : o.plain || word(o.title)), o.note ? el("small", {}, word(o.note)) : null, legend,
    el("span", { className: "chart-tools" },
      ...(o.tools || []),
      toggle,
      button("csv", () => save(fileName(o.id + ".csv"), "text/csv", csv(o.columns()))),
      button("svg", () => {
        const p = picture(), pen = new Pen(pictureWidth, 0);
        pen.h = o.height + pictureHead(pen, pictureWidth, p).h;
        drawPicture(pen, pen.w, pen.h, p, palettes.light);
        save(fileName(o.id + ".svg"), "image/svg+xml", pen.svg(p.title, o.label ? o.label() : p.title, palettes.light.paper));
      }),
      button("png", () => {
        const p = picture(), big = el("canvas"), c = big.getContext("2d"), h = o.height + pictureHead(c, pictureWidth, p).h;
        Object.assign(big, { width: pictureWidth * 2, height: h * 2 });
        c.scale(2, 2);
        c.fillStyle = palettes.light.paper;
        c.fillRect(0, 0, pictureWidth, h);
        drawPicture(c, pictureWidth, h, p, palettes.light);
        big.toBlob((b) => save(fileName(o.id + ".png"), "image/png", b));
      })));
  const figure = el("figure", { id: "chart-" + o.id, className: o.className || "" }, caption, canvas, body);
  canvas.style.height = o.height + "px";
  host.append(figure);
  const c = canvas.getContext("2d");
  const chart = {
    o, canvas, figure, frame: null,
    seen: false, // what is off the screen is drawn when it comes into sight
    draw() {
      if (!chart.seen && !state.printing) { chart.stale = true; return; }
      chart.stale = false;
      const w = canvas.clientWidth, h = canvas.clientHeight, r = devicePixelRatio || 1;
      if (!w) return;
      if (canvas.width !== Math.round(w * r) || canvas.height !== Math.round(h * r)) { canvas.width = Math.round(w * r); canvas.height = Math.round(h * r); }
      c.setTransform(r, 0, 0, r, 0, 0);
      c.clearRect(0, 0, w, h);
      chart.frame = o.draw(c, w, h, inks(), o.time ? time.cursor : null);
      chart.legend();
    },
    legend() {
      const list = o.legend ? o.legend() : [];
      if (legend.childElementCount !== list.length) {
        legend.replaceChildren(...list.map((l) => el("span", { className: "key" }, el("i"), el("span"), el("b"))));
      }
      list.forEach((l, i) => {
        const [mark, text, val] = legend.children[i].children;
        drawKey(mark, l.dash === true ? [4, 3] : l.dash, inks()[l.color]);
        if (text.textContent !== l.text) text.textContent = l.text;
        const v = l.value ? l.value() : "";
        if (val.textContent !== v) val.textContent = v;
      });
    },
    relabel() { canvas.setAttribute("aria-label", o.label ? o.label() : title()); if (!body.hidden) fillTable(body, o); chart.legend(); chart.draw(); },
  };
  chart.later = soon(chart.draw);
  new ResizeObserver(chart.later).observe(canvas);
  new IntersectionObserver((list) => { chart.seen = list.at(-1).isIntersecting; if (chart.seen && chart.stale) chart.draw(); }, { rootMargin: "200px" }).observe(canvas);
  charts.push(chart);
  chart.relabel();
  return chart;
}

// drawKey makes a piece of a line for its legend, of boxes: gradients are not printed
// everywhere.
function drawKey(mark, pattern, ink) {
  const boxes = [], all = mark.clientWidth || 12;
  pattern ||= [all];
  for (let at = 0, k = 0; at < all; k++) {
    const width = Math.min(pattern[k % pattern.length], all - at), box = el("s");
    box.style.width = width + "px";
    if (k % 2 === 0) box.style.background = ink;
    boxes.push(box);
    at += width;
  }
  mark.replaceChildren(...boxes);
}

const redrawAll = () => charts.forEach((c) => c.later());

// fillTable shows the columns of a chart as a table, the first 200 rows of them. A
// chart of many rows makes no more than these.
const mostTableRows = 200;

// headText is the name of a column for people; CSV keeps the key.
function headText(name) {
  const w = state.doc.words || {}, m = /^(from|to)_(.+)$/.exec(name), q = /^ttft_(p\d+)_ms$/.exec(name);
  if (q) return `TTFT ${q[1]}, ms`;
  if (w["col." + name]) return say("col." + name);
  if (m && w["col." + m[1]]) return `${say("col." + m[1])}, ${w[m[2]] ? say(m[2]) : m[2]}`;
  return w[name] ? say(name) : name;
}

function fillTable(host, o) {
  const columns = o.columns(mostTableRows), held = columns.length ? columns[0].values.length : 0;
  const n = o.total ? o.total() : held, shown = Math.min(held, mostTableRows);
  const body = el("tbody");
  for (let i = 0; i < shown; i++) body.append(el("tr", {}, columns.map((c, k) => el(k ? "td" : "th", { className: "r", scope: k ? null : "row" }, leads(k === 0 && o.rows ? o.rows(i) : null, typeof c.values[i] === "string" ? c.values[i] : num(c.values[i]))))));
  host.replaceChildren(el("div", { className: "scroll low", tabIndex: 0 }, el("table", { className: "plain" }, el("thead", {}, el("tr", {}, columns.map((c) => el("th", { className: "r", scope: "col" }, headText(c.name))))), body)),
    n > shown ? el("p", { className: "more" }, say("table.more", num(n - shown))) : "");
}

// leads makes a text a way to rows, where there is a link.
const leads = (link, text) => (link && state.doc.rows && find("#row-table") ? el("button", { type: "button", className: "go", data: { go: typeof link === "string" ? link : JSON.stringify({ rows: link }) } }, text) : text);

// definedWord is a word with its definition on hover and focus.
function definedWord(name, text) {
  return el("button", { type: "button", className: "def", data: { def: name } }, text);
}
