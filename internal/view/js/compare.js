// Two or more runs: what the comparison decides, and their charts overlaid.

const comparing = { ids: [], result: null, picked: false, error: null, listed: new Map() };

// mark is a piece of a run's line.
function mark(i) {
  const c = el("canvas", { className: "mark", "aria-hidden": "true" });
  const draw = () => {
    const r = devicePixelRatio || 1, x = c.getContext("2d");
    c.width = 44 * r; c.height = 10 * r;
    x.scale(r, r);
    x.strokeStyle = inks()[runColors[i]];
    x.lineWidth = 2.5;
    x.setLineDash(runDashes[i] || []);
    x.beginPath(); x.moveTo(1, 5); x.lineTo(43, 5); x.stroke();
  };
  draw();
  marks.push(draw);
  return c;
}
const marks = [];

function sides() {
  marks.length = 0;
  const to = (ids) => linked("/compare", ids.map((id) => ["run", id]));
  find("#sides").replaceChildren(el("ol", { className: "sides" }, comparing.ids.map((id, i) => {
    const r = overlay.runs.find((x) => x.i === i)?.doc.results, e = comparing.listed.get(id), name = r?.name || e?.name || id, fit = r ? r.verdict.fit : e ? e.state === "fit" : null;
    return el("li", {}, el("b", {}, letter(i)), mark(i),
      el("span", { className: "who" }, el("a", { href: linked("/run/" + id) }, el("bdi", {}, name)), el("small", {}, el("bdi", {}, [e?.path === name ? null : e?.path, e?.model, e?.server, clockTime(e?.started)].filter(Boolean).join(" · ")))),
      fit === null ? null : el("span", { className: "state " + (fit ? "fit" : "unfit") }, say(fit ? "view.fit" : "view.unfit")),
      el("span", { className: "acts" },
        i === 0 ? el("small", {}, say("view.base")) : el("a", { href: to([id, ...comparing.ids.filter((x) => x !== id)]), "aria-label": say("view.first", name), title: say("view.first", name) }, "↑"),
        comparing.ids.length > 2 ? el("a", { href: to(comparing.ids.filter((x) => x !== id)), "aria-label": say("view.remove", name), title: say("view.remove", name) }, "×") : null));
  })));
}

// Numbers of a comparison as the text views write them.
const percent = (v) => (v === null || v === undefined ? "–" : (v >= 0 ? "+" : "") + fixed(v * 100, 2));
const changeOf = (m) => (m.change === null ? (m.shift === null ? "–" : (m.shift >= 0 ? "+" : "") + num(m.shift)) : percent(m.change) + (m.unit === "share" ? " pt" : " %") + (m.paired_a !== undefined ? " †" : ""));
const sideOf = (m, v) => (v.value !== null && m.unit === "share" ? fixed(v.value * 100, 2) + " %" : num(v.value));
const verdictWord = (v) => say(v === "undecided" ? "view.tilde" : "view." + v);
const glance = new Set(["ttft_ms.p50", "ttft_ms.p95", "ttft_ms.p99", "tpot_ms.p50", "tpot_ms.p95", "itl_ms.p50", "itl_ms.p99", "e2e_ms.p50", "e2e_ms.p95", "output_tokens_per_s", "total_tokens_per_s", "requests_per_s", "slo_good_share", "slo_good_requests_per_s", "failed_share", "cached_ratio"]);

function metricTable(p, list) {
  return el("div", { className: "scroll" }, el("table", { className: "plain decided" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, say("view.metric")), [p.a, p.b, say("view.change"), say("view.interval"), say("view.verdict")].map((h) => el("th", { scope: "col", className: "r" }, h)))),
    el("tbody", {}, list.map((m) => el("tr", {}, el("th", { scope: "row" }, el("code", {}, m.name), m.decides ? " *" : "", el("small", {}, " " + (m.unit === "share" ? "" : m.unit))),
      el("td", { className: "r" }, sideOf(m, m.a)), el("td", { className: "r" }, sideOf(m, m.b)), el("td", { className: "r" }, changeOf(m)),
      el("td", { className: "r" }, m.change_ci[0] === null || m.change_ci[1] === null ? "–" : `${percent(m.change_ci[0])} … ${percent(m.change_ci[1])}`),
      el("td", { className: "r" }, el("span", { className: "said " + m.verdict, title: unflagged(m.why || "") }, verdictWord(m.verdict))))))));
}

const bullets = (title, list) => (list?.length ? [el("h3", {}, title), el("ul", { className: "notes", lang: "en" }, list.map((t) => el("li", {}, el("bdi", {}, unflagged(t)))))] : []);

// unflagged is a text without the clauses that name a flag of the command line, which
// this page does not have.
const unflagged = (t) => t.replace(/ \([^()]*--[a-z][^()]*\)/g, "").replace(/; [^;]*--[a-z][^;]*/g, "");

// unlikeLoads are what the sides were asked differently: whatever is worse then may be
// so for that alone.
const asked = /^(number of requests|cap on requests in flight|offered rate|loop|dataset)\b/;
const unlikeLoads = (c) => c.pairs.flatMap((p) => p.unlike.filter((t) => asked.test(t)).map((t) => (c.pairs.length > 1 ? `${p.b}: ${t}` : t)));

