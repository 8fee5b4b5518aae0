#!/usr/bin/env bash
# Runs every fuzz target for the time given, and prints a table of their executions:
# scripts/fuzz.sh 60s
set -euo pipefail
time=${1:?usage: scripts/fuzz.sh DURATION}
out=$(mktemp)
trap 'rm -f "$out"' EXIT
status=0
table=
fuzz() { go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1s "$dir" >"$out" 2>&1; }
for dir in $(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do
	for target in $(grep -ho '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | sed 's/^func //'); do
		printf '%-24s %s\n' "$target" "$dir"
		result=passes
		fuzz || result=FAILS
		# Before Go 1.27 the fuzzing engine may take the end of -fuzztime for a failure,
		# go.dev/issue/75804. One with this line and no input is none of the target's.
		if [ "$result" = FAILS ] && grep -q '^    context deadline exceeded$' "$out" && ! grep -q 'Failing input' "$out"; then
			printf '  failed by the end of its time alone (go.dev/issue/75804), and run again\n'
			result=passes
			fuzz || result=FAILS
		fi
		if [ "$result" = passes ]; then
			grep -v '^fuzz: elapsed: 0s' "$out" | tail -n 3
		else
			cat "$out"
			status=1
		fi
		# The last line of progress has the totals.
		progress=$(grep '^fuzz: elapsed: .*execs: ' "$out" | tail -n 1 || true)
		execs=$(sed -nE 's/.*execs: ([0-9]+).*/\1/p' <<<"$progress")
		new=$(sed -nE 's/.*new interesting: ([0-9]+).*/\1/p' <<<"$progress")
		table+="| $target | ${dir#./} | ${execs:-0} | ${new:-0} | $result |"$'\n'
	done
done
printf '\n| target | folder | executions | new inputs | |\n| --- | --- | --: | --: | --- |\n%s' "$table"
exit $status
