#!/usr/bin/env bash
# Builds the modules, and the library's tests, for the platforms other than this.
set -euo pipefail
export CGO_ENABLED=0
for platform in linux/arm64 linux/386 darwin/arm64 windows/amd64; do
	echo "build for $platform"
	GOOS=${platform%/*} GOARCH=${platform#*/} go build ./... ./bench/... ./datapath/...
	GOOS=${platform%/*} GOARCH=${platform#*/} go vet ./aqm/... ./threshold ./red ./codel ./pi ./pie ./rem ./ecnpolicy
done
