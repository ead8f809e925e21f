# An image that runs models: docker build -t tflm-cy . && docker run --rm -v "$PWD:/models" tflm-cy run model.tflite --random 7
FROM python:3.12-slim AS build
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends gcc libc6-dev
COPY . /source
RUN pip wheel --no-deps --wheel-dir /wheels /source

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir /wheels/*.whl && rm -r /wheels && useradd --create-home runner
USER runner
WORKDIR /models
ENTRYPOINT ["tflm-cy"]
CMD ["demo"]
