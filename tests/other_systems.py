"""A system with some fields of its own: a packaged one is copied by its name, so that a copy would be itself."""


def changed(system, **fields):
    """The same system with other fields."""
    other = object.__new__(type(system))
    vars(other).update(vars(system) | fields)
    return other
