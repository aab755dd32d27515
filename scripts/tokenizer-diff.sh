#!/usr/bin/env bash
# Holds internal/workload/tokenizer against the reference libraries (from npm) on
# thousands of random texts: six models, three .tiktoken files, and some eighty
# small tokenizers that between them use every normalizer, pre-tokenizer, model,
# decoder and post-processor, and SentencePiece models.
#
#   scripts/tokenizer-diff.sh            SEED=1 N=500 texts a tokenizer; about a minute
#   SEED=7 N=3000 scripts/tokenizer-diff.sh
#   scripts/tokenizer-diff.sh update     writes the small set that the default tests
#                                        read (testdata/reference.jsonl.gz)
#
# Needs node and npm. The packages stay in $XDG_CACHE_HOME/tokentape or ~/.cache.
set -euo pipefail
cd "$(dirname "$0")/.."

room=internal/workload/tokenizer
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tokentape/tokenizer-reference
seed=${SEED:-1}
n=${N:-500}

packages=(@anush008/tokenizers@0.6.0 tiktoken@1.0.22 sentencepiece-js@1.1.0)
if [ "$(cat "$cache/packages" 2>/dev/null)" != "${packages[*]}" ]; then
  rm -rf "$cache"
  mkdir -p "$cache"
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$cache" "${packages[@]}" >&2
  printf '%s' "${packages[*]}" >"$cache/packages"
fi
export NODE_PATH=$cache/node_modules

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [ "${1:-}" = update ]; then
  node scripts/tokenizer-reference.js small "$tmp" 16 1
  gzip -n9c "$tmp/small.jsonl" >"$room/testdata/reference.jsonl.gz"
  exit
fi
eval "$(scripts/tokenizers.sh)"
node scripts/tokenizer-reference.js small "$tmp" "$((n / 5))" "$seed"
node scripts/tokenizer-reference.js models "$TOKENTAPE_TOKENIZERS" "$tmp" "$n" "$seed"
TOKENTAPE_TOKENIZER_DIFF=$tmp go test -count=1 "./$room" -run 'TestReference' "$@"
