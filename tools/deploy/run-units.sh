#!/bin/sh
# Runs the units of deploy/systemd by a systemd of their own, below unshare: sh run-units.sh ROOT FOLDER NODE
# It sees this computer's files and changes none; FOLDER has settings and addresses, and gets the results.
set -eu
if [ "${1}" = try ]; then
  cd "$2"
  ask='fetch(process.argv[1]).then(({ status }) => console.log(status), () => {})'
  for app in bridge terminal ingest; do
    unit=machine-$app
    show() { systemctl show "$unit" --property "$1" --value; }
    until_live() {
      for _ in $(seq 120); do
        live=$(/usr/bin/node -e "$ask" "$(cat "$app.url")")
        if [ "$(show NRestarts)" != "$1" ] && [ "$(show ActiveState)" = inactive ]; then break; fi
        if [ "$(show NRestarts)" = "$1" ] && [ -n "$live" ]; then break; fi
        sleep 0.5
      done
    }
    systemctl start "$unit"
    until_live 0
    first=$live
    systemctl kill --signal HUP "$unit"
    until_live 1
    systemctl stop "$unit"
    stopped="$(show Result) $(show ExecMainStatus)"
    cp "/run/$app.log" "$app.log"
    : > "/etc/machine-bridge/$app.env"
    systemctl start "$unit"
    while [ "$(show ActiveState)" = active ]; do sleep 0.5; done
    echo "$app: live $first, after SIGHUP $live, stopped $stopped, without settings $(show ActiveState) $(show ExecMainStatus)"
  done > results
  exit
fi

# what follows changes mounts: only in namespaces of its own
[ $$ = 1 ] || { echo 'run by check-units.mjs, below unshare' >&2; exit 1; }
root=$2/root
files=$2/files
mkdir "$root" "$files"
mount -t tmpfs tmpfs "$files"
mkdir "$files/upper" "$files/work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$files/upper,workdir=$files/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t tmpfs tmpfs "$root/run"
mount --rbind /dev "$root/dev"
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
else
  mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
  mkdir "$root/sys/fs/cgroup/systemd"
  mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
fi
mkdir -p "$root/opt/machine-bridge" "$root/etc/machine-bridge" "$root/mnt/units"
mount --bind "$1" "$root/opt/machine-bridge"
mount --bind "$2" "$root/mnt/units"
cp "$3" "$root/usr/bin/node"
cp "$2"/*.env "$root/etc/machine-bridge/"
cp "$1"/deploy/systemd/*.service "$root/etc/systemd/system/"
for app in bridge terminal ingest; do
  mkdir -p "$root/etc/systemd/system/machine-$app.service.d"
  printf '[Service]\nStandardOutput=truncate:/run/%s.log\nStandardError=inherit\n' "$app" \
    > "$root/etc/systemd/system/machine-$app.service.d/output.conf"
done
cat > "$root/etc/systemd/system/try.service" << UNIT
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
TimeoutStartSec=300
ExecStart=/bin/sh /opt/machine-bridge/tools/deploy/run-units.sh try /mnt/units
ExecStopPost=/bin/systemctl --force --force exit
UNIT
# not by chroot, which would keep the units from having users of their own
cd "$root"
mkdir former
pivot_root . former
umount -l former
id machine-bridge > /dev/null 2>&1 || useradd --system --no-create-home machine-bridge
exec env -i container=docker PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  /lib/systemd/systemd --system --unit=try.service --log-target=console --log-level=warning
