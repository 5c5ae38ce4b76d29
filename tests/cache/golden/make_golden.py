#!/usr/bin/env python3
"""Writes the golden files of the cache's entry format, version 1, from the format's description alone. The files are part
of the tests and are not to change as long as the version does not."""
import hashlib
import pathlib
import struct


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def entry(kind: int, key: bytes, fields: list, payload: bytes) -> bytes:
    listed = b"".join(
        text(tag) + bytes([value is not None]) + text(value or b"") for tag, value in fields
    )
    head = b"mamba-gemm entry" + struct.pack("<II", 1, kind) + key + struct.pack("<QQ", len(listed), len(payload))
    head += hashlib.sha256(payload).digest()
    return head + hashlib.sha256(head + listed).digest() + listed + payload


folder = pathlib.Path(__file__).resolve().parent
count_up = bytes(range(32))
for name, data in {
    "ptx": entry(
        1, count_up, [(b"module", b"f32_tile"), (b"nvrtc", b"13.0"), (b"option", b"-fmad=false"),
                      (b"option", b"--std=c++17")], b".version 9.0\n.target sm_90a\n.address_size 64\n"),
    "machine-code": entry(2, bytes(reversed(count_up)), [(b"target", b"sm_90a")], b"\x7fELF\x02\x01\x01\x41" + bytes(1000)),
    "memo": entry(3, bytes([255]) * 32, [(b"absent", None), (b"empty", b""), (b"", b"no tag"), (b"nul", b"a\0b")],
                  bytes(range(256))),
    "verdict": entry(4, bytes(32), [], b""),
}.items():
    (folder / f"{name}.v1.bin").write_bytes(data)
