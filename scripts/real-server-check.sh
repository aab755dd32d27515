#!/usr/bin/env bash
# Runs the first-run example (1 request, then 4) against a real model server and
# checks what came back. PORT of the server: $1 (default 11534).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
port=${1:-11534}
tmp=$(mktemp -d)
trap '"$here/real-server.sh" stop "$port"; rm -rf "$tmp"' EXIT

(cd "$here/.." && go build -o "$tmp/tokentape" ./cmd/tokentape)
"$here/real-server.sh" start "$port"

# check NAME N: N requests ok, token counts from the server, and a tape that
# gives the same results again.
check() {
  local name=$1 n=$2 run
  run=$(echo "$tmp/runs/$name"/*/)
  for want in "\"planned\": $n," "\"ok\": $n," '"failed": 0,' '"fit": true,' '"output_tokens_source": "usage"'; do
    grep -qF "$want" "$run/results.json" || { echo "$name: results.json lacks $want" >&2; cat "$run/results.json" >&2; exit 1; }
  done
  "$tmp/tokentape" report "$run" --format json >"$tmp/again.json"
  cmp "$run/results.json" "$tmp/again.json" || { echo "$name: report gives other results than the run did" >&2; exit 1; }
}

spec=$here/../examples/first-run/spec.yaml
"$tmp/tokentape" run "$spec" --url "127.0.0.1:$port" --name one --requests 1 --concurrency 1 --out "$tmp/runs" --no-live </dev/null
check one 1
"$tmp/tokentape" run "$spec" --url "127.0.0.1:$port" --name four --out "$tmp/runs" --no-live </dev/null
check four 4
echo "the real server answered 1 and 4 requests; results are the same from the tape"
