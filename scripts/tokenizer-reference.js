// The reference side of internal/workload/tokenizer's tests: the tokenizers of
// Hugging Face (the Rust library), tiktoken and SentencePiece, from npm.
//
//   node tokenizer-reference.js small OUT N SEED           OUT/small.jsonl: tokenizers
//                                                          that are made here
//   node tokenizer-reference.js models FOLDER OUT N SEED   OUT/models.jsonl: the models
//                                                          of FOLDER, and tiktoken's
//
// Each line is a tokenizer with N texts and what the reference makes of them.
//
// scripts/tokenizer-diff.sh installs the packages and runs it.
'use strict';
const fs = require('fs');
const path = require('path');
const { Tokenizer } = require('@anush008/tokenizers');

// ---- deterministic randomness (mulberry32)

function random(seed) {
  let a = seed >>> 0;
  const next = () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = a;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const below = (n) => Math.floor(next() * n);
  return { next, below, pick: (xs) => xs[below(xs.length)] };
}

// ---- texts

const tricky = [...("aAbzZsStTdDmMrReEvVlLſKk09²Ⅷ٣½'’\" \t\r\n\v\f\u0085\u00a0\u2028\u3000!,./;:?()[]{}<>|\\^_`~+-=$#@&*%€" +
  '。、！「」·☃😀👩‍👩‍👧🇩🇪中文龥龦ぁゟ゠ァヿ・ー゛゙あア한글กำʰªºǅǈéßİıΣσςЖжאبाःçñǘ̃̈̌⃝\u0000\u0001\u001f\u007f\u00ad\u200b\u200d\ufeff\ufffd𝐀𝒶ⅻ〇々▁ﬁ①Å豈ｱﾞㄱ')];
const words = ['Hello', ' world', "don't", "I'LL", "we'Ve", 'the quick brown fox', '12345', '3.14', '\r\n\r\n', '   ', '\n  \n', ' \n', 'HTTPServer',
  'camelCase', '中A', 'A中b', 'éA', 'été', 'e\u0301te\u0301', 'naïve café', ' .x', '?\n\n', '//\n/', '日本語のテキスト', '한국어', 'Ελληνικά ΣΊΣΥΦΟΣ', 'русский язык',
  'العربية', 'हिन्दी क्षि', 'ไทย', 'def f(x):\n\treturn x**2\n', '{"a": [1, 2.5e-3, null]}', '<s>', '</s>', '<unk>', '[MASK]', ' [MASK] ', 'x[MASK]y', '<0x41>', '##a', '▁a',
  "isn't it ?", ' do not ', " ' ", 'a'.repeat(70), ' '.repeat(40), '🏳️‍🌈', '\u0301\u0300', 'o\u0302\u0323', 'q\u0307\u0323', '\u1100\u1161\u11a8', 'z' + '\u0301\u0323'.repeat(20)];

function codePoint(r) {
  for (;;) {
    const c = r.pick([() => r.below(0x80), () => r.below(0x800), () => r.below(0x3100), () => r.below(0x10000), () => r.below(0x1fb00), () => r.below(0x110000)])();
    if (c < 0xd800 || c > 0xdfff) return String.fromCodePoint(c);
  }
}

function texts(n, seed, extra) {
  const r = random(seed);
  const out = ['', ' ', 'Hello, world!', ' Hello  world ', 'a', "It's 1234 o'clock\n\n  isn't it?  ", 'Grüße aus Köln — 中文字, 日本!\t😀'];
  while (out.length < n) {
    let s = '';
    for (let k = r.below(10); k >= 0; k--) {
      const kind = r.next();
      if (kind < 0.35) for (let i = r.below(5); i >= 0; i--) s += r.pick(tricky);
      else if (kind < 0.7) s += r.pick(words);
      else if (kind < 0.8) s += ' ';
      else if (kind < 0.88 && extra.length) s += r.pick(extra);
      else s += codePoint(r);
    }
    out.push(s);
  }
  return out.slice(0, n);
}

// ---- what the reference says

