# Continuous integration without ROS: what a fresh machine lacks, and nothing of the workspace, so that
# the run itself proves that setup works from nothing.
#
#   docker build -f docker/ci.Dockerfile -t assay-ci docker
#   docker run --rm --shm-size=1g -v "$PWD:/assay" -w /assay assay-ci .ci/run
FROM debian:12-slim

# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates g++ git python3 python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/*
