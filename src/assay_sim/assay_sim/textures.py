"""Procedural textures of the mock world's pictures: wood, floor, cloth weaves and surface grain.

Made from fixed seeds with numpy and OpenCV alone, so that the workspace ships no picture files and every machine
draws the same bench. All colours are RGB, uint8.
"""

from __future__ import annotations

import itertools
from functools import cache

import cv2
import numpy as np
import numpy.typing as npt

__all__ = ["GRAIN_SCALE", "floor", "grain", "weave", "wood"]

Image = npt.NDArray[np.uint8]
Array = npt.NDArray[np.float64]

GRAIN_SCALE = 128.0
"""Grey level of a `grain` tile that leaves a colour unchanged."""


def _noise(rng: np.random.Generator, height: int, width: int, cell_y: float, cell_x: float) -> Array:
    """Return smooth noise in about -1..1, shape (height, width), whose features measure cell_y x cell_x pixels."""
    coarse = rng.standard_normal((max(2, int(height / cell_y) + 2), max(2, int(width / cell_x) + 2)))
    fine = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    return np.asarray(fine / (np.abs(fine).max() + 1e-9))


@cache
def wood(height: int, width: int, planks: int = 5) -> Image:
    """Return a bench top of planks along x with year rings, shape (height, width, 3)."""
    rng = np.random.default_rng(7)
    light, dark = np.array([206.0, 168.0, 120.0]), np.array([150.0, 104.0, 62.0])
    picture = np.empty((height, width, 3))
    edges = np.linspace(0, height, planks + 1).astype(int)
    for top, bottom in itertools.pairwise(edges):
        rows = int(bottom - top)
        across = np.linspace(0.0, 1.0, rows)[:, None]
        wander = _noise(rng, rows, width, rows / 2, width / 3) * 0.35 + _noise(rng, rows, width, 12, 160) * 0.05
        rings = 0.5 + 0.5 * np.sin((across * rng.uniform(1.2, 2.6) + wander + rng.uniform(0, 1)) * 2 * np.pi * 3)
        fibres = _noise(rng, rows, width, 1.2, 60)
        mix = np.clip(0.10 + 0.42 * rings**2 + 0.20 * fibres + rng.uniform(-0.10, 0.14), 0.0, 1.0)[:, :, None]
        plank = light * (1.0 - mix) + dark * mix
        plank[:2] *= 0.62
        plank[2:3] *= 1.06
        picture[top:bottom] = plank
    speckle = rng.normal(0.0, 3.0, (height, width, 1))
    return np.asarray(np.clip(picture + speckle, 0, 255).astype(np.uint8))


@cache
def floor(size: int) -> Image:
    """Return a grey floor of tiles that repeats at its borders, shape (size, size, 3)."""
    rng = np.random.default_rng(11)
    base = 92.0 + 7.0 * _noise(rng, size, size, size / 9, size / 9) + rng.normal(0.0, 4.0, (size, size))
    tile = size // 4
    yy, xx = np.mgrid[0:size, 0:size]
    shade = rng.uniform(-5.0, 5.0, (4, 4))[np.minimum(yy // tile, 3), np.minimum(xx // tile, 3)]
    base = base + shade
    base[(yy % tile < 2) | (xx % tile < 2)] *= 0.72
    picture = base[:, :, None] * np.array([0.96, 1.0, 1.03])
    return np.asarray(np.clip(picture, 0, 255).astype(np.uint8))


def weave(
    height: int, width: int, kind: str, colors: tuple[tuple[int, int, int], tuple[int, int, int]], seed: int = 3
) -> Image:
    """Return a cloth with hem, premultiplied RGBA, shape (height, width, 4).

    Args:
        height: Pixels along the cloth's y.
        width: Pixels along the cloth's x.
        kind: ``check`` (gingham), ``stripe`` (bands near both ends) or ``dots`` (plain with a border line).
        colors: Ground and pattern, RGB.
        seed: Of the folds and threads.
    """
    rng = np.random.default_rng(seed)
    ground, pattern = (np.array(c, dtype=np.float64) for c in colors)
    yy, xx = np.mgrid[0:height, 0:width]
    if kind == "check":
        cell = max(4, min(height, width) // 12)
        mix = ((yy // cell) % 2 + (xx // cell) % 2) / 2.0
    elif kind == "stripe":
        along = np.minimum(yy, height - 1 - yy) / height
        mix = (
            ((along > 0.08) & (along < 0.12)) | ((along > 0.14) & (along < 0.155)) | ((along > 0.175) & (along < 0.19))
        )
        mix = mix.astype(np.float64)
    else:
        border = np.minimum(np.minimum(yy, height - 1 - yy), np.minimum(xx, width - 1 - xx)) / min(height, width)
        pitch = max(6, min(height, width) // 9)
        dots = ((yy % pitch - pitch / 2) ** 2 + (xx % pitch - pitch / 2) ** 2) < (pitch * 0.16) ** 2
        mix = (((border > 0.05) & (border < 0.075)) | (dots & (border > 0.11))).astype(np.float64)
    picture = ground * (1.0 - mix[:, :, None]) + pattern * mix[:, :, None]
    threads = 1.0 + 0.07 * ((yy % 2) - 0.5) * 2 * (((xx // 2) % 2) - 0.5) * 2 + rng.normal(0.0, 0.025, (height, width))
    slow = _noise(rng, height, width, height / 3, width / 2)
    folds = 1.0 + 0.10 * np.asarray(cv2.GaussianBlur(slow, (0, 0), max(1.0, width / 60)))
    edge = np.minimum(np.minimum(yy, height - 1 - yy), np.minimum(xx, width - 1 - xx))
    hem = np.where(edge < 2, 0.70, np.where((edge > 4) & (edge < 6), 0.88, 1.0))
    shaded = picture * (threads * folds * hem)[:, :, None]
    rgba = np.full((height, width, 4), 255, dtype=np.uint8)
    rgba[:, :, :3] = np.clip(shaded, 0, 255)
    return rgba


@cache
def grain(kind: str, size: int = 512) -> Image:
    """Return a tile that multiplies an object's pixels, shape (size, size, 4); its alpha leaves alpha unchanged.

    Args:
        kind: ``ceramic``, ``metal`` (brushed), ``plastic``, ``wood`` or ``paper``.
        size: Pixels along both axes.
    """
    seeds = {"ceramic": 1, "metal": 2, "plastic": 3, "wood": 4, "paper": 5}
    rng = np.random.default_rng(seeds[kind])
    if kind == "metal":
        values = 12.0 * _noise(rng, size, size, 1.0, 24.0) + rng.normal(0.0, 3.0, (size, size))
    elif kind == "wood":
        values = 17.0 * _noise(rng, size, size, 18.0, 1.6) + rng.normal(0.0, 4.0, (size, size))
    elif kind == "paper":
        values = rng.normal(0.0, 5.0, (size, size)) + 5.0 * _noise(rng, size, size, 6.0, 6.0)
    elif kind == "plastic":
        values = 4.0 * _noise(rng, size, size, 14.0, 14.0) + rng.normal(0.0, 2.0, (size, size))
    else:
        values = 6.0 * _noise(rng, size, size, 3.0, 3.0) + rng.normal(0.0, 2.5, (size, size))
    tile = np.full((size, size, 4), GRAIN_SCALE)
    tile[:, :, :3] += values[:, :, None]
    return np.asarray(np.clip(tile, 0, 255).astype(np.uint8))
