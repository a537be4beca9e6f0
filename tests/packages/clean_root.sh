#!/bin/sh
# Shows this machine's files, or those below LOWER, as a root of their own, and keeps what is written to it apart:
#
#   unshare --mount clean_root.sh FOLDER [LOWER]
#
# FOLDER/root is that root, FOLDER/upper holds what was written. All of it is in memory and ends with this process.
set -eu
folder=$1 lower=${2:-/}
mount -t tmpfs -o size=2G heddle-root "$folder"
mkdir "$folder/upper" "$folder/work" "$folder/root"
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
mount --rbind /proc "$folder/root/proc"
mount --rbind /sys "$folder/root/sys"
mount --rbind /dev "$folder/root/dev"
for own in run tmp; do
    mount -t tmpfs "$own" "$folder/root/$own"
done
chmod 1777 "$folder/root/tmp"
# A fresh system has no names of its own network.
[ "$lower" = / ] || cp -L /etc/resolv.conf "$folder/root/etc/resolv.conf"
echo ready
exec sleep infinity
