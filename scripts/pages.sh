#!/bin/sh
# Makes the pages of four runs into a folder, to be looked at: the demo, the stand-in for
# N 640, C 90, r 6 (examples/p8d8, a fifth of the time), a run with faults, and results of
# AISBench that were imported. It takes about three minutes on a quiet machine; loads stay on loopback.
#
#   scripts/pages.sh DIR
set -eu
[ $# = 1 ] || { echo "usage: scripts/pages.sh DIR" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
dir=$(cd "$1" && pwd)
work=$(mktemp -d)
sim=
trap '[ -z "$sim" ] || kill "$sim" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
(cd "$root" && go build -o "$work/tokentape" ./cmd/tokentape)
PATH=$work:$PATH
cd "$work"

# page NAME RUN makes the page; run CMD … lets pass what measured, fit for use or not (4: failures, 5).
page() { tokentape report "$2" --format html --out "$dir/$1.html" --force; echo "$dir/$1.html: $(wc -c <"$dir/$1.html") bytes"; }
run() { code=0; "$@" >run.out 2>&1 || code=$?; case $code in 0 | 4 | 5) ;; *) cat run.out; exit 1 ;; esac; }

tokentape demo --out demo >demo.out 2>&1 || { cat demo.out; exit 1; }
find demo -name report.html | sort | while read -r page; do
	i=$((${i:-0} + 1))
	cp "$page" "$dir/demo-$i.html"
	echo "$dir/demo-$i.html: $(wc -c <"$page") bytes"
done

run bash "$root/examples/p8d8/run.sh" runs
page n640-c90-r6 runs/p8d8

tokentape sim --addr 127.0.0.1:30097 --for 5m --fault cut,share=0.03,after=5 --fault status,code=503,share=0.05 --fault stall,share=0.02,after=9,for=2s >sim.out 2>&1 &
sim=$!
tokentape dataset build --tokenizer sim --out faults.jsonl --requests 300 --input 512 --output-len 48 --seed 5 >/dev/null
run tokentape run --url 127.0.0.1:30097 --dataset faults.jsonl --requests 300 --concurrency 24 --rate 20 --name faults --set record.output=full
page faults runs/faults
tokentape report runs/faults --format html --with-text --out "$dir/faults-texts.html" --force

tokentape import aisbench-result "$root/internal/importer/aisbench/testdata/vectors/n640_c90_r6/20261101_120000" -o aisbench.tape.jsonl.zst
page aisbench aisbench.tape.jsonl.zst
