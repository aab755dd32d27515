// Prompts and answers, where the page was asked to hold them. They are set as text and
// never read as markup.

const texts = { host: null, row: -1 };

function makeTexts() {
  const t = state.doc.texts, host = find("#row-texts");
  if (!t || !host) return;
  const n = Object.keys(t.of).length;
  texts.host = el("div", { className: "said" });
  texts.lead = el("div", { className: "hint" });
  host.append(texts.lead, texts.host);
  texts.relabel = () => texts.lead.replaceChildren(el("p", {}, say("texts.here", num(n)), t.left_out ? " " + say("texts.left", num(t.left_out), num(n)) : ""), ...t.notes.map((s) => el("p", { lang: "en" }, el("bdi", {}, s))));
  texts.relabel();
}

// showTexts shows what a request asked and was answered.
function showTexts(row) {
  texts.row = row;
  if (!texts.host) return;
  texts.relabel();
  const held = state.doc.texts.of[row] || [];
  texts.host.replaceChildren(...held.map(([kind, size, head, tail]) => {
    const id = "text-" + kind, cut = tail === undefined ? 0 : size - [...head].length - [...tail].length;
    return el("div", { role: "group", "aria-labelledby": id },
      el("b", { id }, `${say("text." + kind)} #${value("seq", row)}`), " ", el("small", {}, cut ? say("texts.cut", num(size), num(cut)) : say("texts.size", num(size))),
      el("pre", { dir: "auto", tabIndex: 0 }, el("bdi", {}, head), cut ? el("span", { className: "absent" }, "\n […]\n") : null, cut ? el("bdi", {}, tail) : null));
  }), held.length ? "" : el("p", { className: "absent" }, say("texts.none")));
}
