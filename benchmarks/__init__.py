"""tflm_cy's time and size against tf.lite's and its relatives': `python -m benchmarks`; see README.md."""
