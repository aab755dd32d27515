#!/usr/bin/env bash
# Runs the first-run example (1 request, then 4) against a real model server by
# five APIs, a stream that the server breaks off, and a ladder beyond the server's slots, and checks what came back.
# PORT of the server: $1 (default 11534).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
port=${1:-11534}
tmp=$(mktemp -d)
trap '"$here/real-server.sh" stop "$port"; rm -rf "$tmp"' EXIT

(cd "$here/.." && go build -o "$tmp/tokentape" ./cmd/tokentape)
"$here/real-server.sh" start "$port"

# run NAME N FLAGS...: N requests ok, token counts from the server, and a tape that
# gives the same results again. Exit code 5 is about how busy this machine is, which
# the model server is meant to be.
spec=$here/../examples/first-run/spec.yaml
run() {
  local name=$1 n=$2 dir code=0
  shift 2
  "$tmp/tokentape" run "$spec" --url "127.0.0.1:$port" --name "$name" --out "$tmp/runs" --no-live "$@" </dev/null || code=$?
  [ $code = 0 ] || [ $code = 5 ] || { echo "$name: exit code $code" >&2; exit 1; }
  dir=$(echo "$tmp/runs/$name"/*/)
  for want in "\"planned\": $n," "\"ok\": $n," '"failed": 0,' '"output_tokens_source": "'; do
    grep -qF "$want" "$dir/results.json" || { echo "$name: results.json lacks $want" >&2; cat "$dir/results.json" >&2; exit 1; }
  done
  "$tmp/tokentape" report "$dir" --format json >"$tmp/again.json"
  cmp "$dir/results.json" "$tmp/again.json" || { echo "$name: report gives other results than the run did" >&2; exit 1; }
}

run one 1 --requests 1 --concurrency 1
run four 4
for api in openai-completions openai-responses anthropic-messages ollama; do
  run "$api" 4 --api "$api"
done

# After some thirty equal chunks this server ends a stream with neither finish
# reason nor [DONE]; a grammar makes the chunks equal. It answers 200, and it is no
# success.
code=0
"$tmp/tokentape" run "$spec" --url "127.0.0.1:$port" --name truncated --requests 2 --output-tokens 300 --out "$tmp/runs" --no-live \
  --set 'workload.sampling={temperature: 0, response_format: {type: json_schema, json_schema: {name: x, schema: {type: string, pattern: "^a{900}$"}}}}' </dev/null || code=$?
[ $code = 4 ] || { echo "truncated: exit code $code, want 4" >&2; exit 1; }
grep -qF '"truncated_stream": 2' "$tmp/runs/truncated"/*/results.json || { echo "truncated: no truncated_stream in results.json" >&2; exit 1; }

# A ladder up to twice the server's four slots. How fast this machine is may change
# severalfold from point to point, so what is checked is free of that: by Little's law
# requests/s × TTFT wait for their first token in the mean, and requests/s × (E2E − TTFT)
# are being answered, which throughput cannot outgrow; and TTFT in the time that the rest
# of an answer takes. A model of random weights may end at once, which is a failure and
# exit code 4.
seq 120 | awk '{printf "{\"question\":\"Request %d. Explain in one sentence what step %d of an LLM server does.\"}\n", $1, $1}' >"$tmp/questions.jsonl"
code=0
"$tmp/tokentape" sweep --url "127.0.0.1:$port" --dataset "$tmp/questions.jsonl" --output-tokens 8 --warmup 2 --name ladder --out "$tmp/runs" \
  --over load.concurrency=4,8 --each 16 --order interleaved --repeats 2 --no-live </dev/null || code=$?
case $code in 0 | 4 | 5) ;; *) echo "ladder: exit code $code" >&2; exit 1 ;; esac
dir=$(echo "$tmp/runs/ladder"/*-sweep)
grep -qF '"points_measured": 2,' "$dir/curve.json" || { echo "ladder: not both points were measured" >&2; exit 1; }
# Of a point: ok requests, waiting, answered, TTFT ÷ rest, over its runs.
point() {
  awk -F, 'function add() { if (x > 0 && e > t) { k++; w += x * t; a += x * (e - t); r += t / (e - t) } x = t = e = 0 }
    FNR == 1 { add() }
    $2 == "whole" && $5 == "requests_per_s" { x = $9 }
    $2 == "whole" && $5 == "ttft_ms" { t = $13 / 1000 }
    $2 == "whole" && $5 == "e2e_ms" { n += $7; e = $13 / 1000 }
    END { add(); if (k) printf "%d %.2f %.2f %.2f\n", n, w / k, a / k, r / k }' "$dir/points/$1"/stats.csv "$dir/points/$1".2/stats.csv
}
four=$(point c4) eight=$(point c8)
echo "ok, waiting for a first token, being answered, TTFT ÷ rest: c=4: $four; c=8: $eight"
echo "$four $eight" | awk '{ exit !(NF == 8 && $1 >= 26 && $5 >= 26 && $6 > $2 + 1 && $3 < 4.4 && $7 < 4.4 && $7 < 1.5 * $3 && $8 > 1.5 * $4) }' \
  || { echo "ladder: eight in flight do not queue for four slots" >&2; cat "$dir/curve.md" >&2; exit 1; }

echo "the real server answered by five APIs; a stream that it broke off was no success; results are the same from the tape; eight in flight queue for its four slots"
