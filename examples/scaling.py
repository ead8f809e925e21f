"""How much faster two workers are than one, on an engine: its workers run already, and so do their interpreters.

    python examples/scaling.py dask ray                   # on a machine with two cores that does nothing else
    python examples/scaling.py processes --count 400000

Runs with one worker and with two follow each other; the fastest of each counts. Prints one row of a table per engine.
"""

import argparse
import contextlib
import io
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import digits
import numpy as np

SIZE = 8192  # images in a batch: some ten milliseconds


@contextlib.contextmanager
def processes(workers):
    """The standard library's."""
    with ProcessPoolExecutor(workers) as pool:
        yield lambda images: np.concatenate(list(pool.map(digits.classify, digits.batches(images, SIZE))))


@contextlib.contextmanager
def dask(workers):
    """LocalCluster: a process each."""
    import on_dask
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield lambda images: on_dask.run(images, client, size=SIZE)


@contextlib.contextmanager
def ray(workers):
    """An actor each."""
    import on_ray
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        readers = [on_ray.Reader.remote() for _ in range(workers)]
        yield lambda images: on_ray.run(images, readers, size=SIZE)
    finally:
        ray.shutdown()


ENGINES = {"processes": processes, "dask": dask, "ray": ray}


def seconds(engine, workers, images, repeats):
    """Return the time of the fastest run; the first one warms up."""
    times = []
    with ENGINES[engine](workers) as run:
        for _ in range(repeats + 1):
            begun = time.perf_counter()
            with contextlib.redirect_stderr(io.StringIO()):
                answers = run(images)
            times.append(time.perf_counter() - begun)
            assert len(answers) == len(images)
    return min(times[1:])


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engines", nargs="*", default=["processes"], metavar="ENGINE", help=f"of {', '.join(ENGINES)}")
    parser.add_argument("--count", type=int, default=400_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args(arguments)
    images = digits.load(args.count)
    print("| engine | one worker | two workers | times faster |\n| --- | ---: | ---: | ---: |")
    for engine in args.engines:
        rounds = [[seconds(engine, workers, images, 2) for workers in (1, 2)] for _ in range(args.rounds)]
        one, two = np.min(rounds, axis=0)
        print(f"| {engine} | {one:.2f} s | {two:.2f} s | {one / two:.2f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
