#!/usr/bin/env bash
# Runs every fuzz target for the time given: scripts/fuzz.sh 60s
set -euo pipefail
time=${1:?usage: scripts/fuzz.sh DURATION}
for dir in $(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do
	for target in $(grep -ho '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | sed 's/^func //'); do
		printf '%-24s %s\n' "$target" "$dir"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1s "$dir" | grep -v '^fuzz: elapsed: 0s' | tail -n 3
	done
done
