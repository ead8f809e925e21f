"""TensorFlow's memory planner, followed to the address: see `__main__`."""
