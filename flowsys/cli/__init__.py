"""The command line: parse, make one call into the library, print or save. No mathematics here.

Bad input ends with one sentence on standard error and exit code 2; a solver that gave up with exit code 1. Heavy
libraries are imported inside the commands that need them, so that `flowsys --help` is quick.
"""

import logging
import os
import re
import sys
from typing import Annotated

import typer

from flowsys.cli import analyse, cache, check, derive, figure, options, phase, prove, report, show, solve, train
from flowsys.errors import InputError
from flowsys.machine.files import cache_directory
from flowsys.version import VERSION

app = typer.Typer(
    name="flowsys",
    help="Training dynamics of small transformers: reduced systems derived, integrated, trained and checked.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _module in (show, derive, solve, train, phase, check, analyse, prove, figure, report, cache):
    _module.register(app)


@app.callback(invoke_without_command=True)
def about(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"flowsys {VERSION}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


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
    except MemoryError as error:
        _fail(f"this takes more memory than there is: {error}.", 2)
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
    option = getattr(error, "option_name", None)
    if option and option.startswith("--") and (near := _set_with(option[2:])):
        return near
    sentence = error.format_message()
    if alone := re.search(r"extra argument\S* \((\w+=[^\s)]+)", sentence):
        return options.alone(alone[1])
    return sentence


def _set_with(name: str) -> str:
    """What to write where an option has the name of a parameter of the system, or may have that of a file's model."""
    from flowsys.systems import load, names

    asked = next((word for word in sys.argv[1:] if word in names()), None)
    is_own = any(word.partition("=")[0] == "--from" for word in sys.argv)
    if not is_own and (asked is None or name not in {p.name for p in load(asked).parameters}):
        return ""
    at = next(i for i, word in enumerate(sys.argv) if word.partition("=")[0] == f"--{name}")
    _, separator, value = sys.argv[at].partition("=")
    value = value if separator else next(iter(sys.argv[at + 1 : at + 2]), "VALUE")
    return f"No such option: --{name}: parameters are set with --set {name}={value}."


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
