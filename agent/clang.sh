#!/bin/sh
# clang.sh warnings|analyzer
#
# Has clang look at the C code: at the agent's and its tests' for warnings, or with its analyzer at the agent's, which
# takes minutes. A file that has passed is not looked at again, in whatever checkout, until its text or what it includes
# changes: what passed is remembered in the user's cache.
set -eu
cd "$(dirname "$0")"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/clrprof/clang
case $1 in
warnings) command='clang -std=c11 -Isrc -Wall -Wextra -Wconversion -Werror -fsyntax-only' ;;
analyzer) command='clang -std=c11 -Isrc --analyze --analyzer-output text -Xclang -analyzer-werror' ;;
*) echo "usage: clang.sh warnings|analyzer" >&2 && exit 2 ;;
esac

if [ $# = 2 ]; then # of one file
  key=$({ echo "$CLANG_VERSION $command" && clang -std=c11 -Isrc -E "$2"; } | sha256sum | cut -c1-32)
  [ -e "$cache/$key" ] && touch "$cache/$key" && exit
  echo "clang $1 $2"
  $command "$2"
  : >"$cache/$key"
  exit
fi
if ! command -v clang >/dev/null; then
  echo 'clang is not installed: its checks of the C code are skipped'
  exit
fi
CLANG_VERSION=$(clang --version)
export CLANG_VERSION
mkdir -p "$cache"
find "$cache" -type f -mtime +60 -delete # what nobody asked for lately
for f in src/*/*.c test/*.c; do
  case $1:$f in
  *:test/record.c | *:test/sum.c) ;; # parts of other files
  analyzer:test/*) ;;
  *) echo "$f" ;;
  esac
done | xargs -P "$(nproc)" -n 1 ./clang.sh "$1"
