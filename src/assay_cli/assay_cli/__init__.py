"""The verbs of the assay command."""
