"""KitchenBench: task instances as data, simulation contract and in-process mock. No ROS."""
