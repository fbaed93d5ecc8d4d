"""Pictures of analyses, one a file: each takes a result and returns a figure."""
