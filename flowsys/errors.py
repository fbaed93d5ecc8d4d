"""What can be wrong with what a user asks for."""


class InputError(ValueError):
    """Bad input, told in one sentence: what was got, what is allowed. The command line exits with code 2 on it."""
