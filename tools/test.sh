#!/usr/bin/env bash
# Installs what is missing, builds stepc and runs every test. The last line is the result: `N passed, N failed`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=${1:-release}

cmake/deps/install.sh
tools/build.sh "$preset"
tools/run_tests.py "build/$preset"
