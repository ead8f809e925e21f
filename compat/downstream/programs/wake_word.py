"""openwakeword: melspectrogram, embedding and wake word models in a stream of 80 ms; models from --models."""

REQUIREMENTS = ["scipy", "scikit-learn", "requests", "tqdm", "onnxruntime"]
ALONE = ["openwakeword"]
STANDS_IN_FOR = ("tflite_runtime",)
WANTS_MODELS = True


def run(models):
    import numpy as np
    from openwakeword.model import Model

    listener = Model(
        wakeword_models=[str(models / "open_alexa.tflite")],
        inference_framework="tflite",
        melspec_model_path=str(models / "open_melspectrogram.tflite"),
        embedding_model_path=str(models / "open_embedding_model.tflite"),
    )
    rng, time = np.random.default_rng(0), np.arange(16000 * 4) / 16000
    sound = 6000 * np.sin(2 * np.pi * 300 * time * (1 + time)) * (rng.random(time.size) > 0.2) + rng.normal(
        0, 500, time.size
    )
    sound = sound.astype(np.int16)
    stream = [listener.predict(sound[start : start + 1280]) for start in range(0, sound.size, 1280)]
    name = next(iter(stream[0]))
    features = listener.preprocessor._get_embeddings(sound)
    return {"predictions": np.array([step[name] for step in stream]), "embeddings": np.array(features)}
