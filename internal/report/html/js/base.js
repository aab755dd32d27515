// Small helpers. Text reaches the page as text only: nothing here parses markup.

const find = (sel, root = document) => root.querySelector(sel);
const findAll = (sel, root = document) => [...root.querySelectorAll(sel)];

function el(tag, props, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(props || {})) {
    if (v === null || v === undefined || v === false) continue;
    if (k === "on") for (const [name, f] of Object.entries(v)) e.addEventListener(name, f);
    else if (k === "data") Object.assign(e.dataset, v);
    else if (k in e && k !== "list") e[k] = v;
    else e.setAttribute(k, v === true ? "" : v);
  }
  e.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

const state = { doc: null, lang: document.documentElement.lang, kind: document.documentElement.dataset.chosen };

// say is a word of the page in its language; {0}, {1} … stand for what follows.
function say(key, ...args) {
  const w = state.doc && state.doc.words[key];
  const text = w ? w[state.lang === "zh" ? 1 : 0] : key;
  return text.replace(/\{(\d)\}/g, (_, i) => args[i]);
}

// word is an element that follows the language.
const word = (key) => el("span", { data: { t: key } }, say(key));

// relabel lays all words of the page out again.
function relabel() {
  document.documentElement.lang = state.lang;
  for (const e of findAll("[data-t]")) if (state.doc.words[e.dataset.t]) e.textContent = say(e.dataset.t);
  for (const e of findAll("[data-label]")) e.setAttribute("aria-label", say(e.dataset.label));
}

const dark = () => {
  const t = document.documentElement.dataset.theme;
  return t ? t === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};
const inks = () => (state.printing ? palettes.light : palettes[dark() ? "dark" : "light"]);

// soon runs f once before the next frame, however often it is asked to.
function soon(f) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; f(); });
  };
}

function save(name, type, data) {
  const url = URL.createObjectURL(data instanceof Blob ? data : new Blob([data], { type }));
  const a = el("a", { href: url, download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

const fileName = (part) => `${(state.doc.run || "run").replace(/[^\w.-]+/g, "-")}-${part}`;

// csv writes columns [{name, values}]; a text that a spreadsheet would run is led by '.
function csv(columns, order) {
  const cell = (v) => {
    if (v === null || v === undefined || (typeof v === "number" && !Number.isFinite(v))) return "";
    let s = String(v);
    if (typeof v !== "number" && /^[=+\-@\t\r]/.test(s)) s = "'" + s;
    return /[",\r\n]/.test(s) ? `"${s.replace(/"/g, '""')}"` : s;
  };
  const n = order ? order.length : columns.length ? columns[0].values.length : 0;
  const lines = [columns.map((c) => cell(c.name)).join(",")];
  for (let i = 0; i < n; i++) lines.push(columns.map((c) => cell(c.values[order ? order[i] : i])).join(","));
  return lines.join("\r\n") + "\r\n";
}
