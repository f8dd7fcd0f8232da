#!/bin/bash
# Entry point of the robot PC image: every command gets ROS 2 and this workspace, `ros2 launch assay_bringup ...` included.
set -e
# shellcheck disable=SC1091
source "/opt/ros/$ROS_DISTRO/setup.bash"
# shellcheck disable=SC1091
source /assay/install/setup.bash
exec "$@"
