"""One file per package; see `compat.downstream`."""
