// The rows: every request, sorted and filtered, a page at a time.

const rowList = { sort: "seq", down: false, window: "", outcome: "", where: null, order: null, page: 0, size: 25, marked: -1, shown: false };

// rowFields are the columns of the table. metric names of windows map to them.
const rowFields = ["seq", "phase", "outcome", "due", "slot_wait", "pacer_lag", "released", "ttft_ms", "ttft_from_due_ms", "tpot_ms", "itl_ms", "e2e_ms", "input", "cached", "output", "finish", "message"];
const metricField = { input_tokens: "input", output_tokens: "output", cached_tokens: "cached", slot_wait_ms: "slot_wait", pacer_lag_ms: "pacer_lag" };
const fieldTitle = { seq: "#", itl_ms: "itl_max", ttft_ms: "TTFT ms", tpot_ms: "TPOT ms", e2e_ms: "E2E ms" };
const csvFields = ["seq", "phase", "outcome", "status", "cause", "due", "released", "slot_wait", "pacer_lag", "connect", "ttft_ms", "ttft_from_due_ms", "tpot_ms", "itl_ms", "e2e_ms", "e2e_from_due_ms", "stream_end_ms", "input", "cached", "cached_source", "output", "asked", "finish", "attempts", "session", "turn", "data_row", "flags", "message"];
const csvNames = { due: "due_s", released: "released_s", slot_wait: "slot_wait_ms", pacer_lag: "pacer_lag_ms", connect: "connect_ms", itl_ms: "itl_max_ms", input: "input_tokens", cached: "cached_tokens", output: "output_tokens", asked: "asked_tokens", data_row: "dataset_row" };

const rowColumns = (order) => csvFields.filter((f) => state.doc.col[f]).map((f) => ({ name: csvNames[f] || f, values: order.map((i) => value(f, i)) }));

function ordered() {
  if (rowList.order) return rowList.order;
  const n = state.doc.rows, bit = 2 ** state.doc.windows.indexOf(rowList.window), in_ = column("windows"), out = column("outcome"), words = state.doc.col.outcome?.words || [];
  const want = words.indexOf(rowList.outcome), list = [], where = rowFilter(rowList.where);
  for (let i = 0; i < n; i++) {
    if (rowList.window && !(in_ && Math.floor(in_[i] / bit) % 2)) continue;
    if (rowList.outcome === "!ok" ? words[out[i]] === "ok" : rowList.outcome && out[i] !== want) continue;
    if (!where(i)) continue;
    list.push(i);
  }
  const c = column(rowList.sort), s = rowList.down ? -1 : 1, w = state.doc.col[rowList.sort]?.words;
  const order = Uint32Array.from(list);
  if (c && !(rowList.sort === "seq" && !rowList.down)) order.sort((a, b) => {
    const x = c[a], y = c[b];
    if (x !== x || y !== y) return x === y ? a - b : x !== x ? (y !== y ? a - b : 1) : -1;
    return (w ? (w[x] < w[y] ? -s : w[x] > w[y] ? s : 0) : (x - y) * s) || a - b;
  });
  return (rowList.order = order);
}

function makeRows() {
  const tools = find("#row-tools");
  if (!tools) return;
  if (!state.doc.rows) { tools.append(el("p", { className: "absent" }, word("no_rows"))); return; }
  const pick = (key, options, set) => el("label", {}, word(key), " ", el("select", { id: "rows-" + key, on: { change: (e) => { set(e.target.value); rowList.order = null; rowList.page = 0; rowList.marked = -1; showRows(); } } }, options.map(([v, t]) => el("option", { value: v }, t))));
  tools.append(
    pick("window", [["", "*"], ...state.doc.windows.filter((k) => windowsOf(k).length).map((k) => [k, k])], (v) => (rowList.window = v)),
    pick("outcome", [["", "*"], ["!ok", "≠ ok"], ...(state.doc.col.outcome?.words || []).map((w) => [w, w])], (v) => (rowList.outcome = v)),
    el("button", { type: "button", on: { click: () => turn(-1) } }, "‹ ", word("page.back")), el("output", { id: "row-page" }), el("button", { type: "button", on: { click: () => turn(1) } }, word("page.next"), " ›"),
    el("button", { type: "button", on: { click: () => save(fileName("requests.csv"), "text/csv", csv(rowColumns(Array.from(ordered())))) } }, word("csv")));
  tools.append(el("span", { id: "row-where" }));
  const left = state.doc.left_out.messages;
  if (left) tools.append(el("span", { className: "hint" }, say("messages.left", num(left))));
  new IntersectionObserver((list, o) => { if (list.at(-1).isIntersecting) { o.disconnect(); if (!rowList.shown) showRows(); /* else the focus is in it by now */ } }, { rootMargin: "400px" }).observe(find("#row-table"));
}

function turn(d) {
  const pages = Math.max(1, Math.ceil(ordered().length / rowList.size));
  rowList.page = Math.min(Math.max(0, rowList.page + d), pages - 1);
  showRows();
}

