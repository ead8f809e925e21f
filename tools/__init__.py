"""What builds, packs and checks the package; nothing of it is installed."""
