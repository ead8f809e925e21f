"""basic-pitch: notes of a recording, here of a few chords, by Spotify's network."""

REQUIREMENTS = ["librosa", "mir_eval", "pretty_midi", "resampy==0.4.2", "scikit-learn", "scipy", "setuptools<81"]
ALONE = ["basic-pitch"]
STANDS_IN_FOR = ("tflite_runtime",)


def run(models):
    import importlib.util
    from pathlib import Path

    import numpy as np
    from basic_pitch.inference import Model, predict
    from scipy.io import wavfile

    rate, chords = 22050, [(220.0, 277.18, 329.63), (246.94, 311.13, 369.99), (261.63, 329.63, 392.0)]
    time = np.arange(rate) / rate
    sound = np.concatenate([sum(np.sin(2 * np.pi * f * time) for f in chord) * np.exp(-2 * time) for chord in chords])
    wavfile.write("chords.wav", rate, (sound / np.abs(sound).max() * 20000).astype(np.int16))
    folder = Path(importlib.util.find_spec("basic_pitch").submodule_search_locations[0])
    model = Model(folder / "saved_models/icassp_2022/nmp.tflite")
    assert model.model_type is Model.MODEL_TYPES.TFLITE
    output, _, notes = predict("chords.wav", model)
    assert len(notes) >= 3, notes
    table = [(start, end, pitch, float(strength)) for start, end, pitch, strength, _ in notes]
    return {**output, "notes": np.array(table)}
