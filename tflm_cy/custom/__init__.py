"""Users' operators: in Python (`operator`), in Cython (any `Registration`), and which name means which (`registry`)."""
