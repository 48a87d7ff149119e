#!/bin/sh
# Fuzzes every fuzz target of the given folders, one after the other: fuzz.sh TIME SUM FOLDER... Each target gets TIME. If
# SUM is not empty, each gets its share of SUM seconds ("200s") instead, and at least one second.
set -eu
each=$1 sum=$2
shift 2
targets=$(for dir in "$@"; do grep -HoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go || true; done | sed 's/:func /:/')
count=$(printf '%s\n' "$targets" | wc -l)
if [ -n "$sum" ]; then
	share=$((${sum%s} / count))
	each=$((share > 0 ? share : 1))s
fi
echo "fuzzing $count targets for $each each"
for target in $targets; do
	dir=$(dirname "${target%%:*}")
	go test -C "$dir" -run '^$' -fuzz "^${target##*:}\$" -fuzztime "$each" .
done
