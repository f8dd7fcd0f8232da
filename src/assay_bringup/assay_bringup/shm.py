"""Fast DDS's files in `/dev/shm`: whether there is room for a graph, and which of them a killed process left behind.

Each process holds a segment for what it sends and a port for each locator it listens on. A killed process leaves
them; nobody else ever removes them, and after some tens of killed processes a small `/dev/shm` is full, whereupon DDS
goes on over UDP without a word and large images get lost. The files of a living process must stay: it would go deaf.

Fast DDS marks ownership with a file lock (`flock`) on an empty file beside each segment and port, ``_el`` for one
exclusive owner, ``_sl`` for several readers, which the kernel releases with the owner. The same test is used here
as between Fast DDS's processes: who gets the lock knows that the owner is gone.

Source: Fast DDS 2.14, `utils/shared_memory/RobustExclusiveLock.hpp`, `rtps/transport/shared_mem/SharedMemGlobal.hpp`.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from assay_core.errors import ConfigError

__all__ = ["SHM", "Sweep", "leftovers", "require_room", "sweep"]

SHM = Path("/dev/shm")

_BASE = r"(?P<base>(?:fastrtps|fastdds)_(?:port\d+|[0-9a-f]{16}))"
_FILE = re.compile(rf"^{_BASE}(?P<lock>_el|_sl)?$")
_MUTEX = re.compile(rf"^sem\.{_BASE}_mutex$")

_SETTLE_S = 0.2
"""A lock file this young [s] may belong to a process between creating and locking it; it is looked at again later."""

_DEFAULT_SEGMENT = 512 * 1024
_OVERHEAD = 5 * 1024 * 1024
"""Bytes that a process takes beside its segment's size: allocator, ports. Measured: 67.0 MiB for a 64 MiB segment."""

_OWN_VARIABLE = "ASSAY_DDS_PROFILE"
_PROFILE_VARIABLES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")


@dataclass
class Sweep:
    """What a sweep found."""

    removed: list[str] = field(default_factory=list)
    """Names of removed files."""
    kept: list[str] = field(default_factory=list)
    """Segments and ports of living processes."""


@dataclass
class _Resource:
    """One segment or port with the files that belong to it."""

    base: str
    files: set[str] = field(default_factory=set)

    @property
    def locks(self) -> list[str]:
        return sorted(name for name in self.files if name in (self.base + "_el", self.base + "_sl"))


def sweep(directory: Path = SHM) -> Sweep:
    """Remove the files of processes that are gone, and no others.

    Takes some milliseconds; 0.2 s more where a process was killed right after its start.
    Files of other users are left alone.
    """
    result = Sweep()
    young = _pass(directory, _resources(directory), result, patient=True)
    if young:
        time.sleep(_SETTLE_S)
        current = {r.base: r for r in _resources(directory)}
        _pass(directory, [current[base] for base in young if base in current], result, patient=False)
    return result


def leftovers(directory: Path = SHM) -> list[str]:
    """Return the names of all Fast DDS files of this user, of living and dead processes alike."""
    return sorted(name for r in _resources(directory) for name in r.files)


def require_room(processes: int, environ: Mapping[str, str], directory: Path = SHM) -> None:
    """Check that ``processes`` more processes find room for their segments.

    Args:
        processes: How many are about to start.
        environ: Environment they get; names the DDS profile that says how large a segment is.
        directory: Where the segments go.

    Raises:
        ConfigError: There is less room than they need.
    """
    if environ.get("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp") != "rmw_fastrtps_cpp":
        return
    needed = processes * (_segment_size(environ) + _OVERHEAD)
    try:
        free = shutil.disk_usage(directory).free
    except OSError as error:
        raise ConfigError(
            str(directory),
            expected="shared memory for DDS",
            got=str(error),
            fix="mount a tmpfs there",
        ) from error
    if free < needed:
        raise ConfigError(
            str(directory),
            expected=f"{_mib(needed)} MiB free for the {processes} processes of the graph",
            got=f"{_mib(free)} MiB",
            fix="in a container: docker run --shm-size=1g (or --ipc=host); elsewhere: "
            "sudo mount -o remount,size=1g /dev/shm; or end what fills it (df -h /dev/shm)",
        )


def _mib(size: int) -> int:
    return size // (1024 * 1024)


