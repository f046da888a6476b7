#!/usr/bin/env bash
# Searches for inputs that break what is read from outside: each target of tests/fuzz for SECONDS, with libFuzzer. Stable Rust and a C++
# compiler are enough; no sanitizer, since nothing of it is unsafe.
#   fuzz.sh SECONDS [TARGET...]
# What is found lies in target/fuzz/found, what covers more in target/fuzz/corpus: worth a look before it joins tests/fuzz/corpus.
set -euo pipefail
source "$(dirname "$0")/env.sh"

seconds=${1:-60}
targets=("${@:2}")
# As cargo-fuzz does it.
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
  -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions"
triple=$(rustc -vV | sed -n 's/^host: //p')
# With the triple named, procedural macros are built without these flags.
cargo build --quiet --locked --package claude-ide-fuzz --target-dir target/fuzz --target "$triple"
((${#targets[@]})) || mapfile -t targets < <(cd tests/fuzz/corpus && printf '%s\n' *)
failed=()
for target in "${targets[@]}"; do
  mkdir -p "target/fuzz/corpus/$target" target/fuzz/found
  log=target/fuzz/$target.log
  if FUZZ_TARGET=$target "target/fuzz/$triple/debug/claude-ide-fuzz" -max_total_time="$seconds" -timeout=20 -max_len=8192 -print_final_stats=1 \
    -artifact_prefix="target/fuzz/found/$target-" "target/fuzz/corpus/$target" "tests/fuzz/corpus/$target" >"$log" 2>&1; then
    echo "fuzz: $target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, nothing found"
  else
    failed+=("$target")
    echo "fuzz: $target: FAILED, see $log" >&2
    grep -aE "panicked at|Test unit written" -A 3 "$log" | head -n 12 >&2
  fi
done
if ((${#failed[@]})); then
  echo "fuzz: found something in ${failed[*]}" >&2
  exit 1
fi
