"""The command line: parse, make one call into the library, print or save. No mathematics here.

Bad input ends with one sentence on standard error and exit code 2; a solver that gave up with exit code 1. Heavy
libraries are imported inside the commands that need them, so that `flowsys --help` is quick.
"""

import logging
import os
import sys

import typer

from flowsys.cli import analyse, cache, check, derive, figure, phase, prove, report, show, solve, train
from flowsys.errors import InputError
from flowsys.machine.files import cache_directory

app = typer.Typer(
    name="flowsys",
    help="Training dynamics of small transformers: reduced systems derived, integrated, trained and checked.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _module in (show, derive, solve, train, phase, check, analyse, prove, figure, report, cache):
    _module.register(app)


def main() -> None:
    """Entry point: runs the app and turns bad input into a sentence."""
    _use_compilation_cache()
    _let_workers_start_anywhere()
    _show_messages()
    try:
        # without its standalone mode, typer hands back the exit code of a command that raised typer.Exit
        sys.exit(app(standalone_mode=False))
    except InputError as error:
        _fail(str(error), 2)
    except typer.Exit as end:
        sys.exit(end.exit_code)
    except typer.Abort:
        _fail("interrupted.", 130)
    except KeyboardInterrupt:
        _fail("interrupted.", 130)
    except OSError as error:
        _fail(f"{error.filename or 'a file'} cannot be used: {error.strerror or error}.", 2)
    except Exception as error:
        if hasattr(error, "format_message"):  # click's usage errors, whichever click typer brings along
            _fail(_usage(error), 2)
        raise


def _usage(error) -> str:
    """A usage error in a sentence; with the value that was refused, which typer's own message leaves out."""
    for detail in error.__cause__.errors() if hasattr(error.__cause__, "errors") else ():
        return f"{error.param.name} = {detail['input']} is not allowed: {detail['msg'].lower()}."
    return error.format_message()


def _fail(sentence: str, code: int) -> None:
    typer.echo(f"flowsys: {sentence}", err=True)
    sys.exit(code)


def _use_compilation_cache() -> None:
    """Let this process's JAX keep what it compiled for the next run of the command line."""
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache_directory("jax")))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")


def _let_workers_start_anywhere() -> None:
    """A worker process must not take a file of this directory, say a model in signal.py, for a module of Python's."""
    os.environ.setdefault("PYTHONSAFEPATH", "1")


def _show_messages() -> None:
    """Let the library say on standard error what takes long."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("flowsys: %(message)s"))
    logger = logging.getLogger("flowsys")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
