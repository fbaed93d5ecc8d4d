"""Where a run is looked at: events by name, times as numbers or as the command line writes them ("t=300")."""

from collections.abc import Iterable

from flowsys.errors import InputError

Request = str | float  # an event's name, or a time


def request(asked: Request) -> Request:
    """300.0 from 300, "300" and "t=300"; any other name is an event's."""
    if not isinstance(asked, str):
        return float(asked)
    try:
        return float(asked.removeprefix("t="))
    except ValueError:
        if asked.startswith("t="):
            raise InputError(f"at = {asked} is not understood: after t= there must be a number.") from None
        return str(asked)


def plain_requests(at: Request | Iterable[Request]) -> tuple[Request, ...]:
    """Names and times as Python's own, whatever array they came in; one may come alone."""
    return tuple(request(one) for one in ((at,) if isinstance(at, str | float | int) else at))
