#!/usr/bin/env python3
"""check_product.py LIBRARY: products of random matrices against float64 NumPy, within the proven bound of f32 arithmetic.

A chain of R fused multiply-adds is off by at most gamma_R * (|A| |B|), gamma_n = n u / (1 - n u), u = 2^-24; each step
of the epilogue adds one rounding of its result. Every device there is must give the same bits, and a row the same bits
whatever the batch.
"""
import os
import sys

try:
    import numpy
except ImportError:
    print(f"SKIPPED: {sys.executable} has no numpy")
    sys.exit(77)

import mgemm

U = 2.0**-24
NAMES = {mgemm.NN: "nn", mgemm.TN: "tn", mgemm.NT: "nt"}


def operands(random, op, m, k, n):
    """a and b as stored, and as the mathematical product reads them."""
    shapes = {mgemm.NN: ((m, k), (k, n)), mgemm.TN: ((m, k), (m, n)), mgemm.NT: ((m, n), (k, n))}[op]
    a, b = (random.standard_normal(shape).astype(numpy.float32) for shape in shapes)
    return a, b, a.T if op == mgemm.TN else a, b.T if op == mgemm.NT else b


def expected(left, right, out, bias, alpha, beta):
    """The exact result as nearly as float64 has it, and the bound on the distance from it."""
    left, right, out = (array.astype(numpy.float64) for array in (left, right, out))
    length = left.shape[1]
    magnitude = numpy.abs(left) @ numpy.abs(right)
    gamma = length * U / (1 - length * U) + length * 2.0**-52  # the second term: NumPy's own rounding
    value, bound = left @ right, gamma * magnitude

    def rounded(value, bound):
        return value, bound + U * (numpy.abs(value) + bound)

    if alpha != 1:
        value, bound = rounded(alpha * value, abs(alpha) * bound)
    if bias is not None:
        value, bound = rounded(value + bias.astype(numpy.float64), bound)
    if beta != 0:
        value, bound = rounded(value + beta * out, bound)
    return value, bound


def main(path):
    seed = int(os.environ.get("MGEMM_TEST_SEED") or int.from_bytes(os.urandom(6), "little"))
    print(f"MGEMM_TEST_SEED={seed}")
    random = numpy.random.default_rng(seed)
    library = mgemm.Library(path)
    contexts = {"reference": mgemm.Context(library, mgemm.REFERENCE)}
    if library.device_count() > 0:
        contexts["cuda"] = mgemm.Context(library, mgemm.CUDA)
        try:
            one = numpy.ones((1, 1), numpy.float32)
            contexts["cuda"].product(mgemm.NN, (1, 1, 1), one, one, one)
        except mgemm.Failure as failure:
            if failure.status != mgemm.NO_COMPILER:
                raise
            print(f"note: the GPU is left out: {failure}")
            contexts.pop("cuda").close()
    wrong = checked = 0

    def check(good, text):
        nonlocal wrong, checked
        checked += 1
        if not good:
            wrong += 1
            print(f"WRONG: {text}")

    cases = [(op, bias) for op in (mgemm.NN, mgemm.TN, mgemm.NT) for bias in (False, op == mgemm.NN)]
    for op, with_bias in cases:
        for scaled in (False, True):
            m, k, n = (int(size) for size in random.integers(1, 1200, 3) // [4, 1, 1] + 1)
            a, b, left, right = operands(random, op, m, k, n)
            out = random.standard_normal((left.shape[0], right.shape[1])).astype(numpy.float32)
            bias = random.standard_normal(n).astype(numpy.float32) if with_bias else None
            alpha, beta = (float(numpy.float32(value)) for value in random.uniform(-2, 2, 2))
            if not scaled:
                alpha, beta = 1.0, float(op == mgemm.TN)
            name = f"{NAMES[op]} {m}x{k}x{n} bias={with_bias} alpha={alpha} beta={beta}"
            value, bound = expected(left, right, out, bias, alpha, beta)
            results = {}
            for device, context in contexts.items():
                got = context.product(op, (m, k, n), a, b, out, bias, alpha, beta)
                results[device] = got
                worst = numpy.max(numpy.abs(got.astype(numpy.float64) - value) / bound)
                check(worst <= 1, f"{device}: {name}: {worst} times the bound")
                if op != mgemm.TN:
                    rows = slice(m // 3, m // 3 + 1)
                    part = context.product(op, (1, k, n), a[rows], b, out[rows], bias, alpha, beta)
                    check(part.tobytes() == got[rows].tobytes(), f"{device}: {name}: a row depends on its batch")
            bits = {result.tobytes() for result in results.values()}
            check(len(bits) == 1, f"{name}: the devices differ in their bits")
    for context in contexts.values():
        context.close()
    print(f"{checked} checks on {', '.join(contexts)}, {wrong} wrong")
    return 1 if wrong or not checked else 0


sys.exit(main(sys.argv[1]))
