# A robot PC: ROS 2 Jazzy from its distribution, the workspace built against it.
#
#   docker build -f docker/robot-pc.Dockerfile -t assay-robot-pc .
#   docker run --rm -it --shm-size=1g --network=host assay-robot-pc ./assay eval kitchenbench/pour_pasta
#   docker run --rm -it --shm-size=1g --network=host assay-robot-pc ros2 launch assay_bringup eval.launch.yaml
#
# --shm-size: images travel through shared memory, 64 MiB for each process of the graph; Docker's 64 MB in all is too
# little. --ipc=host shares the machine's /dev/shm instead, which nodes outside of the container need anyway.
FROM ros:jazzy-ros-base-noble

SHELL ["/bin/bash", "-o", "pipefail", "-c"]

# The distribution's own pins hold: ROS 2 packages are built against exactly the versions that it serves.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        cmake g++ git ninja-build python3-dev python3-numpy python3-opencv python3-venv \
        ros-jazzy-cv-bridge ros-jazzy-diagnostic-msgs ros-jazzy-rmw-fastrtps-cpp \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /assay
COPY . .
RUN source /opt/ros/jazzy/setup.bash && ./assay setup && rm -rf .assay/cache

# The base image's entry point sources ROS 2 alone; `ros2 launch assay_bringup eval.launch.yaml` needs the workspace too.
ENTRYPOINT ["/assay/docker/robot-pc-entrypoint.sh"]
CMD ["./assay", "--help"]
