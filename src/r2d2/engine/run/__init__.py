"""Where the tasks of a job run."""
