// The page: switches, definitions, links from numbers to rows.

// say1 tells those who listen.
function say1(text) { find("#cursor") ? (find("#cursor").textContent = text) : null; }

const refreshCharts = () => charts.forEach((c) => c.relabel());

// choose shows another window.
function choose(kind) {
  state.kind = kind;
  document.documentElement.dataset.chosen = kind;
  for (const b of findAll("#pick [data-window]")) { const on = b.dataset.window === kind; b.setAttribute("aria-checked", on); b.tabIndex = on ? 0 : -1; }
  showWindow();
  refreshCharts();
}

function showWindow() {
  for (const w of findAll("[data-win]")) w.hidden = w.dataset.win !== state.kind;
  for (const c of findAll(".chosen")) c.textContent = state.kind;
  for (const th of findAll("[data-col]")) th.classList.toggle("on", th.dataset.col === state.kind);
}

// windowFromLink is the window that a link to the page asks for: report.html#window=whole.
function windowFromLink() {
  const kind = /^#window=(.+)$/.exec(location.hash)?.[1];
  if (!kind) return;
  for (const b of findAll("#pick [data-window]")) if (b.dataset.window === decodeURIComponent(kind)) choose(b.dataset.window);
}

function switches() {
  const pick = find("#pick"), buttons = findAll("[data-window]", pick);
  pick.addEventListener("click", (e) => { const b = e.target.closest("[data-window]"); if (b) choose(b.dataset.window); });
  pick.addEventListener("keydown", (e) => {
    const d = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    if (!d || !buttons.length) return;
    e.preventDefault();
    const next = buttons[(buttons.findIndex((b) => b.dataset.window === state.kind) + d + buttons.length) % buttons.length];
    choose(next.dataset.window);
    next.focus();
  });
  find("#theme").addEventListener("click", () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; redrawAll(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  find("#lang").addEventListener("click", () => {
    state.lang = state.lang === "zh" ? "en" : "zh";
    const b = find("#lang");
    b.textContent = state.lang === "zh" ? "English" : "中文";
    b.lang = state.lang === "zh" ? "en" : "zh";
    relabel();
    refreshCharts();
    makeDefinitions();
    if (texts.row >= 0) showTexts(texts.row);
    if (state.doc.rows && find("#row-table")) showRows();
  });
  find("#print").addEventListener("click", () => print());
  const advice = () => findAll(".missed details"), folded = new Set();
  addEventListener("beforeprint", () => { state.printing = true; for (const d of advice()) if (!d.open) { folded.add(d); d.open = true; } charts.forEach((c) => c.draw()); });
  addEventListener("afterprint", () => { state.printing = false; for (const d of folded) d.open = false; folded.clear(); charts.forEach((c) => c.draw()); });
}

function links() {
  document.addEventListener("click", (e) => {
    const b = e.target.closest("button.go");
    if (!b || !state.doc.rows || !find("#row-table")) return;
    if (b.dataset.go) goTo(b.dataset.go);
    else if (b.dataset.seq) {
      const seq = column("seq"), i = seq.indexOf(+b.dataset.seq);
      if (i < 0) return;
      filterRows({});
      rowList.page = Math.floor(i / rowList.size);
      rowList.marked = i;
      showRow(i);
      showRows();
      find("#row-table tr.marked")?.scrollIntoView({ block: "center" });
    }
  });
}

// definitionOf is what a value means: in Chinese where that is written, else as the
// catalogue has it.
function definitionOf(name) {
  const own = "d." + name, d = state.doc.defs[name];
  if (state.lang === "zh" && state.doc.words[own]) return say(own);
  return d ? d.text + (d.absent ? ` (${say("absent")}: ${d.absent})` : "") : "";
}

function tips() {
  const tip = find("#tip");
  let of = null;
  const show = (b) => {
    const text = definitionOf(b.dataset.def);
    if (!text) return;
    of = b;
    tip.textContent = text;
    tip.hidden = false;
    const r = b.getBoundingClientRect(), w = Math.min(380, innerWidth - 24);
    tip.style.maxWidth = w + "px";
    tip.style.left = Math.max(12, Math.min(r.left, innerWidth - tip.offsetWidth - 12)) + scrollX + "px";
    // Above, since what is defined stands below its name; the bar keeps its place.
    const bar = find(".bar")?.getBoundingClientRect().bottom || 0;
    tip.style.top = (r.top - tip.offsetHeight - 6 > bar ? r.top - tip.offsetHeight - 6 : r.bottom + 6) + scrollY + "px";
    b.setAttribute("aria-describedby", "tip");
  };
  const hide = () => { of?.removeAttribute("aria-describedby"); of = null; tip.hidden = true; };
  for (const [name, f] of [["pointerover", (e) => { const b = e.target.closest?.(".def"); if (b) show(b); else if (!e.target.closest?.("#tip")) hide(); }], ["focusin", (e) => { const b = e.target.closest(".def"); b ? show(b) : hide(); }], ["focusout", hide]]) document.addEventListener(name, f);
  document.addEventListener("keydown", (e) => { if (e.key === "Escape") hide(); });
}

function makeDefinitions() {
  const names = [...new Set(findAll(".def[data-def]").map((b) => b.dataset.def))].filter(definitionOf);
  find("#defs").replaceChildren(...names.map((n) => el("div", {}, el("dt", {}, state.doc.words["m." + n] ? say("m." + n) : state.doc.defs[n]?.title || n.replace(/^system\./, "").replaceAll("_", " ")), el("dd", {}, definitionOf(n)))));
}

async function start() {
  document.documentElement.classList.add("js");
  try {
    state.doc = await loadDocument();
  } catch (e) {
    document.documentElement.classList.remove("js");
    find("#main").append(el("p", { className: "absent" }, `The charts need a newer browser: ${e.message}`));
    return;
  }
  switches();
  showWindow();
  makeTime();
  makeClient();
  makeDists();
  makeFall();
  makeTexts();
  makeRows();
  links();
  tips();
  makeDefinitions();
  find("#save").append(el("button", { type: "button", on: { click: () => save(fileName("results.json"), "application/json", JSON.stringify(state.doc.results, null, 2) + "\n") } }, word("save.results")));
  if (find("#time-charts")) time.changed();
  windowFromLink();
  addEventListener("hashchange", windowFromLink);
  performance.mark("ready");
  document.documentElement.dataset.ready = "";
}

start();