// firstWord shows what was decided, before anything is drawn.
function firstWord() {
  const host = find("#verdict"), c = comparing.result;
  if (comparing.error) host.replaceChildren(el("p", { className: "absent", role: "status" }, say("view.undecided", comparing.error)));
  if (!c) return;
  const unlike = unlikeLoads(c);
  host.replaceChildren(el("div", { className: "verdict " + (!c.fit ? "unfit" : unlike.length || c.verdict === "undecided" ? "maybe" : c.verdict === "worse" ? "unfit" : "fit") },
    el("h1", { className: "word" }, unlike.length ? say("view.unlike.head") : verdictWord(c.verdict)),
    unlike.length ? el("ul", { className: "notes", lang: "en" }, unlike.map((t) => el("li", {}, el("bdi", {}, t)))) : null,
    el("p", { className: "line", lang: "en" }, el("bdi", {}, unflagged(c.line))),
    el("p", { className: "why" }, say("window"), " ", el("bdi", {}, c.window), el("span", { lang: "en" }, ": " + unflagged(c.window_why)), " · ", el("a", { href: "#decided" }, say("view.how")))));
}

function showComparison() {
  firstWord();
  const host = find("#comparison"), c = comparing.result;
  if (!c) return;
  find("#decided").hidden = false;
  const open = findAll("details", host).map((d) => d.open);
  host.replaceChildren(
    ...bullets(say("view.warnings"), c.warnings),
    ...c.pairs.flatMap((p) => {
      const all = [...p.metrics.filter((m) => m.decides), ...p.metrics.filter((m) => !m.decides)];
      const first = all.filter((m) => m.decides || glance.has(m.name)), rest = all.filter((m) => !first.includes(m));
      return [
        el("h3", {}, say("view.against", p.b, p.a), " ", el("span", { className: "said " + p.verdict }, verdictWord(p.verdict))),
        ...bullets(say("view.unlike"), p.unlike),
        el("p", { className: "why", lang: "en" }, unflagged(p.line)), el("p", { className: "why" }, say("view.method"), ": ", el("span", { lang: "en" }, unflagged(p.method))),
        metricTable(p, first),
        rest.length ? el("details", {}, el("summary", {}, `+ ${rest.length}`), metricTable(p, rest)) : null,
        ...bullets(say("view.warnings"), p.warnings),
        p.differences.length ? el("details", {}, el("summary", {}, say("view.facts", p.differences.length)), el("div", { className: "scroll" }, el("table", { className: "plain facts-differ" },
          el("thead", {}, el("tr", {}, [say("view.path"), p.a, p.b].map((h) => el("th", { scope: "col" }, h)))),
          el("tbody", {}, p.differences.map((d) => el("tr", {}, el("th", { scope: "row" }, el("code", {}, d.path)), el("td", {}, el("bdi", {}, d.a || "–")), el("td", {}, el("bdi", {}, d.b || "–")))))))) : null,
      ].filter(Boolean);
    }),
    el("p", { className: "hint" }, say("view.decides")));
  findAll("details", host).forEach((d, i) => { d.open = !!open[i]; });
}

function showKind() {
  const kinds = kindsOfAll();
  // Until another is asked for, numbers stand of the window that is decided by.
  if (!comparing.picked && kinds.includes(comparing.result?.window)) overlay.kind = comparing.result.window;
  if (!kinds.includes(overlay.kind)) overlay.kind = kinds.includes("steady") ? "steady" : kinds[0] || null;
  choices(find("#pick"), kinds.map((k) => [k, k]), overlay.kind, (k) => { overlay.kind = k; comparing.picked = true; showKind(); charts.forEach((c) => c.relabel()); });
  for (const c of findAll(".chosen")) c.textContent = overlay.kind || "";
  keyTable();
}

// unpack takes a document apart; see loadDocument.
async function unpack(r) {
  const stream = r.body.pipeThrough(new DecompressionStream("deflate-raw"));
  return readDocument(new Uint8Array(await new Response(stream).arrayBuffer()));
}

// decide asks for the comparison, which takes its own time.
async function decide() {
  try {
    comparing.result = await (await done("/api/compare", comparing.ids.map((id) => ["run", id]), (p) => { find("#verdict").replaceChildren(el("p", { className: "absent", role: "status" }, progressText(p))); })).json();
  } catch (e) {
    comparing.error = e.message;
  }
  showComparison();
  if (overlay.kind) { showKind(); charts.forEach((c) => c.relabel()); }
}

async function comparePage() {
  comparing.ids = new URLSearchParams(location.search).getAll("run").filter((id, i, all) => all.indexOf(id) === i).slice(0, runColors.length);
  const out = find("#state");
  onLanguage.push(() => { sides(); showComparison(); if (overlay.runs.length) { showKind(); charts.forEach((c) => c.relabel()); } });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => marks.forEach((f) => f()));
  find("#theme").addEventListener("click", () => marks.forEach((f) => f()));
  const list = await fetch("/api/runs").then((r) => r.json()).catch(() => ({ runs: [] }));
  for (const e of list.runs) comparing.listed.set(e.id, e);
  sides();
  document.title = comparing.ids.map((id) => comparing.listed.get(id)?.name || id).join(" | ") + " – tokentape";
  const failed = [], decided = decide();
  for (const [i, id] of comparing.ids.entries()) {
    const name = comparing.listed.get(id)?.name || id;
    try {
      const doc = await unpack(await done("/api/data/" + id, [], (p) => { out.textContent = `${say("view.drawing", `${letter(i)} ${name}`)}: ${progressText(p)}`; }));
      overlay.runs.push({ id, i, doc });
    } catch (e) {
      failed.push(`${letter(i)} ${name}: ${e.message}`);
    }
  }
  out.textContent = failed.map((t) => say("view.failed", t)).join(" ");
  sides();
  if (overlay.runs.length) {
    for (const r of overlay.runs) state.doc.defs = { ...r.doc.defs, ...state.doc.defs };
    showKind();
    if (!overlay.kind) out.textContent += " " + say("view.nowindow");
    overlayTime();
    overlayDists();
  }
  await decided;
  document.documentElement.dataset.ready = "";
}
