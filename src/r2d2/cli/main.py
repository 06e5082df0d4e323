"""The command `r2d2`: where errors become one sentence and an exit code."""

from __future__ import annotations

import errno
import gc
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import click

from r2d2 import __version__
from r2d2.cli import commands
from r2d2.errors import R2D2Error, UserError


class _InOrder(click.Group):
    """Commands in the order in which one needs them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return list(self.commands)


@click.group(
    cls=_InOrder,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Settings may also stand in r2d2.toml, or in the environment as R2D2_NAME.",
)
@click.version_option(__version__, prog_name="r2d2")
def cli() -> None:
    """Find the tables of a data lake that are contained in others, and delete them so that they can be brought back."""


for command in commands.ALL:
    cli.add_command(command)


_MACHINE = {
    errno.ENOSPC: "free some space there; TMPDIR names the folder for temporary files",
    errno.EDQUOT: "free some space there; TMPDIR names the folder for temporary files",
    errno.EROFS: "give a folder that can be written to",
    errno.ENOMEM: "free some memory; `ulimit -v` says how much this process may have",
    errno.EMFILE: "allow more open files: `ulimit -n 65536`",
    errno.ENFILE: "too many files are open on this machine",
}
_COLLECT_AFTER = 200_000  # new objects: a lake's tables are millions, none of which is garbage
BUG = 70  # a code of its own: 1 says that the scan is done and something needs a look


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 needs a look, 2 the user can fix it, 70 a bug, 130 interrupted."""
    gc.set_threshold(_COLLECT_AFTER, 20, 100)
    sys.exit(run(lambda: cli.main(args=arguments, prog_name="r2d2", standalone_mode=False)))


def run(call: Callable[[], Any]) -> int:
    """The exit code of a command; its error, if any, is one sentence on stderr. A bug keeps its traceback."""
    try:
        code = int(call() or 0)
        sys.stdout.flush()
        return code
    except R2D2Error as error:
        print(_sentence(error), file=sys.stderr)
        return error.exit_code
    except click.exceptions.Abort:
        return _interrupted()
    except KeyboardInterrupt:
        return _interrupted()
    except click.ClickException as error:
        error.show()
        return 2
    except (BrokenPipeError, SystemExit):  # click turns the one into the other; nothing else here exits
        return _reader_gone()
    except Exception as error:
        told = _of_the_machine(error)
        if told is not None:
            print(_sentence(told), file=sys.stderr)
            return told.exit_code
        traceback.print_exc()
        return BUG


def _sentence(error: R2D2Error) -> str:
    """The error and the way out; names in it may hold anything (HAZARDS 34)."""
    from r2d2.cli.output import printable

    hint = f"\nHint: {printable(error.hint)}" if error.hint else ""
    return f"r2d2: {printable(str(error.args[0]))}{hint}"


def _of_the_machine(error: Exception) -> UserError | None:
    """The sentence for a full disk, too little memory or too many open files, wherever it was met; None for others."""
    if isinstance(error, MemoryError):
        return UserError("there is not enough memory", hint="free some, or work on a smaller part of the lake")
    if isinstance(error, FileNotFoundError) and not _has_working_folder():
        return UserError("the working folder has been removed", hint="change to a folder that is there")
    hint = _MACHINE.get(error.errno or 0) if isinstance(error, OSError) else None
    if hint is None:
        return None
    assert isinstance(error, OSError)
    where = f" ({error.filename})" if error.filename else ""
    _reader_gone()  # what stdout could not take would fail once more at the end
    return UserError(f"{error.strerror}{where}", hint=hint)


def _has_working_folder() -> bool:
    try:
        return bool(os.getcwd())
    except FileNotFoundError:
        return False


def _reader_gone() -> int:
    """End well where the reader of our output has stopped: `r2d2 edges | head`. The rest goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


def _interrupted() -> int:
    print("r2d2: interrupted; what was finished stands, and nothing is half done", file=sys.stderr)
    return 130


if __name__ == "__main__":
    main()
