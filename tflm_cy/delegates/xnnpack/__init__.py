"""TensorFlow's default delegate: which nodes it takes (`claims`), when it cannot run them (`creation`), what it rewrites (`rewrites`)."""
