# A translator for whoever asks with a key:
#   docker build -t regard . && docker run -p 5000:5000 -e REGARD_API_KEY=... regard
# Other models: docker run ... -v FOLDER:/models -e REGARD_MODELS="/models/mine=en:fr" regard
FROM python:3.11-slim

# torch for CPUs: a tenth of the size of the one for GPUs. Versions are those of requirements.lock.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
WORKDIR /build
COPY requirements.lock pyproject.toml hatch_build.py README.md LICENSE ./
RUN pip install --no-cache-dir --extra-index-url "$TORCH_INDEX" -c requirements.lock \
        "torch==$(sed -n 's/^torch==\([0-9.]*\).*/\1/p' requirements.lock)+cpu" hatchling
COPY src ./src
RUN REGARD_WITHOUT_PAGE=1 pip install --no-cache-dir --no-build-isolation --extra-index-url "$TORCH_INDEX" -c requirements.lock ".[fast]" \
    && rm -rf /build

RUN useradd --create-home regard
USER regard
WORKDIR /home/regard
ENV REGARD_MODELS="" PORT=5000
EXPOSE 5000
HEALTHCHECK --start-period=30s --interval=30s --timeout=5s \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/health')"]
# The shell hands the key over, and is replaced by the server, so that the server hears when it is to stop.
CMD ["sh", "-c", "exec regard serve $REGARD_MODELS --host 0.0.0.0 --port $PORT --api-key \"${REGARD_API_KEY:?a key for clients}\" --rate 600"]
