#!/usr/bin/env bash
# Tracked C++ is formatted by .clang-format; `--fix` rewrites it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
clang_format=$(command -v clang-format-14 || command -v clang-format)
mode=(--dry-run -Werror)
[ "${1:-}" = --fix ] && mode=(-i)
git ls-files -z --cached --others --exclude-standard -- '*.cpp' '*.h' '*.cuh' '*.cu' |
  xargs -0 -r "$clang_format" "${mode[@]}"
