#!/usr/bin/env bash
# Two servers that differ by 3 % in decode speed, and two that do not differ, each
# pair run in turns and compared. Simulated servers on real sockets; about one
# minute. Leaves the runs in the folder given as $1 (default: runs).
#
# ROUNDS=10 does it ten times each and counts the verdicts (about ten minutes): it
# exits 1 unless at least 9 of 10 are right.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:-runs}
rounds=${ROUNDS:-1}
command -v tokentape >/dev/null || { echo "tokentape is not in PATH; build it: go install ./cmd/tokentape" >&2; exit 2; }

logs=$(mktemp -d)
servers=()
stop() { kill "${servers[@]}" 2>/dev/null || true; wait "${servers[@]}" 2>/dev/null || true; rm -rf "$logs"; }
trap stop EXIT
serve() { # NAME DECODE_MS: sets the variable NAME to its URL
  tokentape sim --addr 127.0.0.1:0 --for 1h --cache=false --decode-base-ms "$2" --decode-per-seq-us 50 >"$logs/$1" 2>&1 &
  servers+=($!)
  for _ in $(seq 100); do
    printf -v "$1" '%s' "$(grep -om1 'http://[0-9.:]*' "$logs/$1" || true)"
    [ -n "${!1}" ] && return
    sleep 0.05
  done
  cat "$logs/$1" >&2; exit 1
}
serve base 10
serve same 10
serve slower 10.306 # a step of 10 + 4 × 0.05 ms lasts 3 % longer

# Exit code 5 is "measured, but not fit for use", for instance on a machine that is
# busy with other work; the comparison leaves such runs out and says so.
ab() { # NAME URL: runs both in turns; sets $verdict
  local code=0 parent
  tokentape run "$here/spec.yaml" --url "$base" --repeat "${REPEAT:-5}" --against "$2" --seed "$round" --name "$1" --out "$out" --no-live \
    >"$logs/out" 2>"$logs/err" </dev/null || code=$?
  case $code in 0 | 5) ;; *) cat "$logs/err" >&2; exit $code ;; esac
  parent=$(ls -d "$out/$1"/*/ | tail -n 1)
  code=0
  tokentape compare "$parent" --fit-only >"$logs/compare" 2>"$logs/err" || code=$?
  case $code in 0 | 6) ;; *) cat "$logs/err" >&2; exit $code ;; esac
  verdict=$(sed -n '1s/:.*//p' "$logs/compare" | tr '[:upper:]' '[:lower:]')
  [ "$rounds" -gt 1 ] || cat "$logs/compare"
  printf '%s, round %s: %s\n' "$1" "$round" "$(sed -n '1,/^$/p' "$logs/compare" | tr '\n' ' ')"
}

right=0 wrong=0
for round in $(seq "$rounds"); do
  ab slower "$slower"; [ "$verdict" = worse ] && right=$((right + 1))
  ab equal "$same"; case $verdict in better | worse) wrong=$((wrong + 1)) ;; esac
done
printf '3 %% slower: called worse in %s of %s; equal: called different in %s of %s\n' "$right" "$rounds" "$wrong" "$rounds"
[ $((right * 10)) -ge $((rounds * 9)) ] && [ $((wrong * 10)) -le "$rounds" ]
