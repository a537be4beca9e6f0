#!/bin/sh
# Builds libheddle.so, its helper, its backends, the benchmark program and the lab's libheddle-idle.so into target/PROFILE/lib/.
#
#   shim/build.sh [release|dev]
#
# Each MPI has a target directory of its own: the bindings' build script does not notice another MPICC.
set -eu
cd "$(dirname "$0")/.."
profile=${1:-release}
target=${CARGO_TARGET_DIR:-target}
case $profile in
dev | debug) profile=dev folder=debug ;;
*) folder=$profile ;;
esac
lib=$target/$folder/lib
mkdir -p "$lib"

# A running program maps these files: replace them, never write into them. Two builds may do so at once.
place() {
	cmp -s "$1" "$lib/$2" && return
	cp "$1" "$lib/.$2.$$"
	mv "$lib/.$2.$$" "$lib/$2"
}

cargo build --locked --profile "$profile" -p shim -p helper -p idle
place "$target/$folder/libheddle.so" libheddle.so
place "$target/$folder/heddle-helper" heddle-helper
place "$target/$folder/libheddle_idle.so" libheddle-idle.so
for mpi in openmpi mpich; do
	MPICC=mpicc.$mpi CARGO_TARGET_DIR=$target/mpi-$mpi cargo build --locked --profile "$profile" -p backend -p bench
	place "$target/mpi-$mpi/$folder/libheddle_backend.so" "libheddle-$mpi.so"
	place "$target/mpi-$mpi/$folder/heddle-bench" "bench-$mpi"
done
