"""Shapes of things that hold other things: containers, lids, trays, racks, boxes.

Every builder takes the true outer size in metres (width x, length y, height z) and fits the shape into it.
"""

from __future__ import annotations

from assay_sim.mesh import Color, Mesh, MeshBuilder, circle

__all__ = ["compartment", "container", "dish_rack", "distractor", "food_container", "lid", "pasta_box", "tray"]

Size = tuple[float, float, float]


def food_container(size: Size, variant: int) -> Mesh:
    """Return a closed plastic box with a blue snap lid, two clips and a raised panel."""
    del variant
    w, d, h = size
    m = MeshBuilder(gloss=0.6)
    body, lid_side, lid_top, panel = (
        (196.0, 214.0, 222.0),
        (30.0, 88.0, 152.0),
        (52.0, 120.0, 190.0),
        (84.0, 148.0, 210.0),
    )
    m.box((0.0, 0.0), (w * 0.92, d * 0.90), 0.0, h * 0.82, body, (178.0, 198.0, 208.0))
    m.box((0.0, 0.0), (w * 0.80, d * 0.92), h * 0.20, h * 0.34, body, (214.0, 150.0, 70.0))
    m.box((0.0, 0.0), (w * 0.97, d * 0.97), h * 0.80, h * 0.95, lid_top, lid_side)
    m.flat(
        [(-w * 0.36, -d * 0.32), (w * 0.36, -d * 0.32), (w * 0.36, d * 0.32), (-w * 0.36, d * 0.32)],
        h,
        panel,
        bias=-0.01,
    )
    m.flat(
        [(-w * 0.30, -d * 0.24), (w * 0.30, -d * 0.24), (w * 0.30, d * 0.24), (-w * 0.30, d * 0.24)],
        h,
        lid_top,
        bias=-0.02,
    )
    for side in (-1.0, 1.0):
        m.box((side * w * 0.485, 0.0), (w * 0.03, d * 0.34), h * 0.55, h * 0.92, (236.0, 240.0, 244.0))
    return m.build()


def container(size: Size, variant: int) -> Mesh:
    """Return an open storage box with pale walls, a coloured rim and volume lines inside."""
    del variant
    w, d, h = size
    m = MeshBuilder(gloss=0.5)
    wall = min(w, d) * 0.05
    outside, inside, rim = (110.0, 160.0, 146.0), (188.0, 216.0, 204.0), (58.0, 112.0, 98.0)
    m.open_box((w, d), 0.0, h, wall, outside, inside, rim)
    for k in (0.35, 0.65):
        line = (142.0, 180.0, 166.0)
        z = h * k
        for side in (-1.0, 1.0):
            y = side * (d / 2 - wall) * 0.995
            ends = (-w * 0.30, w * 0.30) if side > 0 else (w * 0.30, -w * 0.30)
            m.face(
                [(ends[1], y, z), (ends[0], y, z), (ends[0], y, z + h * 0.05), (ends[1], y, z + h * 0.05)],
                line,
                bias=0.2,
            )
    m.flat(circle(min(w, d) * 0.22, 20), wall * 1.05, (160.0, 194.0, 180.0), bias=0.4)
    return m.build()


def lid(size: Size, variant: int) -> Mesh:
    """Return a loose lid: a stepped orange plate with a round knob."""
    del variant
    w, d, h = size
    m = MeshBuilder(gloss=0.6)
    edge, top, step, knob = (170.0, 92.0, 34.0), (222.0, 136.0, 62.0), (236.0, 160.0, 92.0), (70.0, 52.0, 44.0)
    m.box((0.0, 0.0), (w, d), 0.0, h * 0.34, top, edge)
    m.box((0.0, 0.0), (w * 0.80, d * 0.74), h * 0.34, h * 0.52, step, edge)
    r = min(w, d) * 0.14
    m.lathe(
        [(r * 0.6, h * 0.52), (r, h * 0.74), (r * 0.92, h), (r * 0.5, h), (0.0, h)],
        [knob, (104.0, 80.0, 66.0), knob, (128.0, 100.0, 84.0)],
        segments=14,
        bias=[-0.02, -0.02, -0.03, -0.04],
    )
    return m.build()


def tray(size: Size, variant: int) -> Mesh:
    """Return a wooden tray with raised walls and a slatted bottom."""
    del variant
    w, d, h = size
    m = MeshBuilder(gloss=0.15)
    wall = 0.008
    outside, inside, rim = (132.0, 88.0, 52.0), (156.0, 108.0, 66.0), (196.0, 146.0, 96.0)
    m.open_box((w, d), 0.0, h, wall, outside, inside, rim)
    slats = 7
    for k in range(slats):
        x0 = -w / 2 + wall + (w - 2 * wall) * k / slats
        x1 = x0 + (w - 2 * wall) / slats * 0.92
        shade: Color = (176.0, 124.0, 78.0) if k % 2 else (164.0, 114.0, 70.0)
        y = d / 2 - wall
        m.flat([(x0, -y), (x1, -y), (x1, y), (x0, y)], wall * 1.1, shade, bias=0.45)
    return m.build()


