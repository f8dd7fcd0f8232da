"""Procedural textures of the mock world's pictures: wood, floor, cloth weaves and surface grain.

Made from fixed seeds with numpy and OpenCV alone, so that the workspace ships no picture files and every machine
draws the same bench. All colours are RGB, uint8. What is in between is single precision and one channel at a time:
memory that a texture took once is not given back.
"""

from __future__ import annotations

import itertools
from functools import cache

import cv2
import numpy as np
import numpy.typing as npt

__all__ = ["GRAIN_KINDS", "GRAIN_SCALE", "floor", "grain", "weave", "wood"]

Image = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

GRAIN_SCALE = 128.0
"""Grey level of a `grain` tile that leaves a colour unchanged."""

GRAIN_KINDS = ("ceramic", "metal", "plastic", "wood", "paper")
"""Surfaces that `grain` knows."""


def _noise(rng: np.random.Generator, height: int, width: int, cell_y: float, cell_x: float) -> Floats:
    """Return smooth noise in about -1..1, shape (height, width), whose features measure cell_y x cell_x pixels."""
    coarse = _white(rng, max(2, int(height / cell_y) + 2), max(2, int(width / cell_x) + 2), 1.0)
    fine = np.asarray(cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC), dtype=np.float32)
    fine /= max(float(fine.max()), -float(fine.min())) + 1e-9
    return fine


def _white(rng: np.random.Generator, height: int, width: int, sigma: float) -> Floats:
    """Return noise without neighbourhood, shape (height, width)."""
    values = rng.standard_normal((height, width), dtype=np.float32)
    values *= sigma
    return values


@cache
def wood(height: int, width: int, planks: int = 5) -> Image:
    """Return a bench top of planks along x with year rings, shape (height, width, 3)."""
    rng = np.random.default_rng(7)
    light, dark = (206.0, 168.0, 120.0), (150.0, 104.0, 62.0)
    picture = np.empty((height, width, 3), np.uint8)
    edges = np.linspace(0, height, planks + 1).astype(int)
    for top, bottom in itertools.pairwise(edges):
        rows = int(bottom - top)
        across = np.linspace(0.0, 1.0, rows, dtype=np.float32)[:, None]
        wander = _noise(rng, rows, width, rows / 2, width / 3) * 0.35 + _noise(rng, rows, width, 12, 160) * 0.05
        rings = 0.5 + 0.5 * np.sin((across * rng.uniform(1.2, 2.6) + wander + rng.uniform(0, 1)) * 2 * np.pi * 3)
        fibres = _noise(rng, rows, width, 1.2, 60)
        mix = np.clip(0.10 + 0.42 * rings**2 + 0.20 * fibres + rng.uniform(-0.10, 0.14), 0.0, 1.0)
        gap = np.ones((rows, 1), np.float32)
        gap[:2], gap[2:3] = 0.62, 1.06
        speckle = _white(rng, rows, width, 3.0)
        for channel in range(3):
            plank = (light[channel] + (dark[channel] - light[channel]) * mix) * gap + speckle
            picture[top:bottom, :, channel] = np.clip(plank, 0, 255)
    return picture


@cache
def floor(size: int) -> Image:
    """Return a grey floor of tiles that repeats at its borders, shape (size, size, 3)."""
    rng = np.random.default_rng(11)
    base = 92.0 + 7.0 * _noise(rng, size, size, size / 9, size / 9) + _white(rng, size, size, 4.0)
    tile = size // 4
    yy, xx = np.ogrid[0:size, 0:size]
    base += rng.uniform(-5.0, 5.0, (4, 4)).astype(np.float32)[np.minimum(yy // tile, 3), np.minimum(xx // tile, 3)]
    base[(yy % tile < 2) | (xx % tile < 2)] *= 0.72
    picture = np.empty((size, size, 3), np.uint8)
    for channel, tint in enumerate((0.96, 1.0, 1.03)):
        picture[:, :, channel] = np.clip(base * tint, 0, 255)
    return picture


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
    yy, xx = np.ogrid[0:height, 0:width]
    edge = np.minimum(np.minimum(yy, height - 1 - yy), np.minimum(xx, width - 1 - xx))
    mix: Floats
    if kind == "check":
        cell = max(4, min(height, width) // 12)
        mix = (((yy // cell) % 2 + (xx // cell) % 2) / 2.0).astype(np.float32)
    elif kind == "stripe":
        along = np.minimum(yy, height - 1 - yy) / height
        bands = ((along > 0.08) & (along < 0.12)) | ((along > 0.14) & (along < 0.155))
        bands |= (along > 0.175) & (along < 0.19)
        mix = np.broadcast_to(bands, (height, width)).astype(np.float32)
    else:
        border = edge / min(height, width)
        pitch = max(6, min(height, width) // 9)
        dots = ((yy % pitch - pitch / 2) ** 2 + (xx % pitch - pitch / 2) ** 2) < (pitch * 0.16) ** 2
        mix = (((border > 0.05) & (border < 0.075)) | (dots & (border > 0.11))).astype(np.float32)
    light = _white(rng, height, width, 0.025)  # threads, then folds, then the hem
    light += 1.0 + 0.07 * ((yy % 2) - 0.5) * 2 * (((xx // 2) % 2) - 0.5) * 2
    slow = _noise(rng, height, width, height / 3, width / 2)
    light *= 1.0 + 0.10 * np.asarray(cv2.GaussianBlur(slow, (0, 0), max(1.0, width / 60)))
    light[edge < 2] *= 0.70
    light[edge == 5] *= 0.88
    rgba = np.full((height, width, 4), 255, dtype=np.uint8)
    for channel, (ground, pattern) in enumerate(zip(*colors, strict=True)):
        rgba[:, :, channel] = np.clip((ground + (pattern - ground) * mix) * light, 0, 255)
    return rgba


@cache
def grain(kind: str, size: int = 512) -> Image:
    """Return a tile that multiplies an object's pixels, shape (size, size, 4); its alpha leaves alpha unchanged.

    Args:
        kind: One of `GRAIN_KINDS`; metal is brushed.
        size: Pixels along both axes.
    """
    rng = np.random.default_rng(1 + GRAIN_KINDS.index(kind))
    if kind == "metal":
        values = 12.0 * _noise(rng, size, size, 1.0, 24.0) + _white(rng, size, size, 3.0)
    elif kind == "wood":
        values = 17.0 * _noise(rng, size, size, 18.0, 1.6) + _white(rng, size, size, 4.0)
    elif kind == "paper":
        values = _white(rng, size, size, 5.0) + 5.0 * _noise(rng, size, size, 6.0, 6.0)
    elif kind == "plastic":
        values = 4.0 * _noise(rng, size, size, 14.0, 14.0) + _white(rng, size, size, 2.0)
    else:
        values = 6.0 * _noise(rng, size, size, 3.0, 3.0) + _white(rng, size, size, 2.5)
    tile = np.full((size, size, 4), round(GRAIN_SCALE), np.uint8)
    tile[:, :, :3] = np.clip(GRAIN_SCALE + values, 0, 255)[:, :, None]
    return tile
