"""The libraries of Python, asked over standard input, one line `case repetitions` at a time; answers the milliseconds of one
repetition. The first line it prints names the cases that can run here: those whose packages are installed."""

import sys
import time

CASES = {}
SIZE = 1_000_000


def with_numpy():
    import numpy

    random = numpy.random.default_rng(1)
    narrow = random.standard_normal(SIZE).astype(numpy.float32)
    wide = random.standard_normal(SIZE)
    shares = [1, 5, 25, 50, 75, 95, 99]
    CASES["numpy-statistics"] = lambda: (
        narrow.mean(),
        narrow.var(),
        numpy.linalg.norm(narrow),
        narrow.min(),
        narrow.max(),
    )
    CASES["numpy-histogram"] = lambda: numpy.histogram(narrow, 64, (-5, 5))
    CASES["numpy-percentile"] = lambda: numpy.percentile(wide, shares)


def with_torch():
    import torch

    torch.set_num_threads(1)
    values = torch.randn(SIZE)
    CASES["torch-statistics"] = lambda: (
        values.mean(),
        values.var(),
        values.norm(),
        values.min(),
        values.max(),
    )
    CASES["torch-histc"] = lambda: torch.histc(values, 64, -5, 5)


def with_ruptures():
    import numpy
    import ruptures

    random = numpy.random.default_rng(1)
    levels = numpy.repeat(random.uniform(-5, 5, 21), 100_000 // 21 + 1)[:100_000]
    series = levels + random.standard_normal(100_000)
    CASES["ruptures-binseg"] = lambda: ruptures.Binseg(model="l2").fit(series).predict(n_bkps=20)


for load in (with_numpy, with_torch, with_ruptures):
    try:
        load()
    except ImportError:
        pass
print(" ".join(CASES), flush=True)
for line in sys.stdin:
    name, repetitions = line.split()
    work = CASES[name]
    start = time.perf_counter()
    for _ in range(int(repetitions)):
        work()
    print((time.perf_counter() - start) * 1000 / int(repetitions), flush=True)
