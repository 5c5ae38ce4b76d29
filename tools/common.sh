# shellcheck shell=bash
# Sourced by the other scripts: where things are, and how to run a step quietly.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
logs=$root/build/logs
mkdir -p "$logs"
cd "$root" || exit 1

# quietly NAME command...: the output goes to build/logs/NAME.log and is shown only if the command fails.
quietly() {
  local log=$logs/$1.log
  shift
  if "$@" >"$log" 2>&1 </dev/null; then return 0; fi
  echo "failed: $*" >&2
  tail -n 200 "$log" | sed 's/^/  | /' >&2
  echo "  (the whole log: $log)" >&2
  return 1
}

has_gpu() { [[ -e /dev/nvidiactl ]] || nvidia-smi -L >/dev/null 2>&1; }

# The first libnvrtc among the arguments, each a file or a folder.
first_nvrtc() {
  local place file
  for place in "$@"; do
    for file in "$place" "$place"/libnvrtc.so.1[23]; do
      if [[ -f $file && $file == *libnvrtc.so* ]]; then
        echo "$file"
        return 0
      fi
    done
  done
  return 1
}

# The one tools/fetch_nvrtc has fetched into a folder.
fetched_nvrtc() {
  shopt -s nullglob
  first_nvrtc "${1:-build/nvrtc}"/nvidia/*/lib | sed "s|^build|$root/build|" | grep .
}

# Whether the library finds a compiler that serves; it knows best where to look and what it can use.
library_has_nvrtc() {
  build/release/bin/mamba-gemm info --json 2>/dev/null |
    python3 -c 'import json, sys; sys.exit(0 if json.load(sys.stdin)["nvrtc"]["available"] else 1)' 2>/dev/null
}

# Once the tool is built: where the library finds no compiler, one is fetched and put where it looks by itself, so that it
# finds it later, too. Without one the reference device still works.
provide_nvrtc() {
  library_has_nvrtc && return
  if fetched_nvrtc >/dev/null || tools/fetch_nvrtc; then
    ln -sfn ../nvrtc/nvidia build/release/nvidia
    library_has_nvrtc && return
  fi
  echo "note: no NVRTC ($logs/nvrtc.log); the reference device works without it, GPUs do not" >&2
}

# For the tests that use two versions of NVRTC at once; they are skipped where there is no other.
provide_second_nvrtc() {
  if fetched_nvrtc build/nvrtc-12.4 >/dev/null || tools/fetch_nvrtc --second; then
    MGEMM_TEST_SECOND_NVRTC=$(fetched_nvrtc build/nvrtc-12.4)
    export MGEMM_TEST_SECOND_NVRTC
  fi
}
