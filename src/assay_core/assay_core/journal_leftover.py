"""Tells what a crash leaves of a session that never acknowledged anything from a damaged journal.

A session whose runner died while its journal was being made can simply start again. Taking a damaged journal for such a
leftover would throw away verdicts, so everything that cannot be a leftover is refused by name.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote

from assay_core.errors import DataError
from assay_core.files import read_regular, sync_directory
from assay_core.journal_format import JOURNAL_FILE, check_header
from assay_core.session_lock import SessionLock
from assay_core.session_traces import results_in

__all__ = ["remove_if_nothing_acknowledged"]


def remove_if_nothing_acknowledged(directory: Path) -> bool:
    """Remove a journal that a crash left before its first event was acknowledged, so that it can be created again.

    The first events are in the main file before they are acknowledged (see `JournalWriter`). A whole main file without
    events therefore proves that nothing is lost with it.

    Args:
        directory: Session directory.

    Returns:
        Whether a journal was removed; False when it has events.

    Raises:
        SessionInUse: Another process writes it.
        DataError: It is damaged, or the session has results without events.
    """
    path = directory / JOURNAL_FILE
    lock = SessionLock(directory)
    try:
        check_header(path)
        data = read_regular(path)
        size, pages = int.from_bytes(data[16:18], "big"), int.from_bytes(data[28:32], "big")
        size = 65536 if size == 1 else size
        fix = "restore the journal from a copy; nothing was changed"
        if len(data) != size * pages:
            got = f"{len(data)} bytes instead of {size * pages}"
            raise DataError(f"{path}", expected="a whole journal", got=got, fix=fix)
        try:
            uri = f"file:{quote(str(path.absolute()))}?immutable=1"
            connection = sqlite3.connect(uri, uri=True)
            try:
                count = connection.execute("SELECT count(*) FROM events").fetchone()[0]
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise DataError(f"{path}", expected="a whole journal", got=str(error), fix=fix) from error
        if count:
            return False
        results = results_in(directory)
        if results:
            got = f"none, beside {', '.join(results)}"
            raise DataError(f"{path}", expected="the events of this session", got=got, fix=fix)
        # The journal itself last: what belongs to it, left alone, would prove that one was lost.
        for file in sorted(directory.glob(JOURNAL_FILE + "*"), reverse=True):
            file.unlink()
        sync_directory(directory)
        return True
    finally:
        lock.release()
