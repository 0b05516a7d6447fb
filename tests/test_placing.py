"""Skills in the folders of the agents people use: nothing there is lost that somebody else wrote."""

import pytest
from conftest import ROOT

from experience import NotFound, Skill, SkillFolder, SkillLibrary
from experience.learn.evidence import Citation
from experience.learn.folder import AGENT_FOLDERS
from experience.learn.placing import place

BODY = "# Deploy\n\n## Steps\n\n1. Build it, then ship it with the tool that the project names.\n"
DEPLOY = Skill.new("deploy", "Deploys the site to production. Use when a release is ready.", BODY)
BAKE = Skill.new("bake", "Bakes bread for the office. Use when there is none.", "# Bake\n\nHeat the oven first.\n")


@pytest.fixture
def library(store, tmp_path):
    library = SkillLibrary(store)
    for skill in (DEPLOY, BAKE):
        approved(library, skill, tmp_path)
    return library


@pytest.fixture
def folder(tmp_path):
    return SkillFolder(tmp_path / "there")


def approved(library, skill, tmp_path, kind="distilled", **options):
    home = SkillFolder(tmp_path / "home")
    return library.approve(library.add_draft(skill, kind, Citation(), **options).id, home, by="ada")


def states(placed):
    return {one.skill: one.state for one in placed}


def test_approved_skills_are_written_once_and_again_when_they_change(library, folder, tmp_path):
    library.add_draft(Skill.new("draft", "Waits. Use when approved.", BODY), "distilled", Citation())
    assert states(place(library, folder)) == {"bake": "written", "deploy": "written"}
    assert states(place(library, folder)) == {"bake": "same", "deploy": "same"}
    changed = DEPLOY.changed(body=f"{BODY}\n## Pitfalls\n\n- Check it.")
    approved(library, changed, tmp_path, "revised", base=DEPLOY.text.encode())

    assert states(place(library, folder, ["deploy"])) == {"deploy": "written"}
    assert folder.read("deploy") == changed.text.encode()
    assert folder.read("draft") is None
    with pytest.raises(NotFound, match="no skill 'draft' in use"):
        place(library, folder, ["draft"])


def test_what_is_written_is_valid_by_the_standards_own_validator(library, folder):
    validate = pytest.importorskip("skills_ref", reason="the standard's validator is not installed").validate
    for one in place(library, folder):
        assert validate(one.path.parent) == []


def test_a_file_of_somebody_else_is_left_alone_and_the_others_are_written(library, folder):
    place(library, folder, ["deploy"])
    folder.path("deploy").write_text("mine")
    [bake, deploy] = place(library, folder, prune=True)

    assert (bake.state, deploy.state, deploy.wanted) == ("written", "left alone", True)
    assert "changed by hand" in deploy.why
    assert folder.path("deploy").read_text() == "mine"


def test_what_cannot_be_read_is_left_alone_with_the_reason(library, folder):
    folder.path("deploy").mkdir(parents=True)
    (folder.root / "bake").symlink_to(folder.root / "nowhere")
    [bake, deploy] = place(library, folder)

    assert "is no file" in deploy.why
    assert "leads nowhere" in bake.why


def test_what_the_standard_does_not_allow_is_not_spread(library, folder, tmp_path):
    home = SkillFolder(tmp_path / "home")
    long = f"---\nname: long\ndescription: {'Use when long. ' * 100}\n---\n{BODY}"
    home.path("long").parent.mkdir()
    home.path("long").write_text(long)
    draft = Skill.parse(long).changed(description="Short. Use when asked.")
    approved(library, draft, tmp_path, "revised", base=long.encode())
    library.rollback("long", home, by="ada")
    [placed] = place(library, folder, ["long"])

    assert placed.state == "left alone"
    assert "1024 are allowed" in placed.why
    assert folder.read("long") is None


def test_a_dry_run_says_the_same_and_changes_nothing(library, folder, tmp_path):
    place(library, folder, ["bake"])
    library.retire("bake", SkillFolder(tmp_path / "home"), by="ada", reason="old")
    before = sorted(tmp_path.rglob("*"))
    said = states(place(library, folder, prune=True, dry_run=True))

    assert said == {"bake": "removed", "deploy": "written"}
    assert sorted(tmp_path.rglob("*")) == before
    assert states(place(library, folder, prune=True)) == said


def obstructed(root, how):
    root.parent.mkdir(parents=True)
    if how == "a file":
        root.write_text("")
    elif how == "a dead link above":
        root.parent.rmdir()
        root.parent.symlink_to("nowhere")
    else:
        (root / "bake").mkdir(parents=True)
        (root / "bake" / "SKILL.md").symlink_to("nowhere")
        (root / "deploy").symlink_to("nowhere")