async function answers(tok, list, ids, r) {
  const plain = await tok.encodeBatch(list, { addSpecialTokens: false });
  const special = await tok.encodeBatch(list, { addSpecialTokens: true });
  const want = [];
  for (let i = 0; i < list.length; i++) {
    const s = special[i].getIds();
    // Ids of a text, and ids at random, which decoders meet too.
    const any = Array.from({ length: 1 + r.below(12) }, () => r.pick(ids));
    want.push({
      text: list[i], ids: plain[i].getIds(), special: s, spans: plain[i].getOffsets(),
      skip: await tok.decode(s, true), full: await tok.decode(s, false),
      any, anySkip: await tok.decode(any, true), anyFull: await tok.decode(any, false),
    });
  }
  return want;
}

// ---- small tokenizers

const hex = (b) => '<0x' + b.toString(16).toUpperCase().padStart(2, '0') + '>';
const added = (id, content, more) => ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...more });

// reveal shows the pieces that reach the model: characters one by one, all but the
// first of a piece behind "##", in bytes unless they are a to z.
function reveal() {
  const vocab = { '<unk>': 0 };
  for (let b = 0; b < 256; b++) vocab[hex(b)] = Object.keys(vocab).length;
  for (const c of 'abcdefghijklmnopqrstuvwxyz') vocab[c] = Object.keys(vocab).length;
  for (const c of 'abcdefghijklmnopqrstuvwxyz') vocab['##' + c] = Object.keys(vocab).length;
  return { type: 'BPE', dropout: null, unk_token: '<unk>', continuing_subword_prefix: '##', end_of_word_suffix: null, fuse_unk: false, byte_fallback: true, ignore_merges: false, vocab, merges: [] };
}

const byteRunes = (() => {
  const out = [];
  let next = 256;
  for (let b = 0; b < 256; b++) {
    const own = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    out.push(String.fromCodePoint(own ? b : next++));
  }
  return out;
})();

// byteBPE has merges of frequent neighbours in the words above.
function byteBPE(more) {
  const vocab = {};
  for (const c of byteRunes) vocab[c] = Object.keys(vocab).length;
  const seqs = words.concat(tricky, 'the then there other another in inn ing thing nothing 11 111 1111 a aa aaa aaaa \n\n \n\n\n'.split(' '))
    .map((w) => [...Buffer.from(w)].map((b) => byteRunes[b]));
  const merges = [];
  for (let k = 0; k < 150; k++) {
    const count = new Map();
    for (const s of seqs) for (let i = 0; i + 1 < s.length; i++) count.set(s[i] + ' ' + s[i + 1], (count.get(s[i] + ' ' + s[i + 1]) || 0) + 1);
    const [best] = [...count].sort((x, y) => y[1] - x[1] || (x[0] < y[0] ? -1 : 1))[0];
    const [l, r] = best.split(' ');
    merges.push(k % 2 ? best : [l, r]);
    if (!(l + r in vocab)) vocab[l + r] = Object.keys(vocab).length;
    for (const s of seqs) for (let i = 0; i + 1 < s.length; i++) if (s[i] === l && s[i + 1] === r) s.splice(i, 2, l + r);
  }
  // Entries that no merge leads to, for ignore_merges.
  for (const w of ['Ġworld', 'Hello', 'ĠHello']) if (!(w in vocab)) vocab[w] = Object.keys(vocab).length;
  return { type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false, byte_fallback: false, ignore_merges: false, vocab, merges: merges.map((m) => (Array.isArray(m) ? m : m.split(' '))), ...more };
}

function charBPE(more, chars) {
  const vocab = { '<unk>': 0, '<s>': 1, '</s>': 2 };
  const put = (t) => { if (!(t in vocab)) vocab[t] = Object.keys(vocab).length; };
  if (more.byte_fallback) for (let b = 0; b < 256; b++) put(hex(b));
  for (const c of chars) put(c);
  const merges = [];
  for (const [l, r] of [['l', 'l'], ['▁', 'a'], ['▁', 't'], ['h', 'e'], ['▁t', 'he'], ['H', 'e'], ['He', 'll'], ['Hell', 'o'], ['▁', 'Hello'], ['▁', '▁'], ['▁▁', '▁▁'], ['a', 'a'], ['aa', 'aa'], ['aa', 'a'], ['o', 'r'], ['w', 'or'], ['▁', 'wor'], ['1', '2']]) {
    if (!(l in vocab) || !(r in vocab)) continue;
    put(l + r);
    merges.push(l + ' ' + r);
  }
  return { type: 'BPE', dropout: null, unk_token: '<unk>', continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false, byte_fallback: false, vocab, merges, ...more };
}

