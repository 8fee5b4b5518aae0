#!/usr/bin/env bash
# Fails for a relative link in a Markdown file that leads nowhere.
set -euo pipefail
status=0
while IFS=: read -r file link; do
	target=${link%%#*}
	if [ -n "$target" ] && ! [ -e "$(dirname "$file")/$target" ]; then
		echo "$file: the link to $target leads nowhere" >&2
		status=1
	fi
done < <(git ls-files -co --exclude-standard '*.md' | xargs grep -HoE '\]\([^)]+\)' | sed -E 's/\]\(([^) ]+).*\)/\1/' | grep -vE ':(https?|mailto):')
exit $status