def compartment(size: Size, variant: int) -> Mesh:
    """Return one compartment of a cutlery tray: a grey trough with a coloured label, by variant."""
    w, d, h = size
    labels: tuple[Color, ...] = ((70, 130, 190), (200, 90, 70), (90, 150, 90), (200, 165, 70))
    m = MeshBuilder(gloss=0.3)
    wall = 0.005
    m.open_box((w, d), 0.0, h, wall, (118.0, 124.0, 130.0), (176.0, 182.0, 188.0), (226.0, 230.0, 234.0))
    y0, y1 = d / 2 - wall - d * 0.13, d / 2 - wall - d * 0.02
    color = labels[variant % len(labels)]
    m.flat([(-w * 0.36, y0), (w * 0.36, y0), (w * 0.36, y1), (-w * 0.36, y1)], wall * 1.2, color, bias=0.4)
    for k in range(9):
        y = -d / 2 + d * (0.08 + 0.085 * k)
        bar = [(-w * 0.38, y), (w * 0.38, y), (w * 0.38, y + d * 0.015), (-w * 0.38, y + d * 0.015)]
        m.flat(bar, wall * 1.1, (154.0, 160.0, 168.0), bias=0.42)
    return m.build()


def dish_rack(size: Size, variant: int) -> Mesh:
    """Return a wire dish rack: a drip tray, a frame and upright wires that make the slots."""
    del variant
    w, d, h = size
    m = MeshBuilder(gloss=0.5)
    m.box((0.0, 0.0), (w, d), 0.0, 0.012, (92.0, 98.0, 106.0), (60.0, 64.0, 70.0))
    for k in range(8):
        y = -d * 0.42 + d * 0.12 * k
        m.flat(
            [(-w * 0.46, y), (w * 0.46, y), (w * 0.46, y + d * 0.04), (-w * 0.46, y + d * 0.04)],
            0.0125,
            (112.0, 118.0, 126.0),
            bias=0.3,
        )
    wire, frame = (222.0, 226.0, 230.0), (196.0, 200.0, 206.0)
    r = 0.003
    half_w, half_d = w / 2 - r, d / 2 - r
    for z in (0.03, h * 0.45):
        ring = [
            (-half_w, -half_d, z),
            (half_w, -half_d, z),
            (half_w, half_d, z),
            (-half_w, half_d, z),
            (-half_w, -half_d, z),
        ]
        m.tube(ring, r, frame)
    slots = 8
    for k in range(slots):
        x = -half_w + 2 * half_w * (k + 0.5) / slots
        for y in (-half_d * 0.45, half_d * 0.45):
            m.tube([(x, y, 0.02), (x, y, h - r)], r, wire)
        m.tube([(x, -half_d, 0.03), (x, half_d, 0.03)], r * 0.8, wire)
    for x in (-half_w, half_w):
        for y in (-half_d, half_d):
            m.tube([(x, y, 0.0), (x, y, h * 0.45)], r * 1.3, frame)
    return m.build()


def pasta_box(size: Size, variant: int) -> Mesh:
    """Return an upright blue carton with a window that shows pasta, a white band and an open top."""
    del variant
    w, d, h = size
    m = MeshBuilder(gloss=0.1)
    blue, deep, white, window = (32.0, 70.0, 150.0), (22.0, 50.0, 112.0), (240.0, 238.0, 230.0), (228.0, 190.0, 104.0)
    m.open_box((w, d), 0.0, h, 0.002, blue, deep, (58.0, 98.0, 178.0))
    for side in (-1.0, 1.0):
        y = side * (d / 2 + 0.0005)
        s = side

        def panel(
            x0: float, x1: float, z0: float, z1: float, color: Color, rank: int, y: float = y, s: float = s
        ) -> None:
            a, b = (x0, x1) if s < 0 else (x1, x0)
            m.face([(a, y, z0), (b, y, z0), (b, y, z1), (a, y, z1)], color, bias=-0.06 - 0.02 * rank)

        panel(-w * 0.46, w * 0.46, h * 0.68, h * 0.86, white, 1)
        panel(-w * 0.36, w * 0.20, h * 0.74, h * 0.80, (196.0, 40.0, 36.0), 2)
        panel(-w * 0.32, w * 0.32, h * 0.18, h * 0.56, window, 1)
        for k in range(5):
            x = -w * 0.28 + w * 0.12 * k
            panel(x, x + w * 0.045, h * 0.19, h * 0.55, (250.0, 220.0, 146.0), 2)
    return m.build()


def distractor(size: Size, variant: int) -> Mesh:
    """Return a toy block with a different colour on each visible face and studs on top, by variant."""
    w, d, h = size
    palettes: tuple[tuple[Color, Color, Color], ...] = (
        ((150, 70, 160), (190, 110, 200), (110, 44, 120)),
        ((50, 150, 150), (100, 200, 196), (30, 104, 106)),
        ((226, 120, 40), (248, 170, 96), (176, 84, 20)),
        ((120, 160, 40), (170, 206, 92), (82, 116, 24)),
    )
    side, top, dark = palettes[variant % len(palettes)]
    m = MeshBuilder(gloss=0.5)
    m.box((0.0, 0.0), (w, d), 0.0, h * 0.86, top, side)
    r = min(w, d) * 0.13
    for x in (-w * 0.24, w * 0.24):
        for y in (-d * 0.24, d * 0.24):
            m.lathe([(r, h * 0.86), (r, h), (0.0, h)], [dark, side], segments=12, center=(x, y), bias=[-0.02, -0.04])
    return m.build()
