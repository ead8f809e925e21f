"""The pool of threads that compute the parts of one node."""
