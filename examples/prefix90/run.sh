#!/usr/bin/env bash
# A saturated server with a warm prefix cache: whole, stable and steady side by
# side, and the same results made again when the server is gone. About 25 s.
# Leaves the run in the folder given as $1 (default: runs).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:-runs}
tmp=$(mktemp -d)
command -v tokentape >/dev/null || { echo "tokentape is not in PATH; build it: go install ./cmd/tokentape" >&2; exit 2; }

# 640 prompts of some 2,000 simulated tokens; the first nine tenths are the same.
awk 'BEGIN {
  for (i = 0; i < 600; i++) shared = shared "keys and values of "
  for (r = 0; r < 640; r++) {
    own = ""
    for (i = 0; i < 50; i++) own = own sprintf("row%03d item%02d ", r, i)
    printf "{\"question\": \"%s%s\"}\n", shared, own
  }
}' >"$tmp/rows.jsonl"

tokentape sim --addr 127.0.0.1:0 --for 5m --slots 128 --prefill-us-per-token 20 --prefill-fixed-ms 1 --disaggregated \
  --decode-base-ms 12 --decode-per-seq-us 66 --cache-pages 65536 >"$tmp/log" 2>&1 &
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

TOKENTAPE_URL=$url TOKENTAPE_ROWS=$tmp/rows.jsonl tokentape run "$here/spec.yaml" --out "$out" </dev/null || { code=$?; [ $code = 5 ] || exit $code; }
stop
run=$(ls -d "$out"/prefix90/*/ | tail -n 1)
printf '\n== the server is gone; results.json once more, off the tape\n'
tokentape report "$run" --format json >"$tmp/again.json"
cmp "$tmp/again.json" "$run/results.json"
echo "results.json: the same bytes again"
