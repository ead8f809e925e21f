"""Damaged models: whatever a file says, running it ends in a result or in an exception.

    python -m compat.fuzz --models DIR                          # 200 truncations and 2,000 flips of each model
    python -m compat.fuzz --cases --truncations 0 --flips 0 --edits 100      # well-formed nonsense, from generated models
    python -m compat.fuzz --models DIR --model add1.tflite --seed 0 --only edit:17       # one mutation again

- `mutation` makes a damaged copy from (model, seed, name of the mutation); `damage` cuts and flips bytes, `edit` changes
  what the file says and keeps it a well-formed flatbuffer.
- `exercise` does to a model whatever a user may do with one, and tells how it ended.
- `children` runs batches of mutations in forked processes, so that a crash or a hang is a finding, not the end.
- `findings` counts the outcomes and prints the command that repeats each failure.

Nothing here needs TensorFlow.
"""
