"""Seeds derived from names, so that they survive reordering, and equal those of Inspect Robots.

A scene's seed comes from the id of its instance; a trial's from the evaluation's seed, the scene's seed and the
epoch. Inserting an instance therefore changes no other trial, and two laboratories that name the same trial get the
same scene.

Source: CRC-32 (zlib) of UTF-8 text, as in Inspect Robots' ``derive_seed``; see docs/sources.md.
"""

from __future__ import annotations

import zlib

from assay_core.errors import ConfigError

__all__ = ["scene_seed", "trial_seed"]


def scene_seed(instance_id: str) -> int:
    """Return the seed, 0..2^32-1, of the scene made from the instance ``instance_id``."""
    return zlib.crc32(instance_id.encode())


def trial_seed(eval_seed: int | None, scene_seed: int | None, epoch: int) -> int:
    """Return the seed, 0..2^32-1, of one trial.

    Args:
        eval_seed: Seed of the whole evaluation, 0 or more; None is a seed of its own, different from 0.
        scene_seed: Seed of the scene (``Scene.init_seed``).
        epoch: Index of the realization within its instance, from 0.

    Raises:
        ConfigError: ``eval_seed`` or ``epoch`` is negative.
    """
    if eval_seed is not None and eval_seed < 0:
        raise ConfigError("seed", expected="an integer of 0 or more", got=str(eval_seed), fix="change --seed")
    if epoch < 0:
        raise ConfigError("epoch", expected="an index of 0 or more", got=str(epoch), fix="count epochs from 0")
    return zlib.crc32(f"{eval_seed}:{scene_seed}:{epoch}".encode())
