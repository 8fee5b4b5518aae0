#!/usr/bin/env bash
# Installs the pinned tools into the folder given, unless they are there.
set -euo pipefail
export GOBIN=${1:?usage: scripts/tools.sh FOLDER} GOWORK=off
mkdir -p "$GOBIN"

install() { # install NAME PACKAGE VERSION
	local stamp="$GOBIN/.$1-$3"
	[ -x "$GOBIN/$1" ] && [ -e "$stamp" ] && return
	echo "installing $1 $3"
	go install "$2@$3"
	rm -f "$GOBIN/.$1-"*
	touch "$stamp"
}

install golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint v2.15.0
install gofumpt mvdan.cc/gofumpt v0.12.0
install apidiff golang.org/x/exp/cmd/apidiff v0.0.0-20261113113407-e3970619a1a4
install govulncheck golang.org/x/vuln/cmd/govulncheck v1.9.0