function showRows() {
  const order = ordered(), from = rowList.page * rowList.size, fields = rowFields.concat(rowFields.includes(rowList.sort) ? [] : rowList.sort).filter((f) => state.doc.col[f]);
  const head = el("tr", {}, fields.map((f) => el("th", { scope: "col", className: numeric(f) ? "r" : "", "aria-sort": rowList.sort === f ? (rowList.down ? "descending" : "ascending") : "none" },
    el("button", { type: "button", className: "sort", on: { click: () => { rowList.down = rowList.sort === f ? !rowList.down : false; rowList.sort = f; rowList.order = null; rowList.page = 0; showRows(); } } }, titleOf(f), rowList.sort === f ? (rowList.down ? " ↓" : " ↑") : ""))));
  const body = el("tbody", {}, Array.from(order.subarray(from, from + rowList.size), (i) => {
    const tr = el("tr", { className: [i === rowList.marked ? "marked" : "", value("outcome", i) === "ok" ? "" : "bad"].join(" "), data: { row: i } }, fields.map((f) => {
      const v = value(f, i);
      if (f === "seq") return el("td", { className: "r" }, el("button", { type: "button", className: "go", on: { click: () => { rowList.marked = i; showRow(i); } } }, num(v)));
      return el("td", { className: numeric(f) ? "r" : f === "message" ? "text" : "" }, v === null ? (numeric(f) ? "–" : "") : f === "due" || f === "released" ? moment(v) : numeric(f) ? num(v) : el("bdi", {}, v));
    }));
    return tr;
  }));
  find("#row-table").replaceChildren(el("div", { className: "scroll", tabIndex: 0 }, el("table", { className: "plain rows" }, el("thead", {}, head), body)));
  rowList.shown = true;
  showWhere();
  find("#row-page").textContent = order.length ? `${num(from + 1)}–${num(Math.min(order.length, from + rowList.size))} / ${num(order.length)}` : "0";
}

const numeric = (f) => !state.doc.col[f]?.words;
const titleOf = (f) => (f === "itl_ms" ? say("itl_max") + " ms" : fieldTitle[f] || say(f) + (f === "released" || f === "due" ? " s" : f.endsWith("_ms") || f === "slot_wait" || f === "pacer_lag" || f === "connect" ? " ms" : ""));

// markRow highlights a row where the table shows it.
function markRow(row) {
  rowList.marked = row;
  for (const tr of findAll("#row-table tr[data-row]")) tr.classList.toggle("marked", +tr.dataset.row === row);
}

// goTo lands on the rows near a value of a metric in a window: sorted by it, the first
// at or above the value marked.
function goTo(text) {
  if (text[0] === "{") {
    const l = JSON.parse(text);
    return l.rows ? goRows(l.rows) : goReadings(l.readings);
  }
  const parts = text.split("|"), wanted = +parts.pop(), stat = parts.pop(), metric = parts.pop(), kind = parts.join("|");
  const f = metricField[metric] || metric, c = column(f);
  if (!c) return;
  Object.assign(rowList, { sort: f, down: false, window: kind, outcome: "", where: { has: [f] }, order: null });
  for (const [k, v] of [["window", kind], ["outcome", ""]]) find("#rows-" + k).value = v;
  const order = ordered();
  // What is stored is rounded; half a unit less finds a value that was rounded down.
  const least = wanted - 0.5 / state.doc.col[f].per;
  let at = 0;
  for (let a = 0, b = order.length; a < b;) { const m = (a + b) >> 1; if (c[order[m]] >= least || c[order[m]] !== c[order[m]]) b = m; else a = m + 1; at = b; }
  at = Math.min(at, order.length - 1);
  while (at > 0 && c[order[at]] !== c[order[at]]) at--;
  if (at < 0) return;
  rowList.page = Math.floor(at / rowList.size);
  rowList.marked = stat === "mean" ? -1 : order[at]; // no one row is the mean
  // A percentile is often of no row: it lies between two.
  const seq = column("seq"), half = 0.5 / state.doc.col[f].per;
  if (/^p\d/.test(stat) && at > 0 && c[order[at]] > wanted + half && c[order[at - 1]] < wanted - half) rowList.where.says = ["row.between", stat, num(wanted), num(seq[order[at - 1]]), num(seq[order[at]])];
  if (rowList.marked >= 0) showRow(order[at]);
  showRows();
  say1(say("landed", titleOf(f), say(stat), num(wanted), kind));
  const tr = find("#row-table tr.marked") || find(`#row-table tr[data-row="${order[at]}"]`);
  (tr || find("#rows")).scrollIntoView({ block: "center", behavior: "auto" });
  find("button", tr || find("#row-tools"))?.focus({ preventScroll: true });
}

function filterRows(set) {
  Object.assign(rowList, { sort: "seq", down: false, window: "", outcome: "", where: null, order: null, page: 0 }, set);
  find("#rows-outcome").value = rowList.outcome;
  find("#rows-window").value = rowList.window;
}
