#!/usr/bin/env bash
# Publishes what is in dist/ as a release of GitHub, with its `gh`. `edge` keeps the libraries of earlier commits: who has not
# updated yet still finds theirs.
#   publish.sh RELEASE    a tag, or `edge`
set -euo pipefail
cd "$(dirname "$0")/../dist"
release=${1:?which release}

if [[ $release != edge ]]; then
  exec gh release create "$release" --verify-tag --title "$release" --generate-notes -- *.so SHA256SUMS sbom.json
fi
if ! gh release view edge >/dev/null 2>&1; then
  gh release create edge --prerelease --title edge --notes "The libraries of the newest commits of main."
fi
earlier=$(mktemp -d)
trap 'rm -rf "$earlier"' EXIT
if gh release download edge --dir "$earlier" --pattern SHA256SUMS; then
  awk 'FNR == NR { known[$2] = 1; print; next } !($2 in known)' SHA256SUMS "$earlier/SHA256SUMS" >"$earlier/all"
  mv "$earlier/all" SHA256SUMS
fi
# The sums last: no file is listed that is not there yet.
gh release upload edge --clobber -- *.so sbom.json
gh release upload edge --clobber -- SHA256SUMS
