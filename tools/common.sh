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

# Where the library will find NVRTC by itself; fails if it will not.
system_nvrtc() {
  local python
  shopt -s nullglob
  local places=("${MAMBA_GEMM_NVRTC:-/nowhere}" "${CUDA_HOME:-/nowhere}"/lib{64,}
    "${CUDA_PATH:-/nowhere}"/lib{64,} "${CONDA_PREFIX:-/nowhere}/lib")
  first_nvrtc "${places[@]}" && return
  mapfile -t places < <(/sbin/ldconfig -p 2>/dev/null | sed -n 's/.*=> \(.*\/libnvrtc\.so.*\)/\1/p')
  first_nvrtc "${places[@]}" && return
  IFS=: read -r -a places <<<"${LD_LIBRARY_PATH:-}"
  first_nvrtc "${places[@]}" /usr/local/cuda/lib64 && return
  for python in python3 /usr/bin/python3; do
    places=()
    mapfile -t places < <("$python" -c 'import site, glob
for folder in site.getsitepackages() + [site.getusersitepackages()]:
    print("\n".join(glob.glob(folder + "/nvidia/*/lib")))' 2>/dev/null)
    first_nvrtc "${places[@]}" && return
  done
  return 1
}

# The one tools/setup has fetched.
fetched_nvrtc() {
  shopt -s nullglob
  first_nvrtc build/nvrtc/nvidia/*/lib | sed "s|^build|$root/build|" | grep .
}

# Makes a fetched NVRTC known to the library, where there is no other.
use_fetched_nvrtc() {
  if ! system_nvrtc >/dev/null && fetched_nvrtc >/dev/null; then
    MAMBA_GEMM_NVRTC=$(fetched_nvrtc)
    export MAMBA_GEMM_NVRTC
  fi
}