@pytest.mark.parametrize("how", ["a file", "a dead link above", "dead links within"])
def test_a_dry_run_sees_what_stands_in_the_way(library, tmp_path, how):
    folder = SkillFolder(tmp_path / "project" / "agents" / "skills")
    obstructed(folder.root, how)
    before = sorted(tmp_path.rglob("*"))
    said = place(library, folder, dry_run=True)

    assert states(said) == {"bake": "left alone", "deploy": "left alone"}
    assert place(library, folder) == said
    assert sorted(tmp_path.rglob("*")) == before


def test_no_link_within_the_folder_is_written_through_or_removed(library, folder, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    folder.root.mkdir()
    (folder.root / "deploy").symlink_to(out)
    (folder.root / "bake").mkdir()
    (folder.root / "bake" / "SKILL.md").symlink_to(tmp_path / "home" / "bake" / "SKILL.md")
    [bake, deploy] = place(library, folder)
    assert (bake.state, deploy.state) == ("same", "left alone")
    assert f"{folder.root / 'deploy'} is a link" in deploy.why
    assert list(out.iterdir()) == []

    (out / "SKILL.md").write_bytes(DEPLOY.text.encode())
    library.retire("deploy", SkillFolder(tmp_path / "home"), by="ada", reason="old")
    [_, retired] = place(library, folder, prune=True)
    assert (retired.state, retired.wanted) == ("left alone", False)
    assert (folder.root / "deploy").is_symlink()
    assert (out / "SKILL.md").exists()


def test_the_folder_itself_may_be_a_link(library, folder, tmp_path):
    (tmp_path / "shared").mkdir()
    folder.root.symlink_to("shared")

    assert states(place(library, folder)) == {"bake": "written", "deploy": "written"}
    assert (tmp_path / "shared" / "bake" / "SKILL.md").is_file()


def test_retired_skills_go_when_asked_for_and_only_as_they_were_written(library, folder, tmp_path):
    place(library, folder)
    for name in ("bake", "deploy"):
        library.retire(name, SkillFolder(tmp_path / "home"), by="ada", reason="old")
    folder.path("deploy").write_text("mine")
    kept = place(library, folder)
    assert [(one.state, one.wanted) for one in kept] == [("left alone", False)] * 2
    assert "--prune removes it" in kept[0].why
    with pytest.raises(NotFound, match="in use"):
        place(library, folder, ["bake"])

    assert states(place(library, folder, prune=True)) == {"bake": "removed", "deploy": "left alone"}
    assert not (folder.root / "bake").exists()
    assert folder.path("deploy").read_text() == "mine"
    assert states(place(library, folder, ["bake"], prune=True)) == {}


def test_a_race_is_lost_without_a_loss(library, folder, monkeypatch):
    read = SkillFolder.read

    def late(self, name):
        found = read(self, name)
        if found is None and not self.path(name).exists():
            self.path(name).parent.mkdir(parents=True, exist_ok=True)
            self.path(name).write_text("theirs")
        return found

    monkeypatch.setattr(SkillFolder, "read", late)
    placed = place(library, folder)

    assert states(placed) == {"bake": "left alone", "deploy": "left alone"}
    assert folder.path("deploy").read_text() == "theirs"


def test_each_agent_has_a_place_in_a_project_and_one_in_a_home(tmp_path):
    for agent in AGENT_FOLDERS:
        in_project, in_home = SkillFolder.of_agent(agent, tmp_path), SkillFolder.of_agent(agent, home=tmp_path)
        for folder in (in_project, in_home):
            assert folder.root.is_relative_to(tmp_path)
            assert folder.root.name == "skills"
    assert SkillFolder.of_agent("claude-code", home=tmp_path).root == tmp_path / ".claude" / "skills"
    assert SkillFolder.of_agent("gemini", home=tmp_path).root == tmp_path / ".gemini" / "skills"
    assert AGENT_FOLDERS["copilot"] == AGENT_FOLDERS["github-copilot"]
    with pytest.raises(TypeError):
        AGENT_FOLDERS["mine"] = AGENT_FOLDERS["codex"]


def test_the_documentation_names_each_agents_places():
    page = (ROOT / "docs" / "exporting.md").read_text(encoding="utf-8")

    for agent, places in AGENT_FOLDERS.items():
        assert f"| `{agent}` | `{places.project}/` | `{places.user}/` |" in page
