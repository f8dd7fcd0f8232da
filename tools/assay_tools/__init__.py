"""What runs before the environment exists: setup, test and lint. Standard library only, so that a bare Python can."""
