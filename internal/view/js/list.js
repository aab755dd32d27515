// The list of runs: sorted and filtered here, asked for again every few seconds.

const mostShown = 500, pollEvery = 3000;
const states = ["", "fit", "unfit", "unread", "broken", "sweep"];

const listed = { runs: [], by: new Map(), text: "", state: "", sort: "started", down: true, taken: [], shown: mostShown, most: 8 };

// Columns: what a run is sorted by, and how it is shown.
const runColumns = [
  { key: "run", of: (r) => r.name.toLowerCase() }, { key: "started", of: (r) => r.started }, { key: "model", of: (r) => r.model }, { key: "server", of: (r) => r.server },
  { key: "n", of: (r) => r.n, n: true }, { key: "c", of: (r) => r.c, n: true }, { key: "r", of: (r) => r.r, n: true },
  { key: "verdict", of: (r) => states.indexOf(r.state) }, { key: "ttft50", of: (r) => r.ttft_p50, n: true, unit: "ms" }, { key: "ttft99", of: (r) => r.ttft_p99, n: true, unit: "ms" },
  { key: "tpot50", of: (r) => r.tpot_p50, n: true, unit: "ms" }, { key: "output", of: (r) => r.output, n: true }, { key: "window", of: (r) => r.window }, { key: "notes", of: (r) => notesOf(r) },
];

const notesOf = (r) => Object.keys(r.notes || {}).sort().map((k) => `${k}=${r.notes[k]}`).join(" ");

// haystack is what the words of the filter are looked for in.
const haystack = (r) => (r.hay ??= [r.name, r.path, r.run, r.model, r.server, r.engine, r.import, r.started, r.line, notesOf(r)].join("\n").toLowerCase());

function matching() {
  const words = listed.text.toLowerCase().split(/\s+/).filter(Boolean);
  const col = runColumns.find((c) => c.key === listed.sort) || runColumns[1];
  const absent = (v) => v === undefined || v === null || v === "";
  return listed.runs
    .filter((r) => (!r.sweep || words.length > 0) && (!listed.state || r.state === listed.state) && words.every((w) => haystack(r).includes(w)))
    .map((r) => [col.of(r), r])
    .sort(([a, x], [b, y]) => {
      if (absent(a) || absent(b)) return absent(a) - absent(b) || (x.path < y.path ? -1 : 1); // what is absent comes last either way
      const c = a < b ? -1 : a > b ? 1 : 0;
      return (listed.down ? -c : c) || (x.path < y.path ? -1 : 1);
    })
    .map(([, r]) => r);
}

function rowOf(r) {
  const broken = r.state === "broken", sweep = r.state === "sweep";
  const tick = el("input", {
    type: "checkbox", disabled: broken || sweep, checked: listed.taken.includes(r.id), "aria-label": say("view.tick", r.name),
    on: { change: (e) => { take(r.id, e.target.checked); } },
  });
  const name = broken ? el("span", { className: "name" }, el("bdi", {}, r.name)) : el("a", { className: "name", href: linked(sweep ? `/sweep/${r.id}/` : "/run/" + r.id) }, el("bdi", {}, r.name));
  const path = r.path === r.name ? null : el("small", {}, el("bdi", {}, r.path));
  const cell = {
    run: [name, path], started: [clockTime(r.started)], model: [el("bdi", {}, r.model || "")],
    server: [el("bdi", {}, r.server || ""), r.engine ? el("small", {}, el("bdi", {}, r.engine)) : null, r.import ? el("small", {}, say("view.imported", r.import)) : null],
    n: [sweep ? say("view.points", num(r.points || 0)) : r.n ? num(r.n) : ""], c: [r.c ? num(r.c) : ""], r: [r.r ? num(r.r) : ""],
    verdict: [el("span", { className: "state " + r.state }, say("view." + r.state)), el("small", { lang: "en", title: r.line || "" }, r.line || "")],
    window: [el("bdi", {}, r.window || "")],
    notes: Object.keys(r.notes || {}).sort().map((k) => el("span", { className: "label" }, el("bdi", {}, k), "=", el("bdi", {}, r.notes[k]))),
  };
  return el("tr", { data: { id: r.id, state: r.state } }, el("td", { title: sweep ? say("view.sweeps") : "" }, tick), runColumns.map((c) => {
    const inside = cell[c.key] || [c.of(r) === undefined ? "" : num(c.of(r))];
    return el(c.key === "run" ? "th" : "td", { className: [c.n ? "r" : "", "c-" + c.key].join(" ").trim(), scope: c.key === "run" ? "row" : null }, inside);
  }));
}

function headOf() {
  return el("thead", {}, el("tr", {}, el("th", {}), runColumns.map((c) => el("th", { scope: "col", className: (c.n ? "r c-" : "c-") + c.key, "aria-sort": listed.sort === c.key ? (listed.down ? "descending" : "ascending") : null },
    el("button", { type: "button", className: "sort", data: { sort: c.key }, on: { click: () => sortBy(c.key) } }, say("view." + c.key), c.unit ? el("small", {}, " " + c.unit) : null, listed.sort === c.key ? (listed.down ? " ↓" : " ↑") : "")))));
}

