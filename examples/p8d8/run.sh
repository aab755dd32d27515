#!/usr/bin/env bash
# A prefill/decode-disaggregated server at its limit, with prompts of 131,076 tokens
# of which 118,784 are cached: the prompts are built and proved, the cache is
# prepared, and whole and stable stand side by side with the reason for their
# difference. 350 MB of disk; 1 min 32 s (37 s of processor time) on two processors
# that other work kept busy (load 12 to 18), by: time bash examples/p8d8/run.sh
# Leaves the run in the folder given as $1 (default: runs).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:-runs}
tmp=$(mktemp -d)
command -v tokentape >/dev/null || { echo "tokentape is not in PATH; build it: go install ./cmd/tokentape" >&2; exit 2; }

tokentape dataset build --out "$tmp/hot.jsonl" --tokenizer sim --requests 640 --input 131076 --length-of templated \
  --cached-tokens 118784 --page-size 64 --output-len 1024 --seeded-by-prepare --seed 7

tokentape sim --addr 127.0.0.1:0 --for 10m --slots 96 --context 262144 --page-size 64 --cache-pages 262144 --disaggregated \
  --prefill-fixed-ms 2 --prefill-us-per-token 2 --decode-base-ms 2.4 --decode-per-seq-us 7 >"$tmp/log" 2>&1 &
server=$!
stop() { kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; }
trap 'stop; rm -rf "$tmp"' EXIT
url=
for _ in $(seq 100); do
  url=$(grep -om1 'http://[0-9.:]*' "$tmp/log" || true)
  [ -n "$url" ] && break
  kill -0 "$server" 2>/dev/null || { cat "$tmp/log" >&2; exit 1; }
  sleep 0.05
done
[ -n "$url" ] || { echo "the simulated server did not say where it listens:" >&2; cat "$tmp/log" >&2; exit 1; }

TOKENTAPE_URL=$url TOKENTAPE_ROWS=$tmp/hot.jsonl TOKENTAPE_PREPARE=$tmp/hot.prepare.jsonl \
  tokentape run "$here/spec.yaml" --out "$out" </dev/null || { code=$?; [ $code = 5 ] || exit $code; }
run=$(ls -d "$out"/p8d8/*/ | tail -n 1)
printf '\n== why the windows differ, and the same tape as AISBench would have printed it\n'
tokentape report "$run" --window whole,stable --full | sed -n '/What differs/,/^Warnings/p'
tokentape report "$run" --window stable --as aisbench | sed -n '/AISBench/,$p'
