#!/usr/bin/env bash
# Compares the library's exported API with the last accepted commit, origin/main.
# Prints every incompatible change; CHANGELOG.md has to name it.
set -euo pipefail
base=${1:-origin/main}
if ! git rev-parse -q --verify "$base^{commit}" >/dev/null; then
	echo "apidiff: not run: there is no $base to compare with"
	exit 0
fi
tmp=$(mktemp -d)
trap 'git worktree remove --force "$tmp/old" 2>/dev/null || true; rm -rf "$tmp"' EXIT
git worktree add --quiet --detach "$tmp/old" "$base"
if ! [ -f "$tmp/old/go.mod" ]; then
	echo "apidiff: not run: $base has no module yet"
	exit 0
fi
export GOWORK=off
(cd "$tmp/old" && apidiff -m -w "$tmp/old.api" github.com/aqmkit/aqmkit)
apidiff -m -w "$tmp/new.api" github.com/aqmkit/aqmkit
changes=$(apidiff -m -incompatible "$tmp/old.api" "$tmp/new.api" | grep -v '/internal/' || true)
if [ -z "$changes" ]; then
	echo "apidiff: no incompatible change since $base"
	exit 0
fi
echo "apidiff: incompatible changes since $base:"
echo "$changes"
if git diff --quiet "$base" -- CHANGELOG.md; then
	echo "CHANGELOG.md says nothing of them" >&2
	exit 1
fi
