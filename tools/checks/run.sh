#!/usr/bin/env bash
# Every check of the sources. Prints one line per finding and ends in `N passed, N failed`.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
passed=0 failed=0
for check in ./check_format.sh "python3 check_layers.py" "python3 check_size.py" "python3 check_sources.py" "python3 check_readmes.py" "python3 check_vjps.py" "python3 check_paths.py"; do
  if $check; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "checks: ${check#python3 } failed"; fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