function sortBy(key) {
  if (listed.sort === key) listed.down = !listed.down;
  else { listed.sort = key; listed.down = runColumns.find((c) => c.key === key).n || key === "started"; }
  showList();
  find(`[data-sort="${key}"]`).focus();
}

function take(id, on) {
  listed.taken = listed.taken.filter((x) => x !== id);
  if (on) listed.taken.push(id);
  showTaken();
}

function showTaken() {
  const b = find("#compare"), n = listed.taken.length;
  b.disabled = n < 2 || n > listed.most;
  b.textContent = n < 2 ? say("view.compare.pick") : n > listed.most ? say("view.most", listed.most) : say("view.compare.n", n);
  find("#none").hidden = !n;
}

// remember keeps what is shown in the address: a reload and the way back find it again.
function remember() {
  const q = new URLSearchParams();
  if (listed.text) q.set("q", listed.text);
  if (listed.state) q.set("state", listed.state);
  if (listed.sort !== "started" || !listed.down) q.set("sort", (listed.down ? "-" : "") + listed.sort);
  if (new URLSearchParams(location.search).has("lang")) q.set("lang", state.lang);
  const text = q.toString();
  history.replaceState(null, "", text ? "?" + text : location.pathname);
}

function showList() {
  const all = matching(), shown = all.slice(0, listed.shown), table = find("#runs");
  const focused = document.activeElement?.closest?.("tr[data-id]")?.dataset.id, tag = document.activeElement?.tagName;
  table.replaceChildren(headOf(), el("tbody", {}, shown.map(rowOf)));
  if (focused) find(`tr[data-id="${focused}"] ${tag === "A" ? "a" : "input"}`, table)?.focus();
  table.hidden = !listed.runs.length;
  const count = (s) => listed.runs.filter((r) => (!r.sweep || listed.text) && (!s || r.state === s)).length;
  const more = find("#more");
  more.hidden = all.length <= shown.length;
  more.textContent = say("view.more", num(Math.min(mostShown, all.length - shown.length)));
  find("#count").textContent = say("view.count", num(all.length), num(count("")));
  const nothing = find("#nothing");
  nothing.hidden = all.length > 0;
  nothing.textContent = say(listed.runs.length ? "view.nomatch" : "view.nothing");
  choices(find("#state"), states.filter((s) => !s || count(s) || s === listed.state).map((s) => [s, `${say("view." + (s || "any"))} ${num(count(s))}`]), listed.state, (s) => { listed.state = s; listed.shown = mostShown; showList(); });
  showTaken();
  remember();
}

function showLeft(l) {
  const parts = [];
  if (l.error) parts.push(l.error);
  if (l.total) parts.push(say("view.reading", num(l.done), num(l.total)));
  const o = l.left_out || {};
  if (o.links) parts.push(say("view.links", num(o.links)));
  if (o.deep) parts.push(say("view.deep", num(o.deep)));
  if (o.many) parts.push(say("view.many"));
  if (o.unread) parts.push(say("view.unreadable", num(o.unread), o.example || ""));
  const text = parts.join(" · "), out = find("#left");
  if (out.textContent !== text) out.textContent = text;
}

async function listPage() {
  const q = new URLSearchParams(location.search);
  listed.text = q.get("q") || "";
  if (states.includes(q.get("state"))) listed.state = q.get("state");
  const sort = (q.get("sort") || "").replace(/^-/, "");
  if (runColumns.some((c) => c.key === sort)) { listed.sort = sort; listed.down = q.get("sort").startsWith("-"); }
  const text = find("#text");
  text.value = listed.text;
  text.addEventListener("input", () => { listed.text = text.value; listed.shown = mostShown; showList(); });
  find("#compare").addEventListener("click", () => { location.href = linked("/compare", listed.taken.map((id) => ["run", id])); });
  find("#none").addEventListener("click", () => { listed.taken = []; showList(); });
  find("#more").addEventListener("click", () => { listed.shown += mostShown; showList(); });
  addEventListener("keydown", (e) => { if (e.key === "/" && !/INPUT|SELECT/.test(document.activeElement.tagName)) { e.preventDefault(); text.focus(); } });
  let tag = "", last = null, asOf = "";
  onLanguage.push(() => { showList(); if (last) showLeft(last); });
  for (;;) {
    let soonAgain = false;
    if (!document.hidden || !tag) try {
      const r = await fetch("/api/runs");
      if (!r.ok) throw new Error(`HTTP ${r.status}`);
      asOf = new Date().toLocaleTimeString();
      const l = await r.json();
      soonAgain = l.scanning;
      const now = r.headers.get("ETag");
      if (now !== tag) {
        tag = now;
        last = l;
        listed.runs = l.runs;
        const there = new Set(l.runs.map((x) => x.id));
        listed.taken = listed.taken.filter((id) => there.has(id));
        showList();
      }
      showLeft(l);
    } catch (e) {
      showLeft({ error: say("view.lost", asOf || "–") });
    }
    document.documentElement.dataset.ready = "";
    await wait(soonAgain ? 300 : pollEvery);
  }
}
