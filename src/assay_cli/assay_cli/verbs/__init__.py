"""One module per verb, each with ``main(argv) -> exit code``."""
