// What all pages of the folder have in common.

state.doc = { words: allWords, defs: {}, run: "compare", results: { windows: [] }, listed: {}, col: {} };

// linked is an address of ours in the language of the page.
function linked(path, query = []) {
  const q = new URLSearchParams(query);
  if (state.lang === "zh") q.set("lang", "zh");
  const text = q.toString();
  return path + (text ? "?" + text : "");
}

const wait = (ms) => new Promise((r) => setTimeout(r, ms));

// done asks until what is asked for is there: the answer, or an error that says why not.
// told hears of the progress.
async function done(path, query, told) {
  for (let ms = 100, again = [["again", ""]]; ; ms = Math.min(ms * 1.4, 1000), again = []) {
    const r = await fetch(linked(path, [...query, ...again]));
    if (r.status === 200) return r;
    const p = await r.json().catch(() => ({ state: "failed", why: `HTTP ${r.status}` }));
    if (r.status !== 202 && r.status !== 503) throw new Error(p.why || `HTTP ${r.status}`);
    told(p);
    await wait(ms);
  }
}

// progressText says how far a job is.
function progressText(p) {
  if (p.state !== "reading") return say("view.waiting");
  return p.total ? say("view.busy", num(+(p.done / 1e6).toPrecision(3)), num(+(p.total / 1e6).toPrecision(3))) : say("view.working");
}

// languages and theme: the language stays in the address, so that links keep it.
const onLanguage = [];
function switchesOfAll() {
  find("#theme").addEventListener("click", () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; redrawAll(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  find("#lang").addEventListener("click", () => {
    state.lang = state.lang === "zh" ? "en" : "zh";
    const b = find("#lang"), q = new URLSearchParams(location.search);
    b.textContent = state.lang === "zh" ? "English" : "中文";
    b.lang = state.lang === "zh" ? "en" : "zh";
    q.set("lang", state.lang);
    history.replaceState(null, "", "?" + q);
    relabel();
    for (const e of findAll("[data-hint]")) e.placeholder = say(e.dataset.hint);
    linkBack();
    for (const f of onLanguage) f();
  });
}

for (const [name, on] of [["beforeprint", true], ["afterprint", false]]) addEventListener(name, () => { state.printing = on; charts.forEach((c) => c.draw()); });

function linkBack() {
  const back = find(".back");
  if (back) back.href = linked("/");
}

// clockTime is a time of RFC 3339 as people read it, to the second.
const clockTime = (text) => (text || "").replace("T", " ").replace(/(\.\d+)?Z$/, "").replace(/\.\d+$/, "");

// choices fills a group of which one is chosen.
function choices(host, list, chosen, choose) {
  host.replaceChildren(...list.map(([value, text]) => el("button", { type: "button", role: "radio", "aria-checked": String(value === chosen), tabIndex: value === chosen ? 0 : -1, data: { value }, on: { click: () => choose(value) } }, el("bdi", {}, text))));
  host.onkeydown = (e) => {
    const d = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    if (!d || !list.length) return;
    e.preventDefault();
    choose(list[(list.findIndex(([v]) => v === chosen) + d + list.length) % list.length][0]);
    find('[aria-checked="true"]', host)?.focus();
  };
}
