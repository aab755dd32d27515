#!/usr/bin/env bash
# Runs the first-run example (1 request, then 4) against a real model server by
# five APIs, and a stream that the server breaks off, and checks what came back. PORT of the server: $1 (default 11534).
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

echo "the real server answered by five APIs; a stream that it broke off was no success; results are the same from the tape"
