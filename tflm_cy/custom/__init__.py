"""Users' operators: in Python (`python`), in Cython (any `Registration`), and which name means which (`registry`)."""
