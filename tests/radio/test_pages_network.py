"""Parts of a network and the radios that split it, against taking each radio away; lines of equal loss; pixels."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csgraph, csr_array

from shakedown.document import png
from shakedown.radio.pages import contours, hillshade
from shakedown.radio.pages.network import connectivity


def parts_without(radios: int, pairs: list[tuple[int, int]], gone: int) -> int:
    """How many parts the other radios make."""
    kept = [(a, b) for a, b in pairs if gone not in (a, b)]
    graph = csr_array((np.ones(len(kept)), tuple(np.array(kept, int).reshape(-1, 2).T)), shape=(radios, radios))
    return csgraph.connected_components(graph, directed=False)[0] - 1


@st.composite
def networks(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    radios = draw(st.integers(1, 14))
    possible = [(a, b) for a in range(radios) for b in range(a + 1, radios)]
    return radios, draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []


@given(networks())
def test_a_radio_splits_its_part_when_the_others_fall_apart_without_it(
    network: tuple[int, list[tuple[int, int]]],
) -> None:
    radios, pairs = network
    a, b = np.array(pairs, np.int64).reshape(-1, 2).T
    found = connectivity(radios, a, b)
    count = len(found.sizes)
    for radio in range(radios):
        assert (found.neighbours[radio] == 0) == all(radio not in pair for pair in pairs)
        more = parts_without(radios, pairs, radio) > count - (found.neighbours[radio] == 0)
        assert bool(found.splits[radio]) == more, radio
    assert sum(found.sizes) == radios and list(found.sizes) == sorted(found.sizes, reverse=True)
    assert all(found.part[one] == found.part[other] for one, other in pairs)
    assert [int((found.part == part).sum()) for part in range(count)] == list(found.sizes)


def test_a_ring_and_a_line_of_thousands() -> None:
    ring = np.arange(3000)
    assert not connectivity(3000, ring, (ring + 1) % 3000).splits.any()
    line = connectivity(3000, ring[:-1], ring[1:])
    assert line.splits.sum() == 2998 and line.alone == 0 and list(line.sizes) == [3000]


# ------------------------------------------------------------------------------------------------------ lines of equal loss


def test_a_circle_is_found_and_closes() -> None:
    row, column = np.mgrid[0:81, 0:101]
    (line,) = contours.lines(np.hypot(row - 40.2, column - 50.7), 30.0)
    assert line[0] == line[-1] and len(line) > 150
    assert all(abs(np.hypot(r - 40.2, c - 50.7) - 30) < 0.01 for r, c in line)


def test_a_plane_has_one_straight_line_from_edge_to_edge() -> None:
    row, column = np.mgrid[0:12, 0:9]
    (line,) = contours.lines(row + 0.0 * column, 4.25)
    assert sorted({r for r, _ in line}) == [4.25] and {line[0][1], line[-1][1]} == {0, 8}


def test_no_line_crosses_a_hole_and_saddles_do_not_cross() -> None:
    values = np.hypot(*np.mgrid[-20:21, -20:21]).astype(float)
    values[18:23, 30:33] = np.nan
    lines = contours.lines(values, 11.0)
    assert len(lines) == 1 and lines[0][0] != lines[0][-1]
    assert all(np.isfinite(point).all() for point in lines[0])
    assert len(contours.lines(np.array([[1.0, 0.0], [0.0, 1.0]]), 0.6)) == 2
    assert contours.lines(np.full((5, 5), np.nan), 1.0) == [] == contours.lines(np.zeros((5, 5)), 1.0)


@given(st.integers(0, 2**32 - 1))
def test_every_side_that_crosses_the_level_is_on_one_line(seed: int) -> None:
    values = np.random.default_rng(seed).random((7, 9))
    above = values > 0.5
    crossed = int((above[:, 1:] != above[:, :-1]).sum() + (above[1:] != above[:-1]).sum())
    lines = contours.lines(values, 0.5)
    points = [point for line in lines for point in (line[:-1] if line[0] == line[-1] else line)]
    assert len(points) == crossed == len(set(points))


# --------------------------------------------------------------------------------------------------------------- pixels


def test_ground_is_bright_towards_the_lamp_and_a_hole_stays_one() -> None:
    rows, columns = np.mgrid[0:20, 0:20].astype(float)
    to_north_west, to_south_east = hillshade.shade(rows + columns, 5, 5), hillshade.shade(-rows - columns, 5, 5)
    level = hillshade.shade(0 * rows, 5, 5)
    assert to_north_west.min() > level.max() > to_south_east.max()
    assert np.allclose(level, hillshade.LEVEL)
    heights = rows.copy()
    heights[3, 3] = np.nan
    assert hillshade.shade(heights, 5, 5)[3, 3] == hillshade.HOLE


@pytest.mark.parametrize("channels", [3, 4])
def test_pixels_come_back_from_a_png(channels: int) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (5, 7, channels), np.uint8)
    data = png.encode(pixels)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, found = 8, {}
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(name + body)
        found[name] = body
        at += 12 + length
    assert struct.unpack(">IIBB", found[b"IHDR"][:10]) == (7, 5, 8, {3: 2, 4: 6}[channels])
    rows = np.frombuffer(zlib.decompress(found[b"IDAT"]), np.uint8).reshape(5, 1 + 7 * channels)
    assert not rows[:, 0].any() and (rows[:, 1:].reshape(pixels.shape) == pixels).all()
