#!/usr/bin/env bash
# Looks for known vulnerabilities where the database can be reached.
set -uo pipefail
for dir in . bench datapath; do
	out=$(cd "$dir" && timeout 120 govulncheck ./... 2>&1)
	status=$?
	if grep -qE 'fetching vulnerabilities|no such host|connection refused|Forbidden|dial tcp|context deadline' <<<"$out" || [ $status = 124 ]; then
		echo "govulncheck: not run: its database cannot be reached from here"
		exit 0
	fi
	echo "$out"
	[ $status = 0 ] || exit $status
done
