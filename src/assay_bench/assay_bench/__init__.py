"""The benchmark node: publishes realizations, runs trials, collects verdicts, keeps the journal."""
