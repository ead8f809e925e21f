"""Long use: does memory stay flat, do many threads get the same bytes?

    python -m compat.soak                                 # 10,000 cycles over the demo's models and one generated model per kind
    python -m compat.soak --models DIR --cycles 10000     # over the .tflite files below DIR
    python -m compat.soak --threads 8 --runs 1000         # every model in 8 threads: an interpreter each, then one for all

A cycle constructs an interpreter, allocates, feeds, invokes twice, reads, resizes and drops it; every other one goes through a failure,
a view, a copy. Resident memory is taken after a first round over all models, and must not have grown by more than --most KiB at the end.
What is still growing then is named: the last rounds are measured model by model.

Exit code: 0 flat and equal, 1 not, 2 wrong usage.
"""

import argparse
import gc
import mmap
import pickle
import sys
import threading
from pathlib import Path

import numpy as np

from .case import MODES
from .models import find_models
from .verdict import UsageError, judge

DEMO = Path(__file__).parents[1] / "tflm_cy" / "demo"


def resident():
    """KiB of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * mmap.PAGESIZE // 1024


def generated():
    """(name, model, feed) of one case of every kind."""
    from compat.cases import kinds

    seen = set()
    for kind in kinds():
        if (kind.op, kind.dtype) in seen:
            continue
        seen.add((kind.op, kind.dtype))
        case = kind.case(0, 1)
        if isinstance(case.model, bytes):
            yield case.id, case.model, case.feeds[0]


def files(folder):
    """(name, path, None) of every model file; its inputs are drawn by shape."""
    for _, path in find_models([folder]):
        yield path.name, str(path), None


def opened(model, mode):
    import tflm_cy

    source = {"model_content": model} if isinstance(model, bytes) else {"model_path": model}
    return tflm_cy.Interpreter(**source, experimental_op_resolver_type=tflm_cy.OpResolverType[mode])


def values(interpreter, feed, seed=0):
    """(index, array) of each input."""
    rng = np.random.default_rng(seed)
    for i, details in enumerate(interpreter.get_input_details()):
        if feed is not None:
            yield details["index"], feed[i]
        elif details["dtype"] is np.bytes_:
            yield details["index"], np.full(details["shape"], b"word", object)
        elif np.issubdtype(details["dtype"], np.floating):
            yield details["index"], rng.standard_normal(details["shape"]).astype(details["dtype"])
        else:
            yield details["index"], rng.integers(0, 2, details["shape"]).astype(details["dtype"])


def cycle(model, feed, mode, number):
    """One life of an interpreter; False when the model is refused somewhere, which makes it shorter."""
    ran = False
    try:
        interpreter = opened(model, mode)
        if number % 5 == 0:
            interpreter = pickle.loads(pickle.dumps(interpreter))
        given = list(values(interpreter, feed))
        for index, value in given:
            interpreter.resize_tensor_input(index, np.shape(value))
        interpreter.allocate_tensors()
        for index, value in given:
            interpreter.set_tensor(index, value)
        for _ in range(2):
            interpreter.invoke()
        details = interpreter.get_output_details()
        for detail in details:
            interpreter.get_tensor(detail["index"])
        ran = True
        if number % 2 and given and details:
            if details[0]["dtype"] is not np.bytes_:
                view = interpreter.tensor(details[0]["index"])()
                del view
            index, value = given[0]
            interpreter.resize_tensor_input(index, [*np.shape(value), 1])
            interpreter.allocate_tensors()
            interpreter.invoke()
    except (ValueError, RuntimeError, MemoryError):
        pass
    return ran


def leaks(models, cycles, most, modes):
    """Run the cycles; True when memory stays flat."""
    work = [(name, model, feed, mode) for name, model, feed in models for mode in modes]
    for number, (_, model, feed, mode) in enumerate(2 * work):
        cycle(model, feed, mode, number)
    gc.collect()
    start, ran = resident(), 0
    for number in range(cycles):
        _, model, feed, mode = work[number % len(work)]
        ran += cycle(model, feed, mode, number)
    gc.collect()
    grown = resident() - start
    what = f"{cycles} cycles ({ran} ran to the end) over {len(models)} models x {len(modes)} modes"
    print(f"{what}: {start} KiB, {grown:+} KiB at the end (at most {most})")
    if grown <= most:
        return True
    for name, model, feed, mode in work:
        before = resident()
        for number in range(200):
            cycle(model, feed, mode, number)
        if resident() - before > 200:
            print(f"  {name} {mode}: {resident() - before:+} KiB in 200 cycles")
    return False


def outputs(interpreter, given):
    for index, value in given:
        interpreter.set_tensor(index, value)
    interpreter.invoke()
    return [np.asarray(interpreter.get_tensor(d["index"])).tobytes() for d in interpreter.get_output_details()]


def threads(models, count, runs, modes):
    """Every model in many threads; True when all bytes are those of a run alone."""
    wrong = []
    ran = 0

    def in_threads(work):
        def guarded(i):
            try:
                work(i)
            except Exception as error:
                wrong.append(f"{type(error).__name__}: {error}")

        workers = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    for name, model, feed in models:
        for mode in modes:
            try:
                alone = ready(model, feed, mode)
                given = list(values(alone, feed))
                first = outputs(alone, given)
            except (ValueError, RuntimeError, MemoryError):
                continue
            if outputs(alone, given) != first:
                continue  # a model with state: its outputs depend on how often it ran
            ran += 1

            def own(i, model=model, feed=feed, mode=mode, given=given, first=first, name=name):
                interpreter = ready(model, feed, mode)
                for _ in range(runs):
                    if outputs(interpreter, given) != first:
                        raise AssertionError(f"{name} {mode}: other bytes")

            def shared(i, interpreter=alone, first=first, name=name, mode=mode):
                places = [d["index"] for d in interpreter.get_output_details()]
                for _ in range(runs):
                    interpreter.invoke()
                    if [np.asarray(interpreter.get_tensor(t)).tobytes() for t in places] != first:
                        raise AssertionError(f"{name} {mode}: other bytes in a shared interpreter")

            in_threads(own)
            in_threads(shared)
    print(
        f"{ran} models x modes, {count} threads x {runs} runs on interpreters of their own and on one: {len(wrong)} failures"
    )
    for text in wrong[:20]:
        print(f"  {text}")
    return not wrong


def ready(model, feed, mode):
    interpreter = opened(model, mode)
    for index, value in values(interpreter, feed):
        interpreter.resize_tensor_input(index, np.shape(value))
    interpreter.allocate_tensors()
    return interpreter


@judge("compat.soak")
def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m compat.soak", description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=Path, help="folder of .tflite files (default: the demo's, and generated ones)")
    parser.add_argument("--cycles", type=int, default=10_000, help="interpreters made and dropped (10000)")
    parser.add_argument("--most", type=int, default=1024, metavar="KiB", help="growth that counts as flat (1024)")
    parser.add_argument("--threads", type=int, help="run threads instead of cycles")
    parser.add_argument("--runs", type=int, default=1000, help="of each thread (1000)")
    parser.add_argument("--mode", action="append", choices=MODES, help="default: all")
    args = parser.parse_args(arguments)
    modes = args.mode or MODES
    if args.models:
        models = list(files(args.models))
    elif args.threads:
        models = list(files(DEMO))
    else:
        models = [*files(DEMO), *generated()]
    if not models:
        raise UsageError(f"no .tflite file below {args.models}")
    if args.threads:
        return 0 if threads(models, args.threads, args.runs, modes) else 1
    return 0 if leaks(models, args.cycles, args.most, modes) else 1


if __name__ == "__main__":
    sys.exit(main())
