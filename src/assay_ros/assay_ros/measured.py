"""Checks of measured samples that every reader of the rig makes, and the errors that name the stream.

The runner and the policy node read the same streams. Anybody may publish on them, so nothing of a sample is taken for
granted: a torn picture, a joint too few or a value that is no number must end the trial as a fault of the rig. It must
not reach a policy, whose answer would then be blamed on the policy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from assay_core.errors import RigFault
from assay_core.rig import Camera
from assay_ros.raw import image_pixels

__all__ = ["by_label", "camera_pixels", "printable"]

MOST_NAMES, MOST_CHARACTERS = 16, 40
"""What an error message repeats of a stranger's words: so many names, each of so many characters."""


def printable(text: str) -> str:
    """Return a stranger's word for an error message: short, and without control characters."""
    return "".join(char for char in text[:MOST_CHARACTERS] if char.isprintable())


def by_label(
    stream: str, names: Sequence[str], values: Sequence[float], wanted: Sequence[str]
) -> npt.NDArray[np.float64]:
    """Return the values with the wanted names, shape (len(wanted),), in the order of ``wanted``.

    Args:
        stream: Topic, for the error.
        names: Name of each value, in any order; more than the wanted ones may be there.
        values: As many as names.
        wanted: Names to return the values of.

    Raises:
        RigFault: A wanted name is missing or there twice, there is not one value a name, or a value is not finite.
    """
    at = {name: i for i, name in enumerate(names)}
    if len(values) != len(names) or len(at) != len(names) or not set(wanted) <= set(at):
        told = ", ".join(printable(name) for name in names[:MOST_NAMES])
        raise RigFault(
            stream,
            expected=f"{len(wanted)} values named {', '.join(wanted)}",
            got=f"{len(values)} values named {told or '(none)'}" + (", ..." if len(names) > MOST_NAMES else ""),
            fix="correct the names and values of the node that publishes it",
        )
    found = np.array([values[at[name]] for name in wanted], dtype=np.float64)
    if not np.isfinite(found).all():
        raise RigFault(
            stream,
            expected=f"{len(wanted)} finite values",
            got=str(found.tolist()),
            fix="inspect the node that publishes it",
        )
    return found


def camera_pixels(raw: bytes, camera: Camera, reader: str) -> npt.NDArray[np.uint8]:
    """Return the pixels of one serialized picture, shape (height, width, 3) uint8, without copying.

    Args:
        raw: The message as a raw subscription hands it over.
        camera: The camera it should be from.
        reader: Who reads it, for the error, e.g. ``the bridge``.

    Raises:
        RigFault: The picture is torn, or its size or encoding is not the camera's.
    """
    try:
        image = image_pixels(raw)
    except ValueError as error:
        raise RigFault(f"{camera.topic}: torn or foreign picture: {error}") from None
    if image.shape != (camera.height, camera.width, 3):
        raise RigFault(
            camera.topic,
            expected=f"uint8 ({camera.height}, {camera.width}, 3)",
            got=str(image.shape),
            fix=f"give the camera node and {reader} the same camera size",
        )
    return image
