#!/bin/sh
# Builds libheddle.so, its helper, its backends, the benchmark program and the lab's libheddle-idle.so into target/PROFILE/lib/.
#
#   shim/build.sh [release|dev] [PACKAGE...]
#
# Further packages are built in the same go. One call of cargo chooses the features of a crate once, so that the crate is compiled once.
set -eu
cd "$(dirname "$0")/.."
profile=${1:-release}
[ $# -eq 0 ] || shift
target=${CARGO_TARGET_DIR:-target}
case $profile in
dev | debug) profile=dev folder=debug ;;
*) folder=$profile ;;
esac
lib=$target/$folder/lib
packages="-p shim -p helper -p idle -p openmpi -p mpich -p bench"
for package in "$@"; do
	packages="$packages -p $package"
done
mkdir -p "$lib"

# Both benchmarks come out under one name: no other build may come between making one and taking it away.
exec 9>"$lib/.lock"
flock 9

# A running program maps these files: replace them, never write into them.
place() {
	cmp -s "$1" "$lib/$2" && return
	cp "$1" "$lib/.$2.$$"
	mv "$lib/.$2.$$" "$lib/$2"
}

# The benchmark's bindings do not notice another MPICC. A setting of their own, which changes nothing else, lets cargo keep
# them for each MPI. The second build makes only what lies above them.
build() {
	# shellcheck disable=SC2086 # a list
	MPICC=mpicc.$1 cargo build --locked --profile "$profile" --config "profile.$profile.package.mpi-sys.codegen-units=$2" $packages
	place "$target/$folder/heddle-bench" "bench-$1"
}
build openmpi 1
build mpich 2

place "$target/$folder/libheddle.so" libheddle.so
place "$target/$folder/heddle-helper" heddle-helper
place "$target/$folder/libheddle_idle.so" libheddle-idle.so
place "$target/$folder/libheddle_openmpi.so" libheddle-openmpi.so
place "$target/$folder/libheddle_mpich.so" libheddle-mpich.so
