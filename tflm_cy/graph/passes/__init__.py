"""The passes from a loaded graph to one that runs; `pipeline` lists them in their order."""
