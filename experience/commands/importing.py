"""`import` and `watch`: runs that come in from transcripts and from files of episodes, and the loss report."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from experience.commands.common import Settings, count, masks, print_json, progress_bar, remark, wants_json
from experience.errors import ExperienceError
from experience.protocols import LABEL_CLASSES

if TYPE_CHECKING:
    from experience.importers.report import OwnFile, Report

F = TypeVar("F", bound=Callable[..., object])

_SHOWN = 20  # kinds of what was counted


def _formats(_ctx: click.Context, _parameter: click.Parameter, value: str) -> str:
    from experience.importers.recognising import AUTO, NAMES

    if value not in {AUTO, *NAMES}:
        raise click.BadParameter(f"there is no format {value!r}; there are {', '.join((AUTO, *NAMES))}")
    return value


def _how_to_read(function: F) -> F:
    """The options that `import` and `watch` share."""
    options = (
        click.option("--format", default="auto", show_default=True, callback=_formats, metavar="NAME", help="What the files are: auto (known by their content), own, claude_code, codex and others (docs/importing.md)."),
        click.option("--label-with", metavar="CMD", help="A command that says whether a run worked: its JSON on standard input, exit code 0 yes, 1 no."),
        click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=60.0, show_default=True, help="Seconds that --label-with may take for a run."),
        click.option("--tag", "tags", multiple=True, metavar="NAME", help="A tag for what transcripts bring; repeatable."),
        click.option("--foreign", is_flag=True, help="Do not believe labels, times and ids that lines bring from another store."),
        click.option("--supersede", is_flag=True, help="Let a line take the place of an older version of its run."),
        click.option("--kind", type=click.Choice(LABEL_CLASSES), default="host", show_default=True, help="Class of the success that lines state."),
    )  # fmt: skip
    function = masks(function)
    for option in reversed(options):
        function = option(function)
    return function


@click.command("import")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@_how_to_read
@click.option("--strict", is_flag=True, help="Refuse a whole file of lines because of one bad line.")
@click.option(
    "--lenient",
    is_flag=True,
    help="Also read text that escapes nothing, as older writers left it, and say what was guessed.",
)
@wants_json
@click.pass_obj
def import_(settings: Settings, /, paths: tuple[str, ...], **how: Any) -> None:
    """Record what agents did: transcripts of their tools, and files of episodes; - reads standard input.

    PATH is a file, a folder with all below it, or a pattern. Each file is known by its content. What is broken is left out,
    counted, and named. Importing something twice records it once. A file that cannot be read at all is an error.
    """
    from experience.importers.importing import import_paths

    _check(paths)
    with _without_streams(paths) as real, settings.store(create=True) as store, progress_bar("importing") as going_on:
        report = import_paths(store, real, progress=going_on, **how)
    _finish(settings, report, real)


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@_how_to_read
@click.option("--interval", type=click.FloatRange(min=0, min_open=True, max=86_400), default=5.0, show_default=True, help="Seconds between two looks.")  # fmt: skip
@click.option("--once", is_flag=True, help="Look once and end, for cron.")
@wants_json
@click.pass_obj
def watch(settings: Settings, /, paths: tuple[str, ...], interval: float, once: bool, **how: Any) -> None:
    """Keep importing what grows under PATH, until it is interrupted (Ctrl-C), which ends it with the report.

    A file is read when it has rested for one interval. The store itself is all that is remembered.
    """
    from experience.importers.importing import Importer
    from experience.importers.labelling import command_judge
    from experience.importers.watching import watch_paths

    own = {key: how[key] for key in ("foreign", "supersede", "kind")}
    judge = None if how["label_with"] is None else command_judge(how["label_with"], how["timeout"])
    with settings.store(create=True) as store:
        importer = Importer(store, format=how["format"], tags=how["tags"], judge=judge, masking=how["masking"], own=own)  # type: ignore[arg-type]  # its very keys
        try:
            watch_paths(
                importer,
                paths,
                interval=interval,
                once=once,
                on_round=None if settings.json else _in_short,
                on_trouble=_try_again,
            )
        except KeyboardInterrupt:
            importer.flush()
            remark("interrupted; all that was read is in the store")
    _finish(settings, importer.tally.report(), {})


def _try_again(error: ExperienceError) -> None:
    remark(f"{error}; trying again")


def _check(paths: Sequence[str]) -> None:
    """Refuse a name that leads nowhere before anything is done, as it is most likely mistyped."""
    from experience.importers.walking import is_pattern

    for path in paths:
        if path != "-" and not is_pattern(path) and not Path(path).expanduser().exists():
            raise click.BadParameter(f"there is no file or folder {path!r}", param_hint="PATH")


@contextmanager
def _without_streams(paths: Sequence[str]) -> Iterator[dict[str, str]]:
    """The paths, each with what people call it; a file is in place of a dash, and of a pipe, which can be read only once."""
    streams = [path for path in paths if path == "-" or _is_stream(Path(path))]
    if not streams:
        yield {path: path for path in paths}
        return
    with tempfile.TemporaryDirectory(prefix="experience-") as folder:
        copies = {path: Path(folder) / f"stream-{number}" for number, path in enumerate(dict.fromkeys(streams))}
        for path, copy in copies.items():
            with click.open_file(path, "rb") as given, copy.open("wb") as file:
                shutil.copyfileobj(given, file)
        yield {str(copies.get(path, path)): path for path in paths}


def _is_stream(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def _finish(settings: Settings, report: "Report", names: Mapping[str, str]) -> None:
    if settings.json:
        print_json(_named_json(report.to_json(), names))
    else:
        _tell(report, names)
    nothing = any(one.bad and not one.new + one.known for one in report.own)
    if report.unread or nothing:
        raise click.exceptions.Exit(1)


def _named_json(data: Any, names: Mapping[str, str]) -> Any:
    if isinstance(data, dict):
        return {
            key: names.get(part, part) if key == "path" and isinstance(part, str) else _named_json(part, names)
            for key, part in data.items()
        }
    return [_named_json(part, names) for part in data] if isinstance(data, list) else data


def _in_short(report: "Report") -> None:
    remark(f"{count(report.new, 'episode')} new, {report.grown} grown, {report.known} known already")


def _tell(report: "Report", names: Mapping[str, str]) -> None:
    """The loss report, for people."""
    for one in report.own:
        _tell_own(one, names.get(one.path, one.path))
    skipped = sum(report.skipped.values())
    remark(
        f"read {count(sum(report.files.values()), 'file')}{_parts(report.files)}, skipped {skipped}{_parts(report.skipped)}"
    )
    remark(f"episodes: {report.new} new, {report.known} known already, {report.grown} grown")
    remark(f"turns: {report.seen} seen, {report.kept} kept, {sum(report.dropped.values())} dropped")
    _tell_counts(report.dropped)
    if report.labels:
        remark("labels:")
        _tell_counts(report.labels)
    if report.judged:
        remark("what the command says:")
        _tell_counts(report.judged)
    if report.from_agent:
        remark(
            f"no request in {count(report.from_agent, 'session')}: the agent's first words, or else its calls, stand for the situation"
        )
    if report.shortened:
        remark(f"shortened {count(report.shortened, 'text')} by {count(report.shortened_bytes, 'byte')}")
    remark(f"masked: {sum(report.masked.values())}{_parts(report.masked)}")
    if report.echoes:
        remark(f"{count(report.echoes, 'recalled block')} taken out")
    if report.bad_count:
        _tell_bad(report, names)
    for bad in report.unread:
        remark(f"{_on_one_line(names.get(bad.path, bad.path))}: not read: {bad.reason}")


def _tell_bad(report: "Report", names: Mapping[str, str]) -> None:
    remark(f"{count(report.bad_count, 'piece')} left out:")
    for one in report.bad:
        place = "" if one.line is None else f", line {one.line}"
        remark(f"  {_on_one_line(names.get(one.path, one.path))}{place}: {one.reason}")
    if report.bad_count > len(report.bad):
        remark(f"  and {report.bad_count - len(report.bad)} more")


def _tell_own(one: "OwnFile", path: str) -> None:
    parts = [f"{one.new} new", f"{one.known} known already", f"{count(len(one.bad), 'bad line')} left out"]
    if one.stripped:
        parts.append(f"{count(one.stripped, 'recalled block')} taken out")
    remark(f"{_on_one_line(path)}: {', '.join(parts)}")
    for guess in one.guesses:
        remark(f"  guessed: {guess}")


def _tell_counts(counts: Mapping[str, int]) -> None:
    for what, number in list(counts.items())[:_SHOWN]:
        remark(f"  {number} {what}")
    if len(counts) > _SHOWN:
        remark(f"  and {count(len(counts) - _SHOWN, 'more kind')}")


def _on_one_line(path: str) -> str:
    return path.replace("\r", "\\r").replace("\n", "\\n")


def _parts(counts: Mapping[str, int]) -> str:
    return f" ({', '.join(f'{name} {number}' for name, number in counts.items())})" if counts else ""
