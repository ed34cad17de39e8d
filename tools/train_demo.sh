#!/usr/bin/env bash
# Installs what is missing, builds stepc and shows its main job.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cmake/deps/install.sh
tools/build.sh release stepc
build/release/bin/stepc --version
