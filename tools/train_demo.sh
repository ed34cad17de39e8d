#!/usr/bin/env bash
# Installs what is missing, builds stepc and shows its main job: trains a byte-level Llama-style model of 3.3 M parameters
# on the licence texts that every Debian system has, on the CPU, and prints the pass report and the profile.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cmake/deps/install.sh
tools/build.sh release stepc

text=$(mktemp)
trap 'rm -f "$text"' EXIT
cat /usr/share/common-licenses/{Apache-2.0,Artistic,GFDL-1.3,GPL-2,GPL-3,LGPL-2.1,MPL-2.0} >"$text"

build/release/bin/stepc run --family llama --layers 4 --dim 256 --heads 4 --ffn 688 --seq 128 --vocab 256 --dim batch=8 \
  --data "$text" --steps "${1:-300}" --optimizer adamw:lr=1e-3 --clip-norm 1

echo
echo "The program is build/release/bin/stepc; stepc --help lists its commands, docs/running.md explains this one."
