#!/usr/bin/env bash
# Tidies all three modules. go mod tidy ignores go.work, so that a nested module
# cannot see the unreleased library: it is tidied through a temporary module file
# that has the replacement, and gets the result back without it.
#
#   scripts/tidy.sh          tidy
#   scripts/tidy.sh --check  fail, and change nothing, where that would change a file
set -euo pipefail
cd "$(dirname "$0")/.."
export GOWORK=off
check=${1:-}
status=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

settle() { # settle OLD NEW
	cmp -s "$1" "$2" && return
	if [ "$check" = --check ]; then
		echo "$1 is not tidy; run scripts/tidy.sh" >&2
		diff -u "$1" "$2" >&2 || true
		status=1
	else
		cp "$2" "$1"
	fi
}

for dir in . bench datapath; do
	sums="$tmp/${dir//./root}"
	cp "$dir/go.mod" "$sums.mod"
	[ -f "$dir/go.sum" ] && cp "$dir/go.sum" "$sums.sum"
	if [ "$dir" != . ]; then
		go mod edit -replace github.com/aqmkit/aqmkit="$PWD" "$sums.mod"
	fi
	(cd "$dir" && go mod tidy -modfile="$sums.mod")
	if [ "$dir" != . ]; then
		go mod edit -dropreplace github.com/aqmkit/aqmkit "$sums.mod"
	fi
	settle "$dir/go.mod" "$sums.mod"
	touch "$dir/go.sum"
	settle "$dir/go.sum" "$sums.sum"
done
exit $status
