"""Digits on Spark: `mapInPandas`, in local mode or on a cluster.

    pip install tflm-cy pyspark pandas pyarrow            # and Java 17
    python examples/on_spark.py
    python examples/on_spark.py --master spark://host:7077

Spark keeps a Python process for each core and gives it one partition after the other: the interpreter stays. A partition
whose process dies is computed once more (four attempts, also in local mode). Progress: Spark's own bar on the terminal.
"""

import argparse
import os
import sys

import digits
import numpy as np
import pandas as pd
from pyspark.sql import SparkSession


def classify(marker):
    """Return a function that maps frames of images to frames of answers."""

    def classify_frames(frames):
        for frame in frames:
            digits.die_once(marker)
            images = np.stack(frame["image"].to_list()).astype(np.float32).reshape(-1, 8, 8, 1)
            yield pd.DataFrame({"id": frame["id"], "digit": digits.classify(images)})

    return classify_frames


def run(images, spark, partitions, marker=None):
    """Return the answers in the order of the images."""
    rows = pd.DataFrame({"id": np.arange(len(images)), "image": list(images.reshape(len(images), -1).tolist())})
    frame = spark.createDataFrame(rows, "id long, image array<float>").repartition(partitions)
    answers = frame.mapInPandas(classify(marker), "id long, digit long").toPandas()
    return answers.sort_values("id")["digit"].to_numpy()


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--master", help="of a cluster that runs")
    parser.add_argument("--count", type=int, default=1797)
    parser.add_argument("--kill", metavar="FILE", help="let one worker die; a file that does not exist yet")
    args = parser.parse_args(arguments)
    here = os.path.dirname(os.path.abspath(__file__))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
    spark = (
        SparkSession.builder.master(args.master or f"local[{args.workers},4]")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", 64)
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    try:
        spark.sparkContext.addPyFile(os.path.join(here, "digits.py"))
        images = digits.load(args.count)
        return not digits.report("spark", run(images, spark, 2 * args.workers, args.kill), images)
    finally:
        spark.stop()


if __name__ == "__main__":
    sys.exit(main())
