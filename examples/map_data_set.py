"""Map a model over a data set on all cores, several ways; all give the same answers as one interpreter in a loop.

    python examples/map_data_set.py                          # held-out digits of the demo, by processes
    python examples/map_data_set.py --how joblib --workers 4
    python examples/map_data_set.py --how dask
    python examples/map_data_set.py --how threads

An interpreter can be pickled: the copy that a worker gets has the path (or the bytes) and the options, not the state, so
it allocates. A worker does that once, in its initializer, and keeps the interpreter for all of its share. In threads each
one has an interpreter of its own; `invoke` lets the others run meanwhile.
"""

import argparse
import copy
import multiprocessing
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

import tflm_cy
from tflm_cy import demo

FOLDER = os.path.dirname(demo.__file__)
mine = threading.local()  # a worker's interpreter: a process has one thread of its own, a thread pool several


def classify(interpreter, image):
    """The digit that the network sees."""
    (source,), (result,) = interpreter.get_input_details(), interpreter.get_output_details()
    scale, zero_point = source["quantization"]
    levels = np.clip(np.round(image / scale) + zero_point, -128, 127).astype(np.int8)
    interpreter.set_tensor(source["index"], levels.reshape(source["shape"]))
    interpreter.invoke()
    return int(interpreter.get_tensor(result["index"]).argmax())


def in_a_loop(interpreter, images, workers):
    interpreter.allocate_tensors()
    return [classify(interpreter, image) for image in images]


def start(interpreter):
    """Make a worker's interpreter ready; runs once in each worker."""
    mine.interpreter = interpreter
    mine.interpreter.allocate_tensors()


def classify_mine(image):
    return classify(mine.interpreter, image)


def by_processes(interpreter, images, workers, method=None):
    with multiprocessing.get_context(method).Pool(workers, start, (interpreter,)) as pool:
        return pool.map(classify_mine, images, chunksize=32)


def by_threads(interpreter, images, workers):
    def start_own():
        start(copy.copy(interpreter))

    with ThreadPoolExecutor(workers, initializer=start_own) as pool:
        return list(pool.map(classify_mine, images))


def by_joblib(interpreter, images, workers):
    from joblib import Parallel, delayed

    shares = np.array_split(images, workers)  # one task each, so that the interpreter travels once
    answers = Parallel(n_jobs=workers)(delayed(in_a_loop)(interpreter, share, 1) for share in shares)
    return [answer for part in answers for answer in part]


def by_dask(interpreter, images, workers):
    import dask

    shares = np.array_split(images, workers)
    tasks = [dask.delayed(in_a_loop)(interpreter, share, 1) for share in shares]
    answers = dask.compute(*tasks, scheduler="processes", num_workers=workers)
    return [answer for part in answers for answer in part]


WAYS = {
    "loop": in_a_loop,
    "processes": by_processes,
    "fork": partial(by_processes, method="fork"),
    "spawn": partial(by_processes, method="spawn"),
    "threads": by_threads,
    "joblib": by_joblib,
    "dask": by_dask,
}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--how", choices=WAYS, default="processes")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    args = parser.parse_args(arguments)
    with np.load(os.path.join(FOLDER, "digits_test.npz")) as data:
        images, labels = data["images"] / np.float32(16), data["labels"]
    interpreter = tflm_cy.Interpreter(model_path=os.path.join(FOLDER, "digits_int8.tflite"))
    answers = WAYS[args.how](interpreter, images, args.workers)
    print(
        f"{args.how}, {args.workers} workers: {np.mean(np.array(answers) == labels):.2%} of {len(images)} digits read right"
    )


if __name__ == "__main__":
    main()
