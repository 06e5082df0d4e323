"""Feed each step of `r2d2.pipeline`: from what is known and from tools to the arguments of the step."""
