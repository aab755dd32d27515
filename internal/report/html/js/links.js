// From numbers to the rows and readings that they are made of. A link says what these
// have in common: see rowsLink and readingsLink in links.go.

const notFailures = ["ok", "cancelled", "abandoned"];

// rowFilter is whether row i is one of a link's; of no link every row is.
function rowFilter(l) {
  if (!l) return () => true;
  const d = state.doc, tests = [], none = () => false;
  const words = (name, f) => { const c = column(name), w = d.col[name]?.words; tests.push((i) => f(c && c[i] === c[i] ? w[c[i]] : "")); };
  if (l.phase) words("phase", (w) => w === l.phase);
  if (l.outcome === "failed") words("outcome", (w) => !notFailures.includes(w));
  else if (l.outcome === "!ok") words("outcome", (w) => w !== "ok");
  else if (l.outcome) words("outcome", (w) => w === l.outcome);
  for (const [name, want] of Object.entries(l.is || {})) words(name, (w) => w === want);
  for (const [name, want] of Object.entries(l.eq || {})) { const c = column(name); tests.push(c ? (i) => c[i] === want : none); }
  for (const name of l.has || []) { const c = column(name); tests.push(c ? (i) => c[i] === c[i] : none); }
  for (const name of l.lacks || []) { const c = column(name); if (c) tests.push((i) => c[i] !== c[i]); }
  for (const [name, [from, to, closed]] of Object.entries(l.range || {})) {
    const c = column(name), half = c ? 0.5 / d.col[name].per : 0; // what is stored is rounded
    tests.push(c ? (i) => c[i] >= from - half && (closed || to - from < 2 * half ? c[i] <= to + half : c[i] < to - half) : none);
  }
  const flight = l.during ? windowsOf(l.during) : l.flight ? [l.flight] : null;
  if (flight) {
    const at = column("released"), e2e = column("e2e_ms"), end = column("stream_end_ms");
    tests.push(at ? (i) => { const long = Math.max(e2e && e2e[i] === e2e[i] ? e2e[i] : 0, end && end[i] === end[i] ? end[i] : 0) / 1000; return flight.some(([a, b]) => at[i] <= b && at[i] + long >= a); } : none);
  }
  return (i) => tests.every((f) => f(i));
}

// goRows shows the rows of a link.
function goRows(l) {
  const outcomes = state.doc.col.outcome?.words || [];
  Object.assign(rowList, { sort: l.sort && state.doc.col[l.sort] ? l.sort : "seq", down: !!l.down, window: l.window || "", outcome: outcomes.includes(l.outcome) || l.outcome === "!ok" ? l.outcome : "", where: l, order: null, page: 0, marked: -1 });
  find("#rows-window").value = rowList.window;
  find("#rows-outcome").value = rowList.outcome;
  showRows();
  find("#rows").scrollIntoView();
  find("#row-table tbody button")?.focus({ preventScroll: true });
}

// whereText is what the rows of a link have in common, beside window and outcome.
function whereText(l) {
  const span = ([a, b]) => `${num(a)}–${num(b)}`;
  return [
    l.says ? say(...l.says) : "", l.phase ? `${say("phase")} ${l.phase}` : "", l.outcome === "failed" ? say("failed") : "", l.during ? say("where.during", l.during) : "", l.flight ? say("where.during", `${moment(l.flight[0])}–${moment(l.flight[1])} s`) : "",
    ...Object.entries(l.is || {}).map(([k, v]) => (v === "" ? say("where.lacks", titleOf(k)) : `${titleOf(k)} = ${v}`)), ...Object.entries(l.eq || {}).map(([k, v]) => `${titleOf(k)} = ${v}`),
    ...(l.has || []).map((k) => say("where.has", titleOf(k))), ...(l.lacks || []).map((k) => say("where.lacks", titleOf(k))),
    ...Object.entries(l.range || {}).map(([k, r]) => `${titleOf(k)} ${k === "released" ? `${moment(r[0])}–${moment(r[1])}` : span(r)}`),
  ].filter((s) => s).join(" · ");
}

function showWhere() {
  const host = find("#row-where"), text = rowList.where ? whereText(rowList.where) : "";
  if (!host) return;
  host.replaceChildren(...(text ? [el("bdi", { className: "hint" }, text), " ", el("button", { type: "button", on: { click: () => { Object.assign(rowList, { where: null, order: null, page: 0, marked: -1 }); showRows(); find("#rows-window").focus(); } } }, say("where.clear"))] : []));
}

// goReadings shows what a metrics page said in a window, reading by reading.
function goReadings(l) {
  const host = find("#server"), d = state.doc, spans = windowsOf(l.window), ours = (x) => x.source === l.page && (x.part ?? null) === (l.part ?? null);
  if (!host) return;
  find("#readings")?.remove();
  const box = el("div", { id: "readings" });
  host.append(box);
  for (const name of l.names) {
    const line = (d.results.server?.lines || []).find((x) => ours(x) && x.name === name), count = (d.counts || []).find((x) => ours(x) && x.name === name), x = line || count;
    if (!x) continue;
    const keep = x.t_s.map((t, i) => [t, i]).filter(([t]) => spans.some(([a, b]) => t >= a && t <= b)).map(([, i]) => i), pick = (v) => keep.map((i) => v[i]);
    const columns = [{ name: "t_s", values: pick(x.t_s) }, ...(line ? [{ name, values: pick(line.value) }, ...(line.min ? [{ name: "min", values: pick(line.min) }, { name: "max", values: pick(line.max) }] : [])] : [{ name: count.sum ? "observations" : name, values: pick(count.n) }, ...(count.sum ? [{ name: "sum", values: pick(count.sum) }] : [])])];
    const title = d.defs["server." + name]?.title || name.replaceAll("_", " "), body = el("div");
    box.append(el("h3", { tabIndex: -1 }, say("readings.of", title, l.page, l.window)), el("p", { className: "hint" }, el("bdi", {}, x.series), " · ", say(line ? "readings.gauge" : "readings.count"), " ", el("button", { type: "button", on: { click: () => save(fileName(name + "-readings.csv"), "text/csv", csv(columns)) } }, say("csv"))), body);
    fillTable(body, { columns: () => columns });
  }
  box.scrollIntoView({ block: "nearest" });
  find("h3", box)?.focus({ preventScroll: true });
}
