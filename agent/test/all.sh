#!/bin/sh
# all.sh: tests the agent in its made-up runtime, with each compiler that is installed and each sanitizer that it has.
set -u
cd "$(dirname "$0")"
base=/dev/shm
[ -w "$base" ] || base=${TMPDIR:-/tmp}
work=$(mktemp -d "$base/clrprof-test-agent.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
status=0
for cc in gcc clang; do
  for sanitizers in '' address,undefined thread; do
    name="$cc${sanitizers:+ with $sanitizers sanitizer}"
    if ! command -v "$cc" >/dev/null; then
      echo "skipped: $name, there is no $cc"
      continue
    fi
    flags=
    [ -n "$sanitizers" ] && flags="-fsanitize=$sanitizers -fno-sanitize-recover=all"
    # shellcheck disable=SC2086 # a list of flags
    if ! echo 'int main(void) { return 0; }' | "$cc" $flags -x c - -o "$work/try" 2>/dev/null || ! "$work/try"; then
      echo "skipped: $name, which does not work here"
      continue
    fi
    mkdir "$work/run"
    # shellcheck disable=SC2086
    if ./build.sh "$cc" "$work/bin" $flags && "$work/bin/agent_test" "$work/bin/agent.so" "$work/run" >"$work/log" 2>&1; then
      echo "ok: $name, $(wc -l <"$work/log") scenarios"
    else
      cat "$work/log"
      echo "FAILED: $name"
      status=1
    fi
    rm -rf "$work/run" "$work/bin"
  done
done
exit $status
