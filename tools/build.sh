#!/usr/bin/env bash
# build.sh PRESET [TARGET...]: configures and builds build/PRESET, quietly unless something fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=${1:-release}
shift || true
log=build/$preset/build.log
mkdir -p "build/$preset"

echo "build: $preset (log: $log)"
if ! { cmake --preset "$preset" && cmake --build --preset "$preset" -j "${STEPC_JOBS:-$(nproc)}" ${*:+--target "$@"}; } >"$log" 2>&1; then
  tail -n 60 "$log" >&2
  echo "build: $preset failed" >&2
  exit 1
fi
