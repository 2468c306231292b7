"""PNG files of screenshots: smaller, and compared. With numpy alone."""

import struct
import sys
import zlib

import numpy


def chunks(data):
    at = 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        yield kind, data[at + 8:at + 8 + length]
        at += 12 + length


def read(path):
    """Height x width x 3 bytes."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", path
    packed, palette = b"", None
    for kind, body in chunks(data):
        if kind == b"IHDR":
            width, height, depth, colours, _, _, interlace = struct.unpack(">IIBBBBB", body)
        elif kind == b"PLTE":
            palette = numpy.frombuffer(body, numpy.uint8).reshape(-1, 3)
        elif kind == b"IDAT":
            packed += body
    size = {2: 3, 3: 1, 6: 4}[colours]
    assert depth == 8 and interlace == 0, path
    lines = numpy.frombuffer(zlib.decompress(packed), numpy.uint8).reshape(height, 1 + width * size)
    image = numpy.zeros((height, width, size), numpy.uint8)
    before = numpy.zeros((width, size), numpy.uint8)
    for y in range(height):
        before = image[y] = unfilter(lines[y, 0], lines[y, 1:].reshape(width, size), before)
    return palette[image[:, :, 0]] if colours == 3 else image[:, :, :3]


def unfilter(kind, line, above):
    if kind == 0:
        return line
    if kind == 1:
        return numpy.cumsum(line, axis=0, dtype=numpy.uint8)
    if kind == 2:
        return line + above
    # Of these each pixel needs the one before.
    out, line, above = numpy.zeros_like(line), line.astype(int).tolist(), above.astype(int).tolist()
    left, corner = [0] * len(line[0]), [0] * len(line[0])
    for x, pixel in enumerate(line):
        up = above[x]
        if kind == 3:
            left = [(value + (a + b) // 2) & 255 for value, a, b in zip(pixel, left, up)]
        else:
            left = [(value + nearest(a, b, c)) & 255 for value, a, b, c in zip(pixel, left, up, corner)]
        out[x], corner = left, up
    return out


def nearest(a, b, c):
    guess = a + b - c
    by = (abs(guess - a), abs(guess - b), abs(guess - c))
    return a if by[0] <= by[1] and by[0] <= by[2] else b if by[1] <= by[2] else c


def write(path, image):
    """With a palette of up to 256 colours: the most frequent ones of five bits a channel, each the mean of its pixels."""
    flat = image.reshape(-1, 3).astype(numpy.uint32)
    coarse = (flat[:, 0] >> 3 << 10) | (flat[:, 1] >> 3 << 5) | flat[:, 2] >> 3
    kinds, place, count = numpy.unique(coarse, return_inverse=True, return_counts=True)
    means = numpy.stack([numpy.bincount(place, flat[:, k]) / count for k in range(3)], 1)
    best = numpy.argsort(-count)[:256]
    distance = ((means[:, None, :] - means[None, best, :]) ** 2).sum(2)
    palette = numpy.round(means[best]).astype(numpy.uint8)
    indexed = numpy.argmin(distance, 1)[place].astype(numpy.uint8).reshape(image.shape[:2])
    lines = numpy.concatenate([numpy.zeros((indexed.shape[0], 1), numpy.uint8), indexed], 1)

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    head = struct.pack(">IIBBBBB", indexed.shape[1], indexed.shape[0], 8, 3, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"PLTE", palette.tobytes()) +
                   chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)) + chunk(b"IEND", b""))


def shrink(path):
    write(path, read(path))


def compare(expected, found):
    """Fails if more than one pixel in a thousand differs visibly."""
    one, other = read(expected).astype(int), read(found).astype(int)
    assert one.shape == other.shape, f"{found} has {other.shape}, {expected} has {one.shape}"
    different = (abs(one - other).max(2) > 24).mean()
    assert different < 0.001, f"{found}: {100 * different:.2f} % of the pixels differ from {expected}"


if __name__ == "__main__":
    sys.exit("this is a library")
