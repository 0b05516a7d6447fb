"""What the project promises about itself: directions, imports, the wheel, and no broad except."""

import ast
import subprocess
import sys
import zipfile

import pytest
from conftest import ROOT

import experience

SOURCE = sorted(
    [ROOT / "cli.py", *(ROOT / "backends").glob("*.py"), *(p for p in (ROOT / "experience").rglob("*.py") if "backends" not in p.parts and p != ROOT / "experience" / "cli.py")]
)  # fmt: skip

# One way down: a module imports from its own layer or a lower one. What stands higher imports what stands lower.
LAYERS = [
    {"errors"},
    {"secrecy", "programs"},
    {"shapes"},
    {"masking", "scanning"},
    {"screen"},
    {"episode"},
    {"text"},
    {"protocols", "tokens", "migrations"},
    {"wordlists"},
    {"schema", "recalled", "testing", "lines", "choosing"},
    {"echoes", "hygiene"},
    {"rows", "postings"},
    {"opening"},
    {"sqlite_file", "writing"},
    {"admission"},
    {"store"},
    {"overview", "transfer", "printing"},
    {"backends"},
    {"memory"},
    {"learn", "tracing"},
    {"demo", "tell"},
    {"caps"},
    {"importers", "exporting"},
    {"hosts", "serving"},
    {"commands"},
    {"cli"},
    {"__main__", "__init__"},
]
LAZY = {("episode", "text")}  # inside functions only: an episode renders itself, and its text is made of episodes
WITHIN = {
    "backends",
    "commands",
    "exporting",
    "hosts",
    "importers",
    "learn",
    "migrations",
    "serving",
    "tell",
}  # rooms of several modules, which may use one another


def room(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[1] if parts[0] == "experience" else parts[0]


def imported_rooms(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "experience":
            rest = node.module.split(".")[1:]
            yield from [rest[0]] if rest else [name.name for name in node.names if not name.name.startswith("__")]


@pytest.mark.parametrize("path", SOURCE, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way_down(path):
    level = {name: number for number, layer in enumerate(LAYERS) for name in layer}
    here, tree = room(path), ast.parse(path.read_text(encoding="utf-8"))
    if here == "__init__":
        return  # the public names, resolved at first use
    at_once = set(
        imported_rooms(
            ast.Module([node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)], [])
        )
    )
    for target in imported_rooms(tree):
        if (here, target) in LAZY:
            assert target not in at_once, f"{here} imports {target} as it is loaded"
        elif not (target == here and here in WITHIN):
            assert level[target] < level[here], f"{here} imports {target}"


def test_every_room_has_its_layer():
    assert {room(path) for path in SOURCE} <= set().union(*LAYERS)


def test_backends_and_the_command_are_imported_under_their_one_name():
    for path in [*SOURCE, *(ROOT / "tests").glob("*.py"), *(ROOT / "benchmarks").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = (
                [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else [a.name for a in node.names]
                if isinstance(node, ast.Import)
                else []
            )
            assert not {"backends", "cli"} & {name.split(".")[0] for name in names}, path


def test_nothing_catches_everything():
    broad = []
    for path in SOURCE:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler):
                names = [getattr(n, "id", "") for n in ast.walk(node.type)] if node.type else ["everything"]
                if {"Exception", "BaseException", "everything"} & set(names) and not any(
                    isinstance(n, ast.Raise) for n in ast.walk(node)
                ):
                    broad.append(f"{path.name}:{node.lineno}")

    assert broad == []


def test_no_module_and_no_function_has_outgrown_its_room():
    for path in SOURCE:
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= 320, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                assert node.end_lineno - node.lineno <= 60, f"{path.name}: {node.name}"


def test_every_module_says_why_it_exists():
    for path in SOURCE:
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path


def test_the_public_names_are_these():
    assert experience.__all__ == sorted(
        experience._HOMES, key=lambda name: (not name.isupper(), name[0].islower(), name)
    )
    for name in experience.__all__:
        assert getattr(experience, name) is not None
    assert set(experience.__all__) <= set(dir(experience))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        experience.nothing  # noqa: B018


def test_every_error_is_ours_and_a_builtin():
    import experience.errors

    for error in vars(experience.errors).values():
        if isinstance(error, type) and error is not experience.errors.ExperienceError:
            assert issubclass(error, experience.ExperienceError)
            assert any(
                base.__module__ == "builtins" and base is not Exception
                for base in error.__mro__
                if issubclass(base, Exception)
            )
            assert error.__name__ in experience.errors.__doc__


def loaded_by(code):
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


def test_importing_the_package_loads_nothing_heavy():
    loaded = loaded_by("import experience")

    assert not {"numpy", "click", "torch", "sqlite_utils", "sentence_transformers", "sqlite3", "logging"} & loaded
    assert not {name for name in loaded if name.startswith("experience.")}


def test_help_loads_neither_sqlite_nor_numpy():
    loaded = loaded_by("from experience.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass")

    assert "click" in loaded
    assert not {"numpy", "sqlite_utils", "sqlite3", "torch", "tokenizers", "Stemmer"} & loaded


def test_a_recall_by_embedding_does_not_import_torch(path):
    loaded = loaded_by(
        f"from experience import Episode, Memory\nwith Memory.open({str(path)!r}, 'hybrid') as m:\n"
        "    m.record(Episode('s', 'o')); assert m.recall('s'); m.refresh()"
    )

    assert "tokenizers" in loaded
    assert not {"torch", "transformers", "sentence_transformers", "scipy", "faiss"} & loaded


def test_importing_acts_on_nothing(tmp_path):
    before = subprocess.run(
        [sys.executable, "-c", "import logging, experience, experience.cli, experience.memory, experience.backends.hybrid, experience.backends.encoders; print(logging.root.handlers)"],
        capture_output=True, text=True, check=True, cwd=tmp_path, env={"HOME": str(tmp_path), "PATH": ""},
    )  # fmt: skip

    assert (before.stdout, list(tmp_path.iterdir())) == ("[]\n", [])


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT],
        check=True,
        capture_output=True,
        text=True,
    )
    [built] = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    top = {name.split("/")[0] for name in names}

    assert top == {"experience", f"hardwon-{experience.__version__}.dist-info"}
    for part in (
        "cli.py",
        "backends/keyword.py",
        "backends/__init__.py",
        "data/episodes.jsonl",
        "py.typed",
        "commands/common.py",
    ):
        assert f"experience/{part}" in names
    assert len(names) == len(set(names))
    assert not [name for name in names if "__pycache__" in name or name.endswith(".db")]


def test_the_demo_runs_from_the_wheel(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", "import experience, experience.cli; print(experience.__file__); experience.cli.main(['demo'])"],
        capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path))
    assert "Recorded 120 episodes" in done.stdout
