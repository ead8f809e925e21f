"""TensorFlow's default delegate: which nodes it takes (`support`), when it cannot run them (`creation`), what it rewrites (`rewrites`)."""
