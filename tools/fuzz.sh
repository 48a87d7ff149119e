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
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Go 1.26 sometimes reports the end of a target's time as a failure: go.dev/issue/75804, mended in Go 1.27. Such a report
# consists of the target's name and "context deadline exceeded". A real failure also names the input that caused it, or
# the failing seed, or prints more than this.
only_out_of_time() {
	! grep -qE 'Failing input|seed corpus|panic|^# ' "$1" &&
		[ "$(grep -A 1 '^--- FAIL' "$1" | tail -n +2)" = '    context deadline exceeded' ] &&
		[ "$(grep -c '^    ' "$1")" = 1 ]
}

echo "fuzzing $count targets for $each each"
for target in $targets; do
	dir=$(dirname "${target%%:*}")
	name=${target##*:}
	# A pipe to tee would hide the exit status of go test.
	if ! go test -C "$dir" -run '^$' -fuzz "^$name\$" -fuzztime "$each" . >"$log" 2>&1; then
		cat "$log"
		only_out_of_time "$log" || exit 1
		echo "$name: the time ended, which is no failure (go.dev/issue/75804)"
		continue
	fi
	cat "$log"
done
