#!/bin/sh
# Runs a command in a Slurm cluster of four emulated hosts, n0 to n3, that ends with it:
#
#   slurm.sh FOLDER COMMAND...
#
# FOLDER takes what Slurm writes; FOLDER/more.conf is appended to its configuration. Daemons, hosts and job have network, processes
# and mounts of their own, each host a name of its own (root).
set -eu
if [ "${IN_SLURM_TEST:-}" != yes ]; then
    exec env IN_SLURM_TEST=yes unshare --net --pid --fork --kill-child --mount-proc "$0" "$@"
fi
folder=$1
shift
export SLURM_CONF="$folder/slurm.conf"
ip link set lo up
# Slurm looks for names only where there is an address besides 127.0.0.1.
ip address add 10.0.0.1/32 dev lo
# UCX takes no loopback interface between hosts, and looks for others in /sys.
ip link add net0 type veth peer name net1
ip link set net0 up
ip link set net1 up
ip address add 10.0.1.1/24 dev net0
mkdir "$folder/cgroup"
mount --rbind /sys/fs/cgroup "$folder/cgroup"
mount -t sysfs none /sys
mount --rbind "$folder/cgroup" /sys/fs/cgroup
cat >"$SLURM_CONF" <<END
ClusterName=loom
SlurmctldHost=$(hostname)(10.0.0.1)
SlurmUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation=$folder
SlurmdSpoolDir=$folder/%n
TmpFS=$folder/%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/%n.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=n[0-3] NodeAddr=10.0.0.1 Port=[17000-17003] CPUs=2
PartitionName=all Nodes=n[0-3] Default=YES State=UP OverSubscribe=FORCE
END
[ ! -e "$folder/more.conf" ] || cat "$folder/more.conf" >>"$SLURM_CONF"
slurmctld -D >"$folder/slurmctld.log" 2>&1 &
for host in n0 n1 n2 n3; do
    mkdir -p "$folder/$host"
    unshare --uts sh -c 'hostname "$0"; exec slurmd -D' "$host" >"$folder/$host.log" 2>&1 &
done
idle() { sinfo --noheader --format %D --states idle 2>/dev/null; }
for _ in $(seq 900); do
    [ "$(idle)" != 4 ] || break
    sleep 0.2
done
[ "$(idle)" = 4 ] || { tail -n 5 "$folder"/*.log >&2; exit 1; }
"$@"
