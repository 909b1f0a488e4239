#!/usr/bin/env bash
# Clones the repository as it is committed, and runs make there, under conditions that users have.
#
#   tests/fresh_clone.sh [CONDITION ...] [-- TARGET ...]
#
# Conditions, any number of them at once; without any, a clone called pykernels as `git clone` makes it:
#
#   space, quote, letter        in the path of the clone: a space, a quotation mark, a letter outside ASCII
#   home-readonly, home-unset   nothing can be written to HOME; there is no HOME
#   c-locale, utf8-locale       LC_ALL is C; C.UTF-8
#   umask                       files are for their owner alone (077)
#   user                        as the user `nobody`; root has to start it
#   busy                        one core is busy with something else
#   random                      the tests run in random order
#
# The targets are `demo` and `test` unless others are named. PYTHON, PYTHON_TORCH, CXX and what else make takes can be
# set in the environment. A clone in which a target fails stays where it is.
set -uo pipefail

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
conditions=()
while (($#)) && [[ $1 != -- ]]; do conditions+=("$1"); shift; done
(($#)) && shift
targets=("$@")
((${#targets[@]})) || targets=(demo test)

base=$(mktemp -d "${TMPDIR:-/tmp}/fresh_clone.XXXXXX")
chmod 755 "$base"
folder=$base
as=()
busy=
mkdir "$base/home"
export HOME=$base/home
unset PYKERNELS_CACHE XDG_CACHE_HOME XDG_DATA_HOME XDG_CONFIG_HOME MAKEFLAGS
for condition in "${conditions[@]}"; do
  case $condition in
    space) folder+="/with space" ;;
    quote) folder+="/it's" ;;
    letter) folder+="/größer" ;;
    # A folder that not even root can write to.
    home-readonly) export HOME=/proc ;;
    home-unset) unset HOME ;;
    c-locale) export LC_ALL=C ;;
    utf8-locale) export LC_ALL=C.UTF-8 ;;
    umask) umask 077 ;;
    user) as=(setpriv --reuid=nobody --regid=nogroup --clear-groups) ;;
    busy) busy=yes ;;
    random) export PYTEST_ADDOPTS="-p randomly" ;;
    *) echo "there is no condition '$condition'; the head of $0 lists them" >&2; exit 2 ;;
  esac
done

mkdir -p "$folder"
clone=$folder/pykernels
git clone --quiet --no-hardlinks "$repository" "$clone" || exit 1
((${#as[@]})) && chown -R nobody:nogroup "$base"
cd "$clone" || exit 1
if [[ $busy ]]; then
  while :; do :; done &
  trap 'kill %1' EXIT
fi

failed=0
for target in "${targets[@]}"; do
  start=$SECONDS
  if "${as[@]}" make "$target" </dev/null; then result=passed; else result=FAILED; failed=1; fi
  echo "fresh_clone: ${conditions[*]:-plain}: make $target $result in $((SECONDS - start)) s, in $clone"
done
if ((failed)); then exit 1; fi
cd / && rm -rf "$base"
