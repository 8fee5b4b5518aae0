#!/usr/bin/env bash
# Counts the instructions that a packet costs, and fails where they rose by more than
# 3 % since the baseline was taken. Needs valgrind and the compiler of the baseline.
set -euo pipefail
if ! command -v valgrind >/dev/null; then
	echo "not run: valgrind is not installed; install the package valgrind"
	exit 0
fi
baseline=bench/cost/testdata/instructions.json
taken=$(sed -n 's/.*"go": "\(.*\)".*/\1/p' $baseline)
if [ "$(go env GOVERSION)" != "$taken" ]; then
	echo "not run: the baseline is of $taken, and this is $(go env GOVERSION); compilers are not compared"
	exit 0
fi
program=$(mktemp -d)/aqmbench
trap 'rm -rf "$(dirname "$program")"' EXIT
go build -pgo=off -o "$program" ./bench/cmd/aqmbench
status=0
timeout 300 "$program" cost --instructions --baseline $baseline || status=$?
if [ $status = 124 ]; then
	echo "not finished in 5 minutes: valgrind stands still with Go programs now and then; try again"
	exit 0
fi
exit $status
