#!/usr/bin/env bash
# Installs what is missing, builds stepc and runs every test. The last line is the result: `N passed, N failed`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cmake/deps/install.sh
tools/build.sh release
tools/run_tests.py build/release
