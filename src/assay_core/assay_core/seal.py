"""The seal of a session: the hash of every file, byte for byte, so that any later change shows.

``seal.json`` holds a manifest in the order of paths. Its root hash is the SHA-256 of the manifest written as
``sha256sum`` writes it (hash, two spaces, path, newline), so that an auditor needs nothing of ours:
``sha256sum -c`` on those lines checks every file, and ``sha256sum`` of those lines gives the root hash.
Sealing does not prove who sealed; publishing the root hash elsewhere does.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from assay_core.errors import DataError
from assay_core.files import read_regular, write_atomically
from assay_core.journal_format import JOURNAL_FILE, check_header
from assay_core.journal_reader import JournalReader
from assay_core.seal_file import SEAL_FILE
from assay_core.session_lock import LOCK_FILE, SessionLock

__all__ = ["ADDENDA", "SEAL_FILE", "SEAL_SCHEMA_VERSION", "SETTLE_S", "Finding", "verify_seal", "write_seal"]

SEAL_SCHEMA_VERSION = 1
ADDENDA = "addenda"
"""Directory of later gradings and corrections, each chained to the seal; not covered by it."""

SETTLE_S = 20.0
"""How long sealing waits for those who read the journal [s]."""

_SETTLE_POLL_S = 0.02
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Finding:
    """One disagreement between a session and its seal."""

    path: str
    """Relative to the session directory; ``seal.json`` for the seal itself."""
    problem: str
    """What does not agree, for people."""

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


def write_seal(session_dir: str | Path, *, now: datetime | None = None) -> str:
    """Seal a session whose journal is closed and return the root hash, hex.

    The journal is brought into a state in which reading it changes no byte: no write-ahead log, opened as immutable.

    Args:
        session_dir: Session directory; nobody may be writing its journal.
        now: Time of sealing; the present by default.

    Raises:
        SessionInUse: A process still writes the journal.
        DataError: The journal is missing or damaged, the session is sealed already, it holds something that is not a
            regular file, or the disk cannot be written. The session stays unsealed.
    """
    directory = Path(session_dir)
    path = directory / JOURNAL_FILE
    check_header(path)
    if (directory / SEAL_FILE).exists():
        raise DataError(f"session '{directory}'", expected="no seal yet", got="a seal", fix="verify it instead")
    lock = SessionLock(directory)
    try:
        _settle(path)
        reader = JournalReader(path)
        files = []
        for name, file, regular in _files(directory):
            if not regular:
                fix = "move it out of the session directory"
                raise DataError(f"{file}", expected="regular files with plain names", got=repr(name), fix=fix)
            size, digest = _hash(file)
            files.append({"path": name, "size": size, "sha256": digest})
        root = _root(files)
        content = {
            "schema_version": SEAL_SCHEMA_VERSION,
            "session_id": reader.plan().session_id,
            "sealed_at": (now or datetime.now(timezone.utc)).isoformat(timespec="seconds").replace("+00:00", "Z"),
            "journal": {"events": reader.count, "head_hash": reader.head_hash},
            "root_hash": root,
            "files": files,
        }
        write_atomically(directory / SEAL_FILE, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
    except OSError as error:
        lock.release()
        got = f"{error.filename or ''}: {error.strerror or error}"
        fix = "free space or correct permissions, then close the session again"
        raise DataError(f"session '{directory}'", expected="to write its seal", got=got, fix=fix) from error
    except BaseException:
        lock.release()
        raise
    lock.release(remove=True)
    return root


def verify_seal(session_dir: str | Path) -> list[Finding]:
    """Compare every file of a sealed session with its seal and return all disagreements; none means intact.

    Raises:
        DataError: There is no seal, or it cannot be read: an unsealed session is not a broken one.
    """
    directory = Path(session_dir)
    seal = _load(directory / SEAL_FILE)
    listed = {item["path"]: item for item in seal["files"]}
    findings = []
    if _root(seal["files"]) != seal["root_hash"]:
        findings.append(Finding(SEAL_FILE, "its root hash does not belong to its list of files: the seal was altered"))
    found = {name: file if regular else None for name, file, regular in _files(directory)}
    for name in sorted(listed.keys() - found.keys()):
        findings.append(Finding(name, "sealed, but missing now"))
    for name in sorted(found.keys() - listed.keys()):
        findings.append(Finding(name, "not in the seal: added after sealing"))
    for name in sorted(listed.keys() & found.keys()):
        file = found[name]
        if file is None:
            findings.append(Finding(name, "replaced by something that is not a regular file"))
            continue
        try:
            size, digest = _hash(file, sync=False)
        except OSError as error:
            findings.append(Finding(name, f"cannot be read: {error.strerror or error}"))
            continue
        if digest != listed[name]["sha256"]:
            findings.append(Finding(name, f"changed: {listed[name]['size']} bytes when sealed, {size} now"))
    if not any(finding.path == JOURNAL_FILE for finding in findings):
        try:
            head = JournalReader(directory).verify()
            if head != seal["journal"]["head_hash"]:
                findings.append(Finding(SEAL_FILE, "its journal hash is not that of the journal"))
        except DataError as error:
            findings.append(Finding(JOURNAL_FILE, str(error)))
    return findings


def _settle(path: Path) -> None:
    """Write everything into the main file and leave no write-ahead log behind, once nobody reads the journal."""
    end, turn = time.monotonic() + SETTLE_S, threading.Event()
    while True:
        try:
            with contextlib.closing(sqlite3.connect(path, timeout=0.0, isolation_level=None)) as connection:
                mode = connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0]
        except sqlite3.Error as error:
            # SQLite does not wait for readers here, whatever its time-out.
            if "locked" not in str(error) and "busy" not in str(error):
                got, fix = str(error), "check disk and file"
                raise DataError(f"{path}", expected="a journal to settle", got=got, fix=fix) from error
            mode = str(error)
        if mode == "delete":
            return
        if time.monotonic() > end:
            fix = "close whatever reads the journal, such as sqlite3, then close the session again"
            raise DataError(f"{path}", expected=f"no reader of the journal for {SETTLE_S:g} s", got=mode, fix=fix)
        turn.wait(_SETTLE_POLL_S)


def _files(directory: Path) -> Iterator[tuple[str, Path, bool]]:
    """Yield what a seal covers, in order of paths: relative path, path, and whether it is a regular file."""
    skipped = {SEAL_FILE, SEAL_FILE + ".new", LOCK_FILE}
    found = []
    for root, folders, names in os.walk(directory):
        base = Path(root)
        if base == directory:
            folders[:] = [folder for folder in folders if folder != ADDENDA]
            names = [name for name in names if name not in skipped]
        links = [folder for folder in folders if (base / folder).is_symlink()]
        for name in names + links:
            file = base / name
            relative = file.relative_to(directory).as_posix()
            plain = "\n" not in relative and "\\" not in relative
            found.append((relative, file, plain and stat.S_ISREG(file.lstat().st_mode)))
    yield from sorted(found)


def _hash(file: Path, *, sync: bool = True) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
        if sync:
            os.fsync(stream.fileno())
    return size, digest.hexdigest()


def _root(files: list[dict[str, Any]]) -> str:
    text = "".join(f"{item['sha256']}  {item['path']}\n" for item in files)
    return hashlib.sha256(text.encode()).hexdigest()


def _load(path: Path) -> dict[str, Any]:
    fix = "an unsealed session was never closed as done; a damaged seal must come from a copy"
    try:
        seal = json.loads(read_regular(path))
    except FileNotFoundError as error:
        raise DataError(f"{path}", expected="a seal", got="no such file: the session is unsealed", fix=fix) from error
    except (OSError, ValueError) as error:
        raise DataError(f"{path}", expected="a readable seal", got=str(error), fix=fix) from error
    try:
        if seal["schema_version"] != SEAL_SCHEMA_VERSION:
            raise ValueError(f"version {seal['schema_version']}")
        for item in seal["files"]:
            if not (isinstance(item["path"], str) and isinstance(item["sha256"], str) and type(item["size"]) is int):
                raise ValueError(f"file {item!r}")
        ok = isinstance(seal["root_hash"], str) and isinstance(seal["journal"]["head_hash"], str)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}", expected="a seal of version 1", got=f"{error}", fix=fix) from error
    if not ok:
        raise DataError(f"{path}", expected="a seal of version 1", got="hashes of another type", fix=fix)
    return dict(seal)
