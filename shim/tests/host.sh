#!/bin/sh
# Runs a rank on an emulated host: its own UTS namespace, whose host name is the rank divided by $PER_HOST.
# The runtime is loaded here, not into the launcher: $SHIM. $DIR_OF_OTHERS is HEDDLE_DIR for all ranks but 0.
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
[ "$rank" != 0 ] && [ -n "${DIR_OF_OTHERS:-}" ] && export HEDDLE_DIR="$DIR_OF_OTHERS"
exec unshare --uts sh -c 'hostname "$0"; LD_PRELOAD=$SHIM; [ -n "$SHIM" ] && export LD_PRELOAD; exec "$@"' "n$((rank / ${PER_HOST:-1}))" "$@"
