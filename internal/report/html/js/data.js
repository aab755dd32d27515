// The data document: see the comments of Document and Column in document.go and
// columns.go.

// readDocument takes a document apart. Columns are unpacked when they are asked for.
function readDocument(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (new TextDecoder().decode(bytes.subarray(0, 4)) !== "TTPG") throw new Error("not a document of tokentape");
  const n = view.getUint32(4, true);
  const doc = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + n)));
  let at = 8 + n;
  doc.col = {};
  for (const c of doc.columns) {
    doc.col[c.name] = { ...c, bytes: bytes.subarray(at, at + c.planes * c.rows) };
    at += c.planes * c.rows;
  }
  return doc;
}

// stored are the whole numbers of a column, NaN where a value is absent.
function stored(doc, name) {
  const c = doc.col[name];
  if (c.stored) return c.stored;
  const out = new Float64Array(c.rows), base = c.base ? stored(doc, c.base) : null;
  let k = 1;
  for (let p = 0; p < c.planes; p++, k *= 256) {
    const plane = c.bytes.subarray(p * c.rows, (p + 1) * c.rows);
    if (p === 0) for (let i = 0; i < c.rows; i++) out[i] = plane[i];
    else for (let i = 0; i < c.rows; i++) out[i] += plane[i] * k;
  }
  let last = 0;
  const small = c.planes <= 3; // whole numbers of 32 bits are quicker
  for (let i = 0; i < c.rows; i++) {
    const u = out[i] - 1;
    if (u < 0) { out[i] = NaN; continue; }
    let v = small ? (u >>> 1) ^ -(u & 1) : u % 2 ? -(u + 1) / 2 : u / 2;
    if (c.delta) v = last += v;
    else if (base !== null && base[i] === base[i]) v += base[i];
    out[i] = v;
  }
  return (c.stored = out);
}

// gather are the values of a column, divided by by, of some rows in their order; NaN
// where there is no column.
function gather(c, rows, by = 1) {
  const out = new Float64Array(rows.length);
  if (!c) return out.fill(NaN);
  for (let k = 0; k < rows.length; k++) out[k] = c[rows[k]] / by;
  return out;
}

// column is a column of the rows, null where the run has none.
function column(name) {
  const c = state.doc.col[name];
  if (!c) return null;
  if (!c.values) {
    const from = stored(state.doc, name);
    if (c.per === 1) c.values = from;
    else {
      c.values = new Float64Array(c.rows);
      for (let i = 0; i < c.rows; i++) c.values[i] = from[i] / c.per;
    }
  }
  return c.values;
}
// measuredOK are the rows that enter statistics: ok requests of the measured phase.
function measuredOK() {
  const d = state.doc;
  if (d.measured) return d.measured;
  const phase = column("phase"), outcome = column("outcome"), list = new Uint32Array(d.rows);
  const m = d.col.phase?.words.indexOf("measure"), ok = d.col.outcome?.words.indexOf("ok");
  let n = 0;
  for (let i = 0; phase && outcome && i < d.rows; i++) if (phase[i] === m && outcome[i] === ok) list[n++] = i;
  return (d.measured = list.subarray(0, n));
}
// value is what row i has in a column: a number, a word, or null.
function value(name, i) {
  const c = column(name);
  if (!c || c[i] !== c[i]) return null;
  const w = state.doc.col[name].words;
  return w ? w[c[i]] : c[i];
}

async function loadDocument() {
  const text = find("#data").textContent;
  let packed;
  if (Uint8Array.fromBase64) packed = Uint8Array.fromBase64(text);
  else {
    const raw = atob(text);
    packed = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) packed[i] = raw.charCodeAt(i);
  }
  find("#data").remove(); // it has been read, and would be kept twice
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return readDocument(new Uint8Array(await new Response(stream).arrayBuffer()));
}
