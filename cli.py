"""The command `experience`: a group, its options, and the commands of `experience.commands`.

Data goes to standard output, remarks to standard error. Exit codes: 0 done, 1 it went wrong, 2 the command was wrong.
A command parses, makes one library call and prints. Its module is imported when it is called for, and what is heavy inside
it, so that no command waits for the others.
"""

import errno
import io
import os
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import cast

import click

from experience import __version__
from experience.backends import NAMES
from experience.commands.common import Settings, remark
from experience.errors import ExperienceError
from experience.screen import visible

_HOMES = {
    "brief": "telling",
    "compact": "compacting",
    "compose": "composing",
    "delete": "recording",
    "demo": "reading",
    "distill": "distilling",
    "explain": "telling",
    "export": "exporting",
    "flags": "distilling",
    "hook": "hosting",
    "import": "importing",
    "info": "reading",
    "install": "hosting",
    "label": "recording",
    "learn": "learnings",
    "list": "reading",
    "mcp": "serving",
    "recall": "reading",
    "record": "recording",
    "refresh": "refreshing",
    "revise": "distilling",
    "show": "reading",
    "skills": "skills",
    "tune": "tuning",
    "uninstall": "hosting",
    "watch": "importing",
}


class _Group(click.Group):
    """Finds a command in its module; turns our errors into one line and exit code 1, and our warnings into remarks."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(_HOMES)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _HOMES:
            return None
        module = import_module(f"experience.commands.{_HOMES[cmd_name]}")
        own = f"{cmd_name}_" if cmd_name in {"import", "list"} else cmd_name  # those two names are taken
        return cast("click.Command", getattr(module, own))

    def invoke(self, ctx: click.Context) -> object:
        if os.environ.get("NO_COLOR"):
            ctx.color = False
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # what a terminal's encoding lacks is shown as an escape
                stream.reconfigure(errors="backslashreplace")
        with warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)
            warnings.showwarning = lambda message, *_, **__: remark(str(message))
            try:
                return super().invoke(ctx)
            except ExperienceError as error:
                raise click.ClickException(visible(str(error))) from error
            except OSError as error:
                if error.errno == errno.EPIPE:
                    raise  # whoever read our output has stopped, which click knows how to end
                raise click.ClickException(visible(f"{error.filename or 'output'}: {error.strerror}")) from error


def _default_db() -> Path:
    import platformdirs

    return platformdirs.user_data_path("hardwon") / "experience.db"


@click.group(cls=_Group, context_settings={"auto_envvar_prefix": "EXPERIENCE", "help_option_names": ["-h", "--help"]})
@click.option(
    "--db",
    type=click.Path(path_type=Path),
    default=_default_db,
    show_default="under the user's data folder",
    help="The store's file.",
)
@click.option(
    "--backend",
    type=click.Choice(NAMES),
    default="hybrid",
    show_default=True,
    help="How recall ranks.",
)
@click.option(
    "--encoder", default=None, help="A sentence-transformers model, by name or folder.  [default: the store's own]"
)
@click.option("--namespace", default="default", show_default=True, help="Whose runs; no other namespace is seen.")
@click.option("--json", "as_json", envvar="EXPERIENCE_JSON", is_flag=True, help="Print JSON instead of text.")
@click.version_option(__version__, prog_name="experience")
@click.pass_context
def main(ctx: click.Context, db: Path, backend: str, encoder: str | None, namespace: str, as_json: bool) -> None:
    """Record what agents' runs did, and recall the similar ones.

    Every option can be given in the environment: EXPERIENCE_DB, EXPERIENCE_BACKEND, EXPERIENCE_ENCODER,
    EXPERIENCE_NAMESPACE, EXPERIENCE_JSON.
    """
    # One thread of linear algebra answers a query sooner than several that must be started; numpy is not loaded yet.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    ctx.obj = Settings(db, backend, encoder, namespace, as_json)
