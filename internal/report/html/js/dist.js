// Distributions of the chosen window, and TTFT against lengths.

const distState = { log: true, all: false };
const curveColors = ["orange", "green", "purple", "grey", "sky"];
const curveColor = (kind) => (kind === state.kind ? "blue" : curveColors[state.doc.windows.indexOf(kind) % curveColors.length]);

const summaryOf = (kind, metric) => state.doc.results.windows.find((w) => w.kind === kind)?.metrics?.[metric] || null;
const distOf = (kind, metric) => state.doc.dists.find((d) => d.window === kind && d.metric === metric);
const marksOf = (metric) => {
  const s = summaryOf(state.kind, metric);
  return s ? ["p50", "p90", "p99"].map((k) => ({ v: s[k], text: k })) : [];
};

function makeDists() {
  const host = find("#dist-charts"), d = state.doc;
  if (!host) return;
  const metrics = [...new Set(d.dists.map((x) => x.metric))];
  if (!metrics.length) { host.append(el("p", { className: "absent" }, word(d.results.counts.ok ? "not_observed" : "absent.none_ok"))); find("#dist-tools").hidden = true; }
  for (const m of metrics) {
    const unit = d.dists.find((x) => x.metric === m).unit;
    const bins = () => { const k = distOf(state.kind, m); return k ? (distState.log && k.log ? k.log : k.linear) : null; };
    addChart(host, {
      id: m.replace(/_ms$/, "").replaceAll("_", "-") + "-histogram", title: m + ".histogram", def: m, height: 190,
      draw: (c, w, h, ink) => {
        const b = bins();
        return b ? drawHistogram(c, w, h, { bins: b, log: b === distOf(state.kind, m).log, unit, color: "blue", marks: marksOf(m) }, ink) : nothing(c, w, h, ink);
      },
      legend: () => {
        const k = distOf(state.kind, m), b = bins();
        return k ? [{ color: "blue", text: `${state.kind}, n ${num(k.n)}` + (b.over ? " · " + say("bins.over", num(b.over), num(b.from + b.counts.length * b.step)) : "") + (b.under ? " · " + say("bins.under", num(b.under), num(b.from)) : "") }] : [];
      },
      columns: () => {
        const b = bins(), log = b && b === distOf(state.kind, m).log;
        if (!b) return [{ name: "from", values: [] }];
        const edge = (i) => (log ? b.from * b.step ** i : b.from + i * b.step);
        return [{ name: "from_" + unit, values: b.counts.map((_, i) => edge(i)) }, { name: "to_" + unit, values: b.counts.map((_, i) => edge(i + 1)) }, { name: "n", values: b.counts }];
      },
      // Values of itl_ms are gaps, of which a row knows the greatest alone.
      rows: m === "itl_ms" ? null : (i) => {
        const b = bins(), log = b === distOf(state.kind, m).log, edge = (k) => (log ? b.from * b.step ** k : b.from + k * b.step), f = metricField[m] || m;
        return b.counts[i] ? { window: state.kind, range: { [f]: [edge(i), edge(i + 1), i === b.counts.length - 1] }, sort: f } : null;
      },
      label: () => statText(m),
    });
    const curves = () => (distState.all ? d.windows : [state.kind]).map((kind) => ({ kind, d: distOf(kind, m) })).filter((x) => x.d);
    addChart(host, {
      id: m.replace(/_ms$/, "").replaceAll("_", "-") + "-cdf", title: m + ".cdf", def: m, height: 190,
      draw: (c, w, h, ink) => {
        const list = curves();
        return list.length ? drawCDF(c, w, h, { curves: list.map((x) => ({ cdf: x.d.cdf, color: curveColor(x.kind), width: x.kind === state.kind ? 2.25 : 1.5, dash: x.kind === state.kind ? null : [5, 3] })), log: distState.log, unit, marks: marksOf(m) }, ink) : nothing(c, w, h, ink);
      },
      legend: () => curves().map((x) => ({ color: curveColor(x.kind), text: x.kind, dash: x.kind !== state.kind })),
      columns: () => {
        const list = curves();
        return list.length === 1 ? [{ name: "q", values: list[0].d.cdf.map((p) => p.q) }, { name: unit, values: list[0].d.cdf.map((p) => p.v) }]
          : [{ name: "window", values: list.flatMap((x) => x.d.cdf.map(() => x.kind)) }, { name: "q", values: list.flatMap((x) => x.d.cdf.map((p) => p.q)) }, { name: unit, values: list.flatMap((x) => x.d.cdf.map((p) => p.v)) }];
      },
      rows: (i) => { const list = curves(), p = list.length === 1 && list[0].d.cdf[i]; return p ? `${list[0].kind}|${m}|${p.q}|${p.v}` : null; },
      label: () => statText(m),
    });
  }
  find("#dist-log").addEventListener("change", (e) => { distState.log = e.target.checked; refreshCharts(); });
  find("#dist-all").addEventListener("change", (e) => { distState.all = e.target.checked; refreshCharts(); });
  makeLengths();
}

