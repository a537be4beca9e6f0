#!/bin/sh
# Builds libheddle.so, its helper, its backends, the benchmark, the ranks of heddle map and the lab's libheddle-idle.so into target/PROFILE/lib/.
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
packages="-p shim -p abi -p helper -p idle -p bench -p map"
# Each MPI by its own compiler. One of the two may be missing: then there is no backend for it. That for the standard's
# own interface needs none.
openmpi=${MPICC_OPENMPI:-mpicc.openmpi}
mpich=${MPICC_MPICH:-mpicc.mpich}
mpis=
for mpi in openmpi mpich; do
	eval "compiler=\$$mpi"
	if command -v "$compiler" >/dev/null; then
		mpis="$mpis $mpi" packages="$packages -p $mpi"
	else
		name=$(echo "MPICC_$mpi" | tr '[:lower:]' '[:upper:]')
		echo "heddle: no $compiler here, so no backend for $mpi is built; name that MPI's compiler in $name, or leave it" >&2
	fi
done
[ -n "$mpis" ] || exit 1
for package in "$@"; do
	packages="$packages -p $package"
done
mkdir -p "$lib"

# The programs of both MPIs come out under one name: no other build may come between making one and taking it away.
exec 9>"$lib/.lock"
flock 9

# A running program maps these files: replace them, never write into them.
place() {
	cmp -s "$1" "$lib/$2" && return
	cp "$1" "$lib/.$2.$$"
	mv "$lib/.$2.$$" "$lib/$2"
}

# The benchmark's bindings do not notice another MPICC. A setting that differs for each compiler lets cargo keep them
# apart, and does nothing else. The second build makes only what lies above them.
setting() {
	path=$(command -v "$2" | cksum)
	case $1 in openmpi) odd=1 ;; *) odd=2 ;; esac
	echo "profile.$profile.package.mpi-sys.codegen-units=$((${path%% *} % 100 * 2 + odd))"
}
for mpi in $mpis; do
	eval "compiler=\$$mpi"
	# shellcheck disable=SC2086 # a list
	MPICC=$compiler cargo build --locked --profile "$profile" --config "$(setting "$mpi" "$compiler")" $packages
	place "$target/$folder/heddle-bench" "bench-$mpi"
	place "$target/$folder/heddle-map" "map-$mpi"
	place "$target/$folder/libheddle_$mpi.so" "libheddle-$mpi.so"
done

place "$target/$folder/libheddle.so" libheddle.so
place "$target/$folder/libheddle_abi.so" libheddle-abi.so
place "$target/$folder/heddle-helper" heddle-helper
place "$target/$folder/libheddle_idle.so" libheddle-idle.so
