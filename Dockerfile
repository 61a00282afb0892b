# The service and what it needs: no Spark, no Java, and no compiler in the stage that runs.
#
#   docker run -p 5672:5672 -e BRIDGE_KAFKA_BOOTSTRAP_SERVERS=kafka:9092 amqp-kafka-bridge:0.1.0
#
# It writes nowhere, so its root may be read-only. A file of your own goes to
# /etc/bridge/bridge.properties; variables win over it, BRIDGE_AMQP_HOST below included.

ARG PYTHON_IMAGE=python:3.11-slim


FROM ${PYTHON_IMAGE} AS build

# For what the bridge has in C. Proton is compiled where the registry has no wheel for the platform; it is
# built without OpenSSL's headers on purpose: the bridge gives it plain bytes and leaves TLS to Python.
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev

WORKDIR /build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1

# Every file that is installed has a known hash, and so has what builds it.
COPY requirements/build.txt requirements/service.txt requirements/
RUN python -m venv tools \
 && tools/bin/python -m pip install --require-hashes -r requirements/build.txt \
 && tools/bin/python -m pip wheel --require-hashes --no-build-isolation --wheel-dir wheels \
      -r requirements/service.txt

COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY bridge bridge
RUN REQUIRE_COMPILED=1 tools/bin/python -m pip wheel --no-deps --no-build-isolation --wheel-dir wheels .

# Compiled to bytecode here, because the service cannot write any; hashes instead of times, because layers do
# not keep times.
RUN python -m venv --without-pip /opt/bridge \
 && tools/bin/python -m pip --python /opt/bridge/bin/python \
      install --no-index --no-deps --no-compile wheels/*.whl \
 && python -m compileall -q --invalidation-mode unchecked-hash /opt/bridge/lib


FROM ${PYTHON_IMAGE} AS service

ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="amqp-kafka-bridge" \
      org.opencontainers.image.description="An AMQP 1.0 endpoint for Apache Kafka" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

# The base image leaves the standard library uncompiled.
RUN python -m compileall -q --invalidation-mode unchecked-hash \
      -x '/(site-packages|lib2to3|test|tests)/' \
      "$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"

COPY LICENSE /usr/share/doc/amqp-kafka-bridge/LICENSE
COPY bridge.properties /etc/bridge/bridge.properties
COPY --from=build /opt/bridge /opt/bridge

ENV PATH=/opt/bridge/bin:${PATH} \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    BRIDGE_AMQP_HOST=0.0.0.0 \
    BRIDGE_MANAGEMENT_HOST=0.0.0.0

# By number, so that Kubernetes can see that it is not root.
USER 10001:10001
EXPOSE 5672 8080

# Alive means that the event loop turns; Kafka's state is /readyz. The port is the variable's or the
# default: it does not know of one that is set in the file.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import http.client, os, sys; port = int(os.environ.get('BRIDGE_MANAGEMENT_PORT', '8080')); probe = http.client.HTTPConnection('127.0.0.1', port, timeout=2); probe.request('GET', '/healthz'); sys.exit(probe.getresponse().status != 200)"]

ENTRYPOINT ["bridge"]
CMD ["run", "--config", "/etc/bridge/bridge.properties"]
