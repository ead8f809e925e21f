"""The .tflite format: a file is verified once, then read in place.

    >>> from tflm_cy.schema.model import Model
    >>> Model.from_buffer(b"<!DOCTYPE html><html>Not found</html>")
    Traceback (most recent call last):
        ...
    ValueError: The model is not a valid Flatbuffer buffer: this is an HTML or XML page, perhaps of a failed download

- `model`: a file or a buffer, verified; what the rest of the package holds on to. `mapping`, `errors`: opening files.
- `verifier`: the one check, in two steps: `structure` (is it a flatbuffer of this schema?), then what the fields say;
  `payload` for strings and sparse tensors. Nothing is checked again later.
- `table`, `span`: readers for verified bytes. `slots`: numbers of the fields that they are asked for.
- `layouts`, `names`: the schema itself, as data.
"""
