#!/usr/bin/env python3
"""known_product.py TOOL FOLDER DEVICE...: a product of fixed .npy files through the command line tool on each device.

The SHA-256 of the result is written here, so that machines with and without a GPU are held to the same bits.
"""
import hashlib
import pathlib
import random
import struct
import subprocess
import sys

M, K, N = 333, 1211, 777
EXPECTED = "63b1f4556a4a86a6d578175579d99624e25958ba8d3d8282f8c81689c9b92169"


def save(path, shape, generator):
    """A version 1.0 .npy file of f32 numbers of either sign between 2^-5 and 2^-1, from random bytes."""
    count = 1
    for extent in shape:
        count *= extent
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s,), }" % ", ".join(map(str, shape))
    header += " " * (-(len(header) + 11) % 64) + "\n"
    words = bytearray(generator.randbytes(4 * count))
    for i in range(3, len(words), 4):
        words[i] = 0x3D | (words[i] & 0x82)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + words)


def main(tool, folder, devices):
    folder = pathlib.Path(folder)
    generator = random.Random(20260101)
    save(folder / "x.npy", (M, K), generator)
    save(folder / "w.npy", (K, N), generator)
    save(folder / "b.npy", (N,), generator)
    wrong = 0
    for device in devices:
        out = folder / f"{device}.npy"
        command = [tool, "run", "--x", folder / "x.npy", "--w", folder / "w.npy", "--bias", folder / "b.npy", "--out", out,
                   "--device", device]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        digest = hashlib.sha256(out.read_bytes()).hexdigest()
        wrong += digest != EXPECTED
        print(f"{device}: {'same bits' if digest == EXPECTED else 'OTHER BITS'}: {digest}")
    return 1 if wrong else 0


sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
