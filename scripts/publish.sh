#!/usr/bin/env bash
# Publishes what is in dist/ as a release of GitHub, with its `gh`. `edge` keeps the libraries of earlier commits: who has not
# updated yet still finds theirs.
#   publish.sh RELEASE    a tag, or `edge`
# Invariants of `edge`: no file that is listed changes or goes away, but those of the oldest sources; a failure loses no list.
set -euo pipefail
cd "$(dirname "$0")/../dist"
release=${1:?which release}
kept_sources=120 # six files each; GitHub takes 1,000 files

if [[ $release != edge ]]; then
  exec gh release create "$release" --verify-tag --title "$release" --generate-notes -- *.so SHA256SUMS sbom.json
fi
if ! gh release view edge >/dev/null 2>&1; then
  gh release create edge --prerelease --title edge --notes "The libraries of the newest commits of main."
fi
earlier=$(mktemp -d)
trap 'rm -rf "$earlier"' EXIT
touch "$earlier/listed"

assets() { gh release view edge --json assets --jq '.assets[] | "\(.name) \(.apiUrl)"'; }
url_of() { assets | awk -v name="$1" '$1 == name { print $2 }'; }

published=$(assets)
for list in SHA256SUMS SHA256SUMS.new; do # the second one: a run ended while it took the first one's place
  if grep -q "^$list " <<<"$published"; then
    gh release download edge --dir "$earlier" --pattern "$list"
    mv "$earlier/$list" "$earlier/listed"
    break
  fi
done

# The same sources give the same bytes, so what is listed stays as it is. The newest sources first.
awk 'FILENAME == ARGV[1] { known[$2] = 1; next } !($2 in known)' "$earlier/listed" SHA256SUMS >"$earlier/added"
if [[ ! -s $earlier/added ]]; then
  echo "publish: all of it is published already"
  exit
fi
cat "$earlier/added" "$earlier/listed" | awk -v kept="$kept_sources" -v all="$earlier/all" -v gone="$earlier/gone" '
  { split($2, parts, "-"); key = parts[2] }
  !(key in seen) { seen[key] = ++count }
  seen[key] <= kept { print >all; next }
  { print $2 >gone }
'

mapfile -t added < <(awk '{ print $2 }' "$earlier/added")
gh release upload edge --clobber -- "${added[@]}" sbom.json # not listed yet, so nobody fetches it
mv "$earlier/all" SHA256SUMS
cp SHA256SUMS SHA256SUMS.new
gh release upload edge --clobber -- SHA256SUMS.new
# An upload over the list would leave none for its time.
old=$(url_of SHA256SUMS)
[[ ! $old ]] || gh api --method DELETE "$old"
gh api --method PATCH "$(url_of SHA256SUMS.new)" -f name=SHA256SUMS >/dev/null

if [[ -s $earlier/gone ]]; then
  while read -r name; do
    gh release delete-asset edge "$name" --yes
  done <"$earlier/gone"
fi
