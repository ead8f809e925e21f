"""`python -m tflm_cy.demo.train`: train, quantize, and write the three files of tflm_cy/demo."""

from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits  # comes with scikit-learn

from . import digits
from .export import to_float, to_int8
from .network import Network

SEED = 0
EPOCHS = 60
FOLDER = Path(__file__).parents[1]


def main():
    train_images, train_labels, test_images, test_labels = digits.load()
    images = digits.to_input(train_images)
    rng = np.random.default_rng(SEED)
    net = Network(rng)
    with threadpool_limits(1):  # products are small: threads would only wait for each other
        for epoch, loss in enumerate(net.train(images, train_labels, rng, EPOCHS, digits.distort), 1):
            if epoch % 10 == 0:
                print(f"epoch {epoch:3}  loss {loss:.4f}", flush=True)
    correct = int((net.forward(digits.to_input(test_images)).argmax(1) == test_labels).sum())
    print(f"in numpy {correct} of {len(test_labels)} held-out images are right; python -m tflm_cy demo runs the files")
    (FOLDER / "digits_float.tflite").write_bytes(to_float(net, images))
    (FOLDER / "digits_int8.tflite").write_bytes(to_int8(net, images))
    np.savez_compressed(FOLDER / "digits_test.npz", images=test_images, labels=test_labels)


if __name__ == "__main__":
    main()
