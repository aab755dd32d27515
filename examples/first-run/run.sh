#!/usr/bin/env bash
# From the first request to a report, against a simulated server: one request,
# four, then a load of about ten seconds. Ends by itself and leaves the runs in
# the folder given as $1 (default: runs).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:-runs}
log=$(mktemp)
command -v tokentape >/dev/null || { echo "tokentape is not in PATH; build it: go install ./cmd/tokentape" >&2; exit 2; }

tokentape sim --addr 127.0.0.1:0 --for 10m >"$log" 2>&1 &
server=$!
stop() { kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; }
trap 'stop; rm -f "$log"' EXIT
url=
for _ in $(seq 100); do
  url=$(grep -om1 'http://[0-9.:]*' "$log" || true)
  [ -n "$url" ] && break
  kill -0 "$server" 2>/dev/null || { cat "$log" >&2; exit 1; }
  sleep 0.05
done
[ -n "$url" ] || { echo "the simulated server did not say where it listens:" >&2; cat "$log" >&2; exit 1; }
export TOKENTAPE_URL=$url

# Exit code 5 is "measured, but not fit for use", for instance on a machine that is
# busy with other work: the report says why, and the story goes on.
step() {
  printf '\n== %s\n$ tokentape run' "$1"; shift; printf ' %q' "$@"; printf '\n'
  tokentape run "$@" --out "$out" </dev/null || { code=$?; [ $code = 5 ] || exit $code; }
}

step "one request: does it answer, what does it report?" \
  "$here/spec.yaml" --name one --requests 1 --concurrency 1
step "four requests, at most two in flight, one offered per second" \
  "$here/spec.yaml" --name four
step "a load: 150 requests, at most eight in flight, 15 offered per second" \
  "$here/spec.yaml" --name load --requests 150 --concurrency 8 --rate 15 --arrivals poisson --repeat cycle

stop
run=$(ls -d "$out"/load/*/ | tail -n 1)
printf '\n== the server is gone, the tape is not\n$ tokentape report %s --window steady\n' "$run"
tokentape report "$run" --window steady
