"""From a numpy memmap through a torch DataLoader into Parquet: a data set larger than memory, on one machine.

    pip install tflm-cy torch pyarrow
    python examples/memmap_to_parquet.py --into answers.parquet

The loader's processes read and prepare batches while the model runs here, on several threads; rows are written as they come.
"""

import argparse
import os
import sys
import tempfile

import digits
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch


class Images(torch.utils.data.Dataset):
    """Images of a file; each process of the loader maps it itself."""

    def __init__(self, path, count):
        self.path, self.count, self.images = path, count, None

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.images is None:
            self.images = np.memmap(self.path, np.float32, "r", shape=(self.count, 8, 8, 1))
        return index, np.array(self.images[index])


def run(path, count, into, workers=2):
    """Write columns `id` and `digit`; return the number of rows."""
    loader = torch.utils.data.DataLoader(Images(path, count), batch_size=64, num_workers=workers)
    schema = pa.schema([("id", pa.int64()), ("digit", pa.int64())])
    rows = 0
    with pq.ParquetWriter(into, schema) as writer:
        for ids, images in loader:
            answers = digits.classify(images.numpy())
            writer.write_table(pa.table([ids.numpy(), answers], schema=schema))
            rows += len(answers)
            print(f"\r{rows} of {count} digits", end="", file=sys.stderr)
    print(file=sys.stderr)
    return rows


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--into", default="answers.parquet")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--count", type=int, default=1797)
    args = parser.parse_args(arguments)
    images = digits.load(args.count)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "images.f32")
        images.tofile(path)
        run(path, args.count, args.into, args.workers)
    table = pq.read_table(args.into)
    answers = table["digit"].to_numpy()[np.argsort(table["id"].to_numpy())]
    return not digits.report("memmap, torch, parquet", answers, images)


if __name__ == "__main__":
    sys.exit(main())
