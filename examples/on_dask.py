"""Digits on Dask: two processes of this machine, or the workers of a cluster.

    pip install tflm-cy "dask[distributed]"
    python examples/on_dask.py
    python examples/on_dask.py --scheduler tcp://host:8786       # digits.py must be importable there (client.upload_file)

A worker that dies is started again, and what it had not returned is computed once more.
"""

import argparse
import os
import sys

import digits
import numpy as np
from dask.distributed import Client, LocalCluster, as_completed


def classify(batch, marker):
    """A task: one batch."""
    digits.die_once(marker)
    return digits.classify(batch)


def run(images, client, marker=None, size=64):
    """Return the answers in the order of the images; progress goes to stderr."""
    futures = client.map(classify, digits.batches(images, size), marker=marker, pure=False, retries=3)
    for done, _ in enumerate(as_completed(futures), 1):
        print(f"\r{done} of {len(futures)} batches", end="", file=sys.stderr)
    print(file=sys.stderr)
    return np.concatenate(client.gather(futures))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--scheduler", help="of a cluster that runs")
    parser.add_argument("--count", type=int, default=1797)
    parser.add_argument("--kill", metavar="FILE", help="let one worker die; a file that does not exist yet")
    args = parser.parse_args(arguments)
    images = digits.load(args.count)
    if args.scheduler:
        with Client(args.scheduler) as client:
            client.upload_file(os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.py"))
            return not digits.report("dask", run(images, client, args.kill), images)
    with (
        LocalCluster(n_workers=args.workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        return not digits.report("dask", run(images, client, args.kill), images)


if __name__ == "__main__":
    sys.exit(main())