function nothing(c, w, h, ink) {
  c.fillStyle = ink.faint; c.font = chartFont; c.textAlign = "center"; c.textBaseline = "middle";
  c.fillText(say("not_observed"), w / 2, h / 2);
  return null;
}

function statText(m) {
  const s = summaryOf(state.kind, m);
  return s ? say("chart.label", say(m + ".histogram"), `${state.kind}: n ${num(s.n)}, ` + ["mean", "p50", "p90", "p99", "max"].map((k) => `${k} ${num(s[k])}`).join(", ") + " " + s.unit) : say("not_observed");
}

function makeLengths() {
  const host = find("#length-charts"), d = state.doc;
  const groups = (list) => [
    { name: "from_tokens", values: list.map((g) => g.from) }, { name: "to_tokens", values: list.map((g) => g.to) }, { name: "n", values: list.map((g) => g.n) },
    { name: "input_mean", values: list.map((g) => g.input_mean) }, { name: "cached_mean", values: list.map((g) => g.cached_mean) },
    ...["p50", "p90", "p99"].map((k) => ({ name: `ttft_${k}_ms`, values: list.map((g) => g[k]) })),
  ];
  const cloud = (name) => {
    const x = column(name), y = column("ttft_ms"), keep = x && y ? measuredOK().filter((i) => x[i] === x[i] && y[i] === y[i]) : [];
    return { x: gather(x, keep), y: gather(y, keep) };
  };
  const one = (id, name, list, color) => {
    const xy = cloud(name);
    addChart(host, {
      id, title: id, height: 220,
      draw: (c, w, h, ink) => drawCloud(c, w, h, { ...xy, yLog: distState.log, xUnit: say("tokens"), color }, ink),
      legend: () => [{ color, text: `TTFT ms · ${num(xy.x.length)} ${say(xy.x.length === 1 ? "request" : "requests")}` }],
      columns: () => groups(list),
      rows: (i) => ({ phase: "measure", outcome: "ok", has: ["ttft_ms"], range: { [name]: [list[i].from, list[i].to, true] }, sort: "ttft_ms" }),
      label: () => say("chart.label", say(id), list.map((g) => `${num(g.from)}–${num(g.to)}: p50 ${num(g.p50)} ms`).join("; ")),
    });
  };
  if (d.by_input?.length) one("ttft-input", "input", d.by_input, "blue");
  if (d.by_cached?.length) one("ttft-cached", "cached", d.by_cached, "green");
  else host.append(el("p", { className: "absent" }, word(d.by_input?.length ? "cached.none" : !d.results.counts.ok ? "absent.none_ok" : d.dists.some((x) => x.metric === "ttft_ms") ? "absent.input" : "absent.ttft")));
}