def _segment_size(environ: Mapping[str, str]) -> int:
    """Return the largest shared-memory segment [bytes] of the DDS profile in ``environ``."""
    for variable in _PROFILE_VARIABLES:
        profile = environ.get(variable, "")
        if not profile:
            continue
        try:
            tree = ET.parse(profile)
        except (OSError, ET.ParseError) as error:
            raise ConfigError(
                f"DDS profile {profile}",
                expected="a readable XML file",
                got=str(error),
                fix=f"correct {_OWN_VARIABLE if os.environ.get(_OWN_VARIABLE) == profile else 'dds_profile:=PATH'}",
            ) from error
        sizes = [int(e.text) for e in tree.iter() if e.tag.endswith("segment_size") and e.text and e.text.isdigit()]
        return max(sizes, default=_DEFAULT_SEGMENT)
    return _DEFAULT_SEGMENT


def _resources(directory: Path) -> list[_Resource]:
    """Return every segment and port in ``directory`` that belongs to this user."""
    found: dict[str, _Resource] = {}
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return []
    for entry in entries:
        match = _FILE.match(entry.name) or _MUTEX.match(entry.name)
        if match is None or not _ours(entry):
            continue
        base = match["base"]
        found.setdefault(base, _Resource(base)).files.add(entry.name)
    return list(found.values())


def _ours(entry: os.DirEntry[str]) -> bool:
    try:
        return os.geteuid() in (0, entry.stat(follow_symlinks=False).st_uid)
    except OSError:
        return False


def _pass(directory: Path, resources: Iterable[_Resource], result: Sweep, *, patient: bool) -> list[str]:
    """Remove what is dead; return the bases that are too young to tell (with ``patient``)."""
    young: list[str] = []
    held = _kernel_locks()
    unlocked: list[_Resource] = []
    for resource in resources:
        locks = [directory / name for name in resource.locks]
        if not locks:
            unlocked.append(resource)
        elif any(_identity(path) in held for path in locks):
            result.kept.append(resource.base)
        elif patient and any(_age(path) < _SETTLE_S for path in locks):
            young.append(resource.base)
        else:
            _remove_locked(directory, resource, locks, result)
    if unlocked:
        mapped = _mapped(directory)
        for resource in unlocked:
            if resource.files & mapped:
                result.kept.append(resource.base)
            elif patient and any(_age(directory / name) < _SETTLE_S for name in resource.files):
                young.append(resource.base)
            else:
                _unlink(directory, resource, result)
    return young


def _remove_locked(directory: Path, resource: _Resource, locks: list[Path], result: Sweep) -> None:
    """Remove a resource while holding its locks, unless somebody else holds one."""
    handles: list[int] = []
    try:
        for path in locks:
            try:
                handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return  # somebody else is cleaning it up
            handles.append(handle)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                result.kept.append(resource.base)
                return
            opened = os.fstat(handle)
            if (opened.st_dev, opened.st_ino) != _identity(path):
                return  # removed and made anew in between
        _unlink(directory, resource, result)
    finally:
        for handle in handles:
            os.close(handle)


def _unlink(directory: Path, resource: _Resource, result: Sweep) -> None:
    locks = resource.locks
    for name in sorted(resource.files - set(locks)) + locks:
        path = directory / name
        try:
            path.unlink()
        except OSError:
            continue
        result.removed.append(name)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino)


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_ctime
    except OSError:
        return float("inf")


def _kernel_locks() -> set[tuple[int, int] | None]:
    """Return device and inode of every file that a visible process holds a `flock` on, without touching any."""
    held: set[tuple[int, int] | None] = set()
    try:
        lines = Path("/proc/locks").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return held
    for line in lines:
        fields = line.split()
        if len(fields) >= 6 and fields[1] == "FLOCK":
            major, minor, inode = fields[5].split(":")
            held.add((os.makedev(int(major, 16), int(minor, 16)), int(inode)))
    return held


def _mapped(directory: Path) -> set[str]:
    """Return the names of files in ``directory`` that some process of this user has mapped."""
    names: set[str] = set()
    prefix = f"{directory}/"
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            maps = (process / "maps").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for line in maps.splitlines():
            _, found, name = line.partition(prefix)
            if found:
                names.add(name)
    return names