function unigram(more) {
  const vocab = [['<unk>', 0], ['<s>', 0], ['</s>', 0]];
  if (more.byte_fallback) for (let b = 0; b < 256; b++) vocab.push([hex(b), -20]);
  for (const [t, s] of Object.entries({ '▁': -3, '▁a': -4.5, '▁the': -3.5, 't': -6, h: -6.25, e: -5, he: -7.5, th: -8, '▁t': -5.5, Hello: -9, '▁Hello': -9.5, l: -6, ll: -7, o: -6, a: -5.5, aa: -11, aaa: -16.5, aaaa: -22.0001, 中: -10, 文: -10, 中文: -13, é: -9, '12': -8, 1: -7, 2: -7, 3: -7.5, '▁w': -5.25, or: -6.5, ld: -8, 'ŠĽ': -9, b: -8, c: -8, d: -8, i: -7, n: -7, s: -7, ' ': -9, '.': -6, ',': -6 })) vocab.push([t, s]);
  return { type: 'Unigram', unk_id: 0, vocab, byte_fallback: false, ...more };
}

function wordPiece(more) {
  const vocab = {};
  for (const t of ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', 'the', 'hello', 'world', 'quick', 'un', '##able', '##s', '##t', 'don', "'", 't', '中', '文', ',', '.', '!', '?', ...'abcdefghijklmnopqrstuvwxyz0123456789', ...[...'abcdefghijklmnopqrstuvwxyz0123456789'].map((c) => '##' + c)]) if (!(t in vocab)) vocab[t] = Object.keys(vocab).length;
  return { type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##', max_input_chars_per_word: 20, vocab, ...more };
}

// charsmap is a precompiled_charsmap: a double-array trie and its replacements.
function charsmap(rules) {
  let pool = Buffer.alloc(0);
  const root = { next: new Map() };
  for (const [from, to] of rules) {
    let n = root;
    for (const b of Buffer.from(from)) {
      if (!n.next.has(b)) n.next.set(b, { next: new Map() });
      n = n.next.get(b);
    }
    n.value = pool.length;
    pool = Buffer.concat([pool, Buffer.from(to), Buffer.from([0])]);
  }
  const units = new Uint32Array(4096);
  const used = new Set([0]); // units taken
  const bases = new Set(); // and where children start: no two nodes may share
  const place = (node, at) => {
    const labels = [...node.next.keys()].sort((x, y) => x - y);
    if (node.value !== undefined) labels.unshift(0);
    let base = 1;
    while (bases.has(base) || labels.some((l) => used.has(base ^ l))) base++;
    bases.add(base);
    for (const l of labels) used.add(base ^ l);
    units[at] = ((units[at] & 0xff) | ((at ^ base) << 10)) >>> 0;
    if (node.value !== undefined) {
      units[at] = (units[at] | 0x100) >>> 0;
      units[base] = (node.value | 0x80000000) >>> 0;
    }
    for (const [l, n] of node.next) {
      units[base ^ l] = l;
      place(n, base ^ l);
    }
  };
  place(root, 0);
  const head = Buffer.alloc(4);
  head.writeUInt32LE(units.length * 4);
  return Buffer.concat([head, Buffer.from(units.buffer), pool]);
}

const rules = [['ﬁ', 'fi'], ['①', '1'], ['\u3000', ' '], ['\t', ' '], ['\n', ' '], ['\u00a0', ' '], ['e\u0301', 'é'], ['Å', 'Å'], ['ｱ', 'ア'], ['ｱﾞ', 'ア゙'], ['\u200b', ''], ['\u0001', ''], ['豈', '豈'], ['½', '1/2'], ['क', 'k'], ['!', '!!'], ['A', 'a']];

function smallTokenizers() {
  const T = (o) => ({ version: '1.0', truncation: null, padding: null, added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, model: reveal(), ...o });
  const seq = (key, list) => ({ type: 'Sequence', [key]: list });
  const out = {};
  const N = (name, normalizer, more) => { out['norm-' + name] = T({ normalizer, ...more }); };
  const P = (name, pre_tokenizer, more) => { out['pre-' + name] = T({ pre_tokenizer, ...more }); };
  for (const f of ['NFC', 'NFD', 'NFKC', 'NFKD', 'Lowercase', 'Nmt', 'ByteLevel']) N(f.toLowerCase(), { type: f });
  N('stripaccents', seq('normalizers', [{ type: 'NFD' }, { type: 'StripAccents' }]));
  N('strip', { type: 'Strip', strip_left: true, strip_right: true });
  N('strip-left', { type: 'Strip', strip_left: true, strip_right: false });
  N('prepend', { type: 'Prepend', prepend: '▁' });
  N('replace', { type: 'Replace', pattern: { String: ' ' }, content: '▁' });
  N('replace-regex', { type: 'Replace', pattern: { Regex: '\\s{2,}|\\w(?=!)' }, content: '$1' });
  N('precompiled', { type: 'Precompiled', precompiled_charsmap: charsmap(rules).toString('base64') });
  N('bert', { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true });
  N('bert-cased', { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: false, strip_accents: null, lowercase: false });
  N('bert-accents', { type: 'BertNormalizer', clean_text: false, handle_chinese_chars: true, strip_accents: true, lowercase: false });
  N('empty-sequence', seq('normalizers', []));
  N('sequence', seq('normalizers', [{ type: 'NFKC' }, { type: 'Lowercase' }, { type: 'Strip', strip_left: false, strip_right: true }, { type: 'Replace', pattern: { String: '..' }, content: '' }]));

  for (const a of [true, false]) for (const u of [true, false]) P(`bytelevel-${a ? 'blank' : 'plain'}-${u ? 'regex' : 'whole'}`, { type: 'ByteLevel', add_prefix_space: a, trim_offsets: false, use_regex: u });
  for (const f of ['Whitespace', 'WhitespaceSplit', 'BertPreTokenizer', 'UnicodeScripts']) P(f.toLowerCase(), { type: f });
  P('chardelimiter', { type: 'CharDelimiterSplit', delimiter: 'l' });
  P('fixedlength', { type: 'FixedLength', length: 3 });
  for (const i of [true, false]) P('digits-' + i, { type: 'Digits', individual_digits: i });
  for (const b of ['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous']) {
    P('punctuation-' + b.toLowerCase(), { type: 'Punctuation', behavior: b });
    for (const i of [true, false]) {
      P(`split-${b.toLowerCase()}-${i}`, { type: 'Split', pattern: { Regex: '\\p{L}+|\\s' }, behavior: b, invert: i });
      P(`split-string-${b.toLowerCase()}-${i}`, { type: 'Split', pattern: { String: 'l' }, behavior: b, invert: i });
    }
  }
  P('split-empty', { type: 'Split', pattern: { Regex: 'x*' }, behavior: 'Isolated', invert: false });
  P('split-word', { type: 'Split', pattern: { Regex: '\\w+|\\W' }, behavior: 'Isolated', invert: false });
  P('split-possessive', { type: 'Split', pattern: { Regex: '[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|(?:\\p{N}|é)++| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|a*+a|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s' }, behavior: 'Isolated', invert: false });
  P('split-lines', { type: 'Split', pattern: { Regex: '^.+$|[\\h]+' }, behavior: 'Isolated', invert: false });
  P('kimi', { type: 'Split', behavior: 'Isolated', invert: false, pattern: { Regex: "[\\p{Han}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+" } });
  P('qwen-marks', { type: 'Split', behavior: 'Isolated', invert: false, pattern: { Regex: "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+" } });
  for (const scheme of ['always', 'never', 'first']) for (const split of [true, false]) {
    const m = { type: 'Metaspace', replacement: '▁', prepend_scheme: scheme, split };
    P(`metaspace-${scheme}-${split}`, m, { added_tokens: [added(309, '[MASK]')], decoder: m });
  }
  P('metaspace-old', { type: 'Metaspace', replacement: '▁', add_prefix_space: true }, { decoder: { type: 'Metaspace', replacement: '▁', add_prefix_space: true } });
  P('metaspace-first-stripped', { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first', split: true }, { normalizer: { type: 'Strip', strip_left: true, strip_right: false }, added_tokens: [added(309, '[MASK]', { rstrip: true })] });
  P('falcon', seq('pretokenizers', [{ type: 'Punctuation', behavior: 'Contiguous' }, { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true }, { type: 'Digits', individual_digits: false }, { type: 'Split', pattern: { Regex: '[0-9][0-9][0-9]' }, behavior: 'Isolated', invert: false }]));
  P('starcoder', seq('pretokenizers', [{ type: 'Digits', individual_digits: true }, { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true }]), { model: byteBPE(), decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true } });

  const bl = (a, u) => ({ type: 'ByteLevel', add_prefix_space: a, trim_offsets: false, use_regex: u });
  out['model-bytebpe'] = T({ model: byteBPE(), pre_tokenizer: bl(false, true), decoder: bl(false, true), added_tokens: [added(Object.keys(byteBPE().vocab).length, '<|end|>'), added(Object.keys(byteBPE().vocab).length + 1, 'été', { normalized: true, special: false })], normalizer: { type: 'NFC' } });
  out['model-bytebpe-whole'] = T({ model: byteBPE({ ignore_merges: true }), pre_tokenizer: bl(true, true), decoder: bl(true, true) });
  out['model-bytebpe-nosplit'] = T({ model: byteBPE({ ignore_merges: true }), pre_tokenizer: bl(false, false), decoder: bl(true, true) });
  const ascii = [...'▁ abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,!?é中'];
  const llamaDecoder = seq('decoders', [{ type: 'Replace', pattern: { String: '▁' }, content: ' ' }, { type: 'ByteFallback' }, { type: 'Fuse' }, { type: 'Strip', content: ' ', start: 1, stop: 0 }]);
  const bos = { type: 'TemplateProcessing', single: [{ SpecialToken: { id: '<s>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }, { SpecialToken: { id: '</s>', type_id: 0 } }], pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }], special_tokens: { '<s>': { id: '<s>', ids: [1, 1], tokens: ['<s>', '<s>'] }, '</s>': { id: '</s>', ids: [2], tokens: ['</s>'] } } };
  const three = [added(0, '<unk>'), added(1, '<s>'), added(2, '</s>')];
  const llama = { normalizer: seq('normalizers', [{ type: 'Prepend', prepend: '▁' }, { type: 'Replace', pattern: { String: ' ' }, content: '▁' }]), decoder: llamaDecoder, post_processor: bos, added_tokens: three };
  out['model-llama'] = T({ model: charBPE({ byte_fallback: true, fuse_unk: true }, ascii), ...llama });
  out['model-bpe-unk'] = T({ model: charBPE({}, ascii), ...llama });
  out['model-bpe-fuse'] = T({ model: charBPE({ fuse_unk: true }, ascii), ...llama });
  out['model-bpe-drop'] = T({ model: charBPE({ unk_token: null }, ascii) });
  out['model-clip'] = T({ model: (() => { const m = charBPE({ end_of_word_suffix: '</w>', fuse_unk: true }, [...ascii, ...ascii.map((c) => c + '</w>')]); for (const [l, r] of [['h', 'e</w>'], ['l', 'o</w>'], ['a', 'a</w>']]) { m.vocab[l + r] = Object.keys(m.vocab).length; m.merges.push(l + ' ' + r); } return m; })(), normalizer: { type: 'Lowercase' }, pre_tokenizer: { type: 'Whitespace' }, decoder: { type: 'BPEDecoder', suffix: '</w>' }, post_processor: { type: 'RobertaProcessing', sep: ['</s>', 2], cls: ['<s>', 1], trim_offsets: false, add_prefix_space: false }, added_tokens: three });
  const meta = { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true };
  out['model-unigram'] = T({ model: unigram({}), pre_tokenizer: meta, decoder: meta, post_processor: bos, added_tokens: three });
  out['model-unigram-bytes'] = T({ model: unigram({ byte_fallback: true }), pre_tokenizer: meta, decoder: seq('decoders', [{ type: 'ByteFallback' }, meta]), added_tokens: three });
  out['model-unigram-precompiled'] = T({ model: unigram({}), normalizer: seq('normalizers', [{ type: 'Precompiled', precompiled_charsmap: charsmap(rules).toString('base64') }, { type: 'Replace', pattern: { Regex: ' {2,}' }, content: ' ' }]), pre_tokenizer: seq('pretokenizers', [{ type: 'WhitespaceSplit' }, meta]), decoder: meta, added_tokens: three });
  const bertTokens = [added(0, '[PAD]'), added(1, '[UNK]'), added(2, '[CLS]'), added(3, '[SEP]'), added(4, '[MASK]', { lstrip: true })];
  out['model-bert'] = T({ model: wordPiece({}), normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true }, pre_tokenizer: { type: 'BertPreTokenizer' }, decoder: { type: 'WordPiece', prefix: '##', cleanup: true }, post_processor: { type: 'BertProcessing', sep: ['[SEP]', 3], cls: ['[CLS]', 2] }, added_tokens: bertTokens });
  out['model-bert-rough'] = T({ model: wordPiece({ max_input_chars_per_word: 5 }), pre_tokenizer: { type: 'WhitespaceSplit' }, decoder: { type: 'WordPiece', prefix: '##', cleanup: false } });
  out['model-wordlevel'] = T({ model: { type: 'WordLevel', unk_token: '<unk>', vocab: { '<unk>': 0, Hello: 1, world: 2, '!': 3, a: 4 } }, pre_tokenizer: { type: 'Whitespace' } });
  out['decoder-ctc'] = T({ model: { type: 'WordLevel', unk_token: '<unk>', vocab: { '<unk>': 0, '<pad>': 1, '|': 2, a: 3, b: 4, ' ,': 5 } }, pre_tokenizer: { type: 'Whitespace' }, decoder: { type: 'CTC', pad_token: '<pad>', word_delimiter_token: '|', cleanup: true } });
  out['decoder-strip'] = T({ model: charBPE({}, ascii), decoder: seq('decoders', [{ type: 'Strip', content: 'l', start: 2, stop: 0 }, { type: 'Replace', pattern: { Regex: '[a-c]' }, content: '-' }]) });
  for (const more of [{ single_word: true }, { lstrip: true }, { rstrip: true }, { lstrip: true, rstrip: true }, { normalized: true }, { normalized: true, special: false, single_word: true }]) {
    const name = Object.entries(more).map(([k, v]) => (v ? k : 'not' + k)).join('-').replace(/_/g, '');
    out['added-' + name] = T({ normalizer: { type: 'Lowercase' }, pre_tokenizer: { type: 'Whitespace' }, added_tokens: [added(309, '[MASK]', more), added(310, '[MASK] ', more), added(311, 'été', more), added(312, '  ', more)] });
  }
  return out;
}

// ---- SentencePiece models

function varint(n) { const b = []; while (n > 127) { b.push((n & 127) | 128); n >>>= 7; } b.push(n); return Buffer.from(b); }
const bytesField = (f, b) => Buffer.concat([varint((f << 3) | 2), varint(b.length), b]);
const intField = (f, n) => Buffer.concat([varint(f << 3), varint(n)]);

function spModel({ kind, pieces, trainer = [], normalizer = [] }) {
  const out = [];
  for (const [text, score, type] of pieces) {
    const f = Buffer.alloc(4);
    f.writeFloatLE(score);
    out.push(bytesField(1, Buffer.concat([bytesField(1, Buffer.from(text)), Buffer.from([0x15]), f, ...(type ? [intField(3, type)] : [])])));
  }
  out.push(bytesField(2, Buffer.concat([intField(3, kind), ...trainer])));
  out.push(bytesField(3, Buffer.concat([bytesField(1, Buffer.from('own')), ...normalizer])));
  return Buffer.concat(out);
}

function spModels() {
  const special = [['<unk>', 0, 2], ['<s>', 0, 3], ['</s>', 0, 3]];
  const bytes = Array.from({ length: 256 }, (_, b) => [hex(b), 0, 6]);
  const uni = unigram({}).vocab.slice(3).filter(([t]) => t !== ' ').map(([t, s]) => [t, s]);
  const chars = [...'▁abcdefghijklmnopqrstuvwxyzHW0123456789.,!é中'].map((c, i) => [c, -100 - i]);
  const bpe = ['ll', '▁a', '▁t', 'he', '▁the', 'He', 'Hell', 'Hello', '▁Hello', '▁▁', '▁▁▁▁', 'aa', 'aaaa', 'aaa', 'or', 'wor', '▁wor', '12'].map((t, i) => [t, -(i >> 1)]);
  const user = [['[MASK]', 0, 4], ['aa▁', 0, 4], ['中é', 0, 4]];
  const map = [bytesField(2, charsmap(rules))];
  return {
    'sp-unigram': { kind: 1, pieces: [...special, ...uni], normalizer: map },
    'sp-unigram-bytes': { kind: 1, pieces: [...special, ...bytes, ...uni, ...user], trainer: [intField(35, 1)], normalizer: [intField(4, 0)] },
    'sp-unigram-suffix': { kind: 1, pieces: [...special, ...uni, ['a▁', -4, 0]], trainer: [intField(24, 1)], normalizer: map },
    'sp-bpe': { kind: 2, pieces: [...special, ...bpe, ...chars], normalizer: map },
    'sp-bpe-bytes': { kind: 2, pieces: [...special, ...bytes, ...bpe, ...chars, ...user], trainer: [intField(35, 1)], normalizer: [intField(4, 0), ...map] },
    'sp-bpe-plain': { kind: 2, pieces: [...special, ...bpe, ...chars], normalizer: [intField(3, 0), intField(4, 0)] },
  };
}

// ---- main

// One line a tokenizer.
const write = (file, v) => fs.appendFileSync(file, JSON.stringify(v) + '\n');

async function small(out, n, seed) {
  for (const [name, json] of Object.entries(smallTokenizers())) {
    const tok = Tokenizer.fromString(JSON.stringify(json));
    const ids = Object.values(tok.getVocab(true)).sort((x, y) => x - y);
    const extra = json.added_tokens.map((a) => a.content);
    write(path.join(out, 'small.jsonl'), { name, tokenizer: json, want: await answers(tok, texts(n, seed, extra), ids, random(seed)) });
  }
  const { SentencePieceProcessor } = require('sentencepiece-js');
  for (const [name, spec] of Object.entries(spModels())) {
    const model = spModel(spec);
    const file = path.join(out, name + '.model');
    fs.writeFileSync(file, model);
    const sp = new SentencePieceProcessor();
    await sp.load(file);
    fs.unlinkSync(file);
    const r = random(seed);
    const want = [];
    for (const text of texts(n, seed, ['[MASK]'])) {
      if (/\0|^\s*\ufeff/.test(text)) continue; // its binding ends a string there, or drops it
      const ids = [...sp.encodeIds(text)];
      const any = Array.from({ length: 1 + r.below(12) }, () => r.below(spec.pieces.length));
      want.push({ text, ids, full: sp.decodeIds(ids), any, anyFull: sp.decodeIds(any) });
    }
    write(path.join(out, 'small.jsonl'), { name, model: model.toString('base64'), want });
  }
}

async function models(folder, out, n, seed) {
  for (const name of fs.readdirSync(folder).sort()) {
    const file = path.join(folder, name, 'tokenizer.json');
    if (!fs.existsSync(file)) continue;
    const tok = Tokenizer.fromFile(file);
    const ids = Object.values(tok.getVocab(true)).sort((x, y) => x - y);
    const extra = JSON.parse(fs.readFileSync(file)).added_tokens.map((a) => a.content).slice(0, 300);
    write(path.join(out, 'models.jsonl'), { name, want: await answers(tok, texts(n, seed, extra), ids, random(seed)) });
  }
  const { Tiktoken } = require('tiktoken');
  for (const name of ['gpt2', 'cl100k_base', 'o200k_base']) {
    const enc = JSON.parse(fs.readFileSync(require.resolve('tiktoken/encoders/' + name + '.json')));
    const t = new Tiktoken(enc.bpe_ranks, enc.special_tokens, enc.pat_str);
    const lines = [];
    for (const line of enc.bpe_ranks.split('\n')) {
      const [, from, ...toks] = line.split(' ');
      toks.forEach((tok, i) => lines.push(tok + ' ' + (Number(from) + i)));
    }
    const file = (name === 'gpt2' ? 'r50k_base' : name) + '.tiktoken';
    fs.writeFileSync(path.join(out, file), lines.join('\n') + '\n');
    const want = texts(n, seed, Object.keys(enc.special_tokens)).map((text) => {
      const ids = [...t.encode(text, 'all')];
      return { text, ids, full: new TextDecoder('utf-8', { ignoreBOM: true }).decode(t.decode(Uint32Array.from(ids))) };
    });
    write(path.join(out, 'models.jsonl'), { name: 'tiktoken ' + name, file, want });
    t.free();
  }
}

(async () => {
  const [mode, ...a] = process.argv.slice(2);
  if (mode === 'small') await small(a[0], Number(a[1]), Number(a[2]));
  else if (mode === 'models') await models(a[0], a[1], Number(a[2]), Number(a[3]));
  else throw new Error('usage: small OUT N SEED | models FOLDER OUT N SEED');
})().catch((e) => { console.error(e); process.exit(1); });
