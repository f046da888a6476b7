#!/usr/bin/env bash
# What a release has beside the libraries in dist/: their checksums, and a list of what they are made of. At a tag the
# checksums must be those that its commit holds (release/checksums.txt): built again, the same bytes came out.
#   release-files.sh RELEASE    a tag, or `edge`
set -euo pipefail
cd "$(dirname "$0")/.."
release=${1:?which release}
die() { echo "release-files: $*" >&2; exit 1; }

(cd dist && sha256sum -- claude_ide_native-*.so >SHA256SUMS)
if [[ $release != edge ]]; then
  grep -qxF "version = \"${release#v}\"" Cargo.toml || die "Cargo.toml is not of version ${release#v}"
  [[ -f release/checksums.txt ]] || die "release/checksums.txt is not in the commit: copy SHA256SUMS of a build of these sources"
  diff -u release/checksums.txt dist/SHA256SUMS || die "the libraries are not those of release/checksums.txt"
fi
cargo metadata --format-version 1 --locked | python3 scripts/sbom.py >dist/sbom.json
