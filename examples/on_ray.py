"""Digits on Ray: an actor is a process with an interpreter.

    pip install tflm-cy ray
    python examples/on_ray.py

An actor that dies is started again (max_restarts), and its tasks are repeated (max_task_retries).
"""

import argparse
import sys

import digits
import numpy as np
import ray


@ray.remote(num_cpus=1, max_restarts=3, max_task_retries=3)
class Reader:
    """A worker."""

    def classify(self, number, batch, marker):
        digits.die_once(marker)
        return number, digits.classify(batch)


def run(images, readers, marker=None, size=64):
    """Return the answers in the order of the images; progress goes to stderr."""
    waiting = [
        readers[number % len(readers)].classify.remote(number, batch, marker)
        for number, batch in enumerate(digits.batches(images, size))
    ]
    total, answers = len(waiting), {}
    while waiting:
        [ready], waiting = ray.wait(waiting)
        number, answer = ray.get(ready)
        answers[number] = answer
        print(f"\r{len(answers)} of {total} batches", end="", file=sys.stderr)
    print(file=sys.stderr)
    return np.concatenate([answers[number] for number in range(total)])


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--count", type=int, default=1797)
    parser.add_argument("--kill", metavar="FILE", help="let one worker die; a file that does not exist yet")
    args = parser.parse_args(arguments)
    images = digits.load(args.count)
    ray.init(num_cpus=args.workers, include_dashboard=False, log_to_driver=False)
    try:
        readers = [Reader.remote() for _ in range(args.workers)]
        return not digits.report("ray", run(images, readers, args.kill), images)
    finally:
        ray.shutdown()


if __name__ == "__main__":
    sys.exit(main())
