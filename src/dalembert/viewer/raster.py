"""Triangles to pixels with a depth buffer, in NumPy alone: no graphics card, no browser, no other library.

Every pair of a triangle and a pixel of its bounding box is tried at once; the nearest that covers a pixel wins.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

import numpy as np

MOST_PAIRS = 4_000_000
"""Pairs of triangles and pixels that are tried at once; they bound the memory, about 60 bytes each."""


@dataclass(frozen=True, eq=False)
class Hits:
    """What is seen where something is.

    Args:
        pixels: (k,) numbers of the pixels, row by row.
        triangles: (k,) which triangle is seen there.
        weights: (k, 3) of its corners, linear on the screen.
        depth: (k,) 1 / distance along the view, 1/m.
    """

    pixels: np.ndarray
    triangles: np.ndarray
    weights: np.ndarray
    depth: np.ndarray


def rasterise(points: np.ndarray, nearness: np.ndarray, triangles: np.ndarray, width: int, height: int) -> Hits:
    """The nearest triangle of every pixel.

    Args:
        points: (n, 2) of the screen, pixels; x to the right, y down.
        nearness: (n,) 1 / distance along the view, which is linear on the screen; triangles with a corner behind the
            eye (not positive) are left out.
        triangles: (m, 3) indices of points.
        width: of the screen, pixels.
    """
    buffer = np.zeros(width * height)
    kept: list[tuple[np.ndarray, ...]] = []
    if len(triangles):
        corners, near = points[triangles], nearness[triangles]
        low = np.clip(np.ceil(np.clip(corners.min(axis=1), -1e6, 1e6) - 0.5), 0, [width, height]).astype(int)
        high = np.clip(np.floor(np.clip(corners.max(axis=1), -1e6, 1e6) - 0.5) + 1, 0, [width, height]).astype(int)
        sides = np.maximum(high - low, 0)
        pairs = np.where((near > 0).all(axis=1), sides[:, 0] * sides[:, 1], 0)
        shown = np.flatnonzero(pairs)
        ends = np.cumsum(pairs[shown])
        start = 0
        while start < len(shown):
            done = ends[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, done + MOST_PAIRS, side="right")))
            kept.append(_cover(corners, near, low, sides, shown[start:stop], width, buffer))
            start = stop
    if not kept:
        none = np.zeros(0, dtype=int)
        return Hits(none, none, np.zeros((0, 3)), np.zeros(0))
    pixels, which, weights, depth = (np.concatenate(parts) for parts in zip(*kept))
    seen = depth >= buffer[pixels]
    pixels, which, weights, depth = pixels[seen], which[seen], weights[seen], depth[seen]
    pixels, first = np.unique(pixels, return_index=True)  # where several are equally near, the first
    return Hits(pixels, which[first], weights[first], depth[first])


def _cover(
    corners: np.ndarray, near: np.ndarray, low: np.ndarray, sides: np.ndarray, chosen: np.ndarray, width: int,
    buffer: np.ndarray,
) -> tuple[np.ndarray, ...]:  # fmt: skip
    """Pixels that some triangles cover and that are no farther than what the buffer has so far, which is updated."""
    counts = sides[chosen, 0] * sides[chosen, 1]
    which = np.repeat(chosen, counts)
    place = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    x = low[which, 0] + place % sides[which, 0]
    y = low[which, 1] + place // sides[which, 0]
    a, b, c = corners[chosen, 0], corners[chosen, 1], corners[chosen, 2]
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = np.where(area != 0, 1 / area, np.nan)  # triangles seen edge-on cover nothing
    edge = np.repeat(np.arange(len(chosen)), counts)
    weights = []
    for p, r in ((b, c), (c, a)):
        du, dv = (r[:, 0] - p[:, 0]) * inverse, (r[:, 1] - p[:, 1]) * inverse
        weights.append(du[edge] * (y + 0.5 - p[edge, 1]) - dv[edge] * (x + 0.5 - p[edge, 0]))
    first, second = weights
    third = 1 - first - second
    inside = (first >= 0) & (second >= 0) & (third >= 0)
    which, pixels = which[inside], (y * width + x)[inside]
    shares = np.stack([first[inside], second[inside], third[inside]], axis=1)
    depth = (shares * near[which]).sum(axis=1)
    np.maximum.at(buffer, pixels, depth)
    ahead = depth >= buffer[pixels]
    return pixels[ahead], which[ahead], shares[ahead], depth[ahead]


def corner_normals(vertices: np.ndarray, triangles: np.ndarray, blunt: float = 0.76) -> np.ndarray:
    """Unit normals (m, 3, 3) of the corners of triangles: smooth across blunt edges, those of the face at sharp ones.

    Args:
        vertices: (n, 3).
        triangles: (m, 3).
        blunt: the cosine of the angle between the face and the smooth normal up to which an edge is smoothed.
    """
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    faces = unit(np.cross(b - a, c - a))
    sides = [unit(b - a), unit(c - b), unit(a - c)]
    _, same = np.unique(np.round(vertices / (np.ptp(vertices, axis=0).max() or 1.0), 6), axis=0, return_inverse=True)
    smooth = np.zeros((int(same.max(initial=-1)) + 1, 3))
    where = same.reshape(-1)[triangles]
    for k in range(3):
        angle = np.arccos(np.clip(-(sides[k] * sides[k - 1]).sum(axis=1), -1, 1))  # however a face is divided
        np.add.at(smooth, where[:, k], angle[:, None] * faces)
    normals, flat = unit(smooth)[where], faces[:, None]
    return np.where(((normals * flat).sum(axis=-1) > blunt)[..., None], normals, flat)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors of length one; those of no length stay zero.

    Args:
        vectors: (..., 3).
    """
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length > 0, length, 1.0)


def png(pixels: np.ndarray) -> bytes:
    """A picture as a PNG file.

    Args:
        pixels: (height, width, 3), eight bits each.
    """
    height, width, _ = pixels.shape
    lines = np.zeros((height, 1 + 3 * width), dtype=np.uint8)  # each line begins with its filter, 0: none
    lines[:, 1:] = pixels.reshape(height, -1)
    # Sub-filter: differences to the pixel on the left compress well where the background changes slowly.
    lines[:, 0] = 1
    lines[:, 4:] = pixels.reshape(height, -1)[:, 3:] - pixels.reshape(height, -1)[:, :-3]

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines.tobytes(), 6)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body
