"""Work behind a slider's back: one thread, the newest wish only; what is asked for anew makes the old one stop."""

from collections.abc import Callable
from threading import Condition, Thread
from typing import Any

from flowsys.errors import InputError

QUIET = 0.3  # seconds without a new wish before the work begins


class Stale(Exception):
    """Raised inside a work that nobody waits for any more."""


class Background:
    """Runs `work(wish, check)` for the newest wish and hands its result, or its refusal, to `done`.

    `check()` raises when the wish is stale.
    """

    def __init__(self, work: Callable[[Any, Callable[..., None]], Any], done: Callable[[Any, Any], None]):
        self._work, self._done = work, done
        self._change = Condition()
        self._wish: Any = None
        self._number = 0
        self._thread: Thread | None = None

    def ask(self, wish: Any) -> None:
        """Wish for something; returns at once."""
        with self._change:
            self._number += 1
            self._wish = wish
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._run, daemon=True)
                self._thread.start()
            self._change.notify()

    def forget(self) -> None:
        """Wish for nothing: what is under way stops."""
        self.ask(None)

    def _run(self) -> None:
        while True:
            with self._change:
                number = self._number
                while self._change.wait(QUIET):
                    number = self._number
                wish = self._wish
            if wish is not None:
                self._try(wish, number)
            with self._change:
                if number == self._number:
                    self._thread = None
                    return

    def _try(self, wish: Any, number: int) -> None:
        def check(*_: Any) -> None:
            if number != self._number:
                raise Stale

        try:
            result = self._work(wish, check)
            check()
        except Stale:
            return
        except InputError as refusal:
            result = refusal
        self._done(wish, result)
