"""The derivations as readable scripts, one a paper: the same steps beside the paper's own equations."""
