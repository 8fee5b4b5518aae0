#!/usr/bin/env bash
# Runs the race detector where goroutines meet: the FIFO, wire and the datapaths.
# The algorithms have none, and closed loops are too slow under it.
set -euo pipefail
if ! command -v gcc >/dev/null; then
	echo "race: not run: the race detector needs cgo, and gcc is not installed" >&2
	exit 0
fi
CGO_ENABLED=1 go test -race ./aqm ./aqm/wire ./datapath/...
CGO_ENABLED=1 go test -race -run TestTogether ./aqm/aqmtest # finds what instances share
