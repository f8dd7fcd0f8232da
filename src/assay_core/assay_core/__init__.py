"""Tasks, distributions, realizations, trial state machine, journal, plans and statistics. No ROS."""
