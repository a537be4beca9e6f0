#!/bin/sh
# Runs a rank on an emulated host: its own UTS namespace, whose host name is the rank divided by $PER_HOST, or the rank's digit of $HOST_OF.
# The runtime is loaded here, not into the launcher: $SHIM. $DIR_OF_OTHERS is HEDDLE_DIR for all ranks but 0.
# Each of the ranks $ODD_RANKS runs the command $ODD first, as to change a variable.
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
[ "$rank" != 0 ] && [ -n "${DIR_OF_OTHERS:-}" ] && export HEDDLE_DIR="$DIR_OF_OTHERS"
case " ${ODD_RANKS:-} " in *" $rank "*) eval "$ODD" ;; esac
host=$((rank / ${PER_HOST:-1}))
[ -n "${HOST_OF:-}" ] && host=$(echo "$HOST_OF" | cut -c$((rank + 1)))
exec unshare --uts sh -c 'hostname "$0"; LD_PRELOAD=$SHIM; [ -n "$SHIM" ] && export LD_PRELOAD; exec "$@"' "n$host" "$@"
