"""The documents agree with the working copy: what they name exists, and what they index is complete.

The test checks the index of ADRs, the paths in CONTRIBUTING.md, `make` targets in all documents, and relative links
with their anchors. Anchors are formed as code hosts form them: in lower case, without punctuation, blanks as hyphens.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import yaml

from benchmarks.__main__ import MEASURES
from benchmarks.report import sections

ROOT: Final = Path(__file__).parents[2]
DOCUMENTS: Final = sorted(
    str(file.relative_to(ROOT))
    for file in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"))
)
_FENCE: Final = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_SPAN: Final = re.compile(r"`[^`\n]+`")
_LINK: Final = re.compile(r"\]\(([^()\s]+)\)")
_HEADING: Final = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_MAKE: Final = re.compile(r"(?:^|[`&;]) *make ([a-z][a-z-]*)", re.MULTILINE)
#: A path below one of the working copy's folders; NAME and NNNN stand for what the reader chooses.
_PATH: Final = re.compile(
    r"(?<![\w./-])((?:wire|engine|server|tests|docs|scripts|benchmarks|deploy|\.ci)/[\w./-]*[\w/]|\.devcontainer|\.pre-commit-config\.yaml)"
)
_CHOSEN: Final = re.compile(r"NAME|NNNN")
_PACKAGES: Final = ("wire", "engine", "server")


def _text(document: str) -> str:
    return (ROOT / document).read_text()


def _code(text: str) -> str:
    """Fenced blocks and code spans, a line each."""
    return "\n".join([*_FENCE.findall(text), *_SPAN.findall(_FENCE.sub("", text))])


def _anchors(text: str) -> set[str]:
    headings = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(_FENCE.sub("", text)))
    return {heading.replace(" ", "-") for heading in headings}


def _targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):(?!=)", _text("Makefile"), re.MULTILINE))


def _broken_links(document: str) -> Iterator[str]:
    text = _text(document)
    for link in _LINK.findall(_SPAN.sub("", _FENCE.sub("", text))):
        if ":" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (ROOT / document).parent / name if name else ROOT / document
        if not target.exists() or (anchor and anchor not in _anchors(target.read_text())):
            yield link


def test_the_index_lists_every_adr_with_its_title() -> None:
    listed = re.findall(r"^\| \[(\d+)\]\((\d{4}-[\w-]+\.md)\) \| (.+?) \|", _text("docs/adr/README.md"), re.MULTILINE)
    files = sorted(file for file in (ROOT / "docs" / "adr").glob("*.md") if file.name != "README.md")
    there = []
    for file in files:
        number, title = re.findall(r"\A# ADR (\d+): (.+)$", file.read_text(), re.MULTILINE)[0]
        assert file.name.startswith(f"{int(number):04}-"), file.name
        there.append((number, file.name, title))
    assert listed == there


def test_every_path_in_contributing_exists() -> None:
    paths = {path for path in _PATH.findall(_text("CONTRIBUTING.md")) if not _CHOSEN.search(path)}
    assert len(paths) > 40
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_of_code_exists(document: str) -> None:
    paths = set(re.findall(r"`((?:engine|server|wire)/[\w/]+(?:\.py)?)`", _text(document)))
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_make_target_exists(document: str) -> None:
    named = set(_MAKE.findall(_code(_text(document))))
    assert named - _targets() == set()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_leads_somewhere(document: str) -> None:
    assert list(_broken_links(document)) == []


def test_every_section_of_the_benchmarks_page_can_be_measured_again() -> None:
    """`python -m benchmarks NAME --write` replaces a section by the name that the page has for it."""
    page = _text("docs/benchmarks.md")
    assert list(sections(page)) == re.findall("^<!-- measure: (.+) -->$", page, re.MULTILINE)
    assert sections(page).keys() <= {measure.name for measure in MEASURES}


def test_configuration_of_editors_and_hooks_is_read() -> None:
    container = json.loads(_text(".devcontainer/devcontainer.json"))
    assert container["forwardPorts"] == [5432, 8432]
    (local,) = yaml.safe_load(_text(".pre-commit-config.yaml"))["repos"]
    assert local["repo"] == "local"
    assert {hook["language"] for hook in local["hooks"]} == {"system"}


def _code_of_the_product() -> str:
    return "\n".join(
        path.read_text() for package in ("wire", "engine", "server") for path in (ROOT / package).rglob("*.py")
    )


def test_the_glossary_is_the_codes() -> None:
    terms, banned = _text("docs/glossary.md").split("## Banned words")
    words = set(re.findall(r"\w+", _code_of_the_product()))
    named = re.findall(r"^\| `(\w+)` \|", terms, re.MULTILINE)
    assert len(named) >= 20
    assert [term for term in named if term not in words] == []
    assert [word for word in re.findall(r"`(\w+)`", banned) if word in words] == []


#: The rooms that change files of tables, and the modules in them that change other files: of a backup, of SQLite's.
_TABLE_WRITERS: Final = (
    "engine/storage", "engine/writers", "engine/lakes", "engine/catalog/store", "engine/statements/dml",
    "engine/statements/ddl", "engine/statements/maintenance",
)  # fmt: skip
_OTHER_FILES: Final = {
    "engine/storage/disk.py",
    "engine/storage/file_copies.py",
    "engine/catalog/store/backup.py",
    "engine/catalog/store/sqlite_connections.py",
}
_PATH_CHANGES: Final = {
    "mkdir", "unlink", "rmdir", "rename", "replace", "touch", "symlink_to", "hardlink_to", "write_text", "write_bytes",
    "makedirs", "removedirs", "remove", "rmtree", "move", "copy", "copyfile", "copytree", "utime", "truncate", "link",
    "symlink", "new_file", "OSFile", "output_stream",
}  # fmt: skip
#: Whose functions of these names change files.
_FILE_MODULES: Final = {"os", "shutil", "pa", "pa.ipc"}
#: These names are of paths only.
_OF_PATHS: Final = {"mkdir", "unlink", "rmdir", "symlink_to", "hardlink_to", "write_text", "write_bytes"}
_PATH_NAMES: Final = re.compile(
    r"(?:\w+\.)*_?(?:\w*path|folder|file|source|target|staged|area|root|parent)|Path\(.*\)|.* / .*"
)


def _changes_a_file(call: ast.Call) -> bool:
    """Whether a call changes files without the disk of `engine.storage.disk`."""
    match call.func:
        case ast.Name(id="open") | ast.Attribute(attr="open"):
            modes = [argument.value for argument in call.args[-1:] if isinstance(argument, ast.Constant)]
            return any(
                isinstance(mode, str) and re.fullmatch(r"[rwxab+t]+", mode) and mode.strip("rbt") for mode in modes
            )
        case ast.Attribute(value=owner, attr=name) if name in _PATH_CHANGES:
            whose = ast.unparse(owner)
            if whose in _FILE_MODULES:
                # A file that the disk has created is no path; a file that is only read has no mode.
                is_of_disk = name == "new_file" and "sink" in ast.unparse(call.args[0])
                return not is_of_disk and (name != "OSFile" or len(call.args) > 1)
            return whose != "tables" and (name in _OF_PATHS or _PATH_NAMES.fullmatch(whose) is not None)
    return False


@pytest.mark.parametrize(
    "code",
    ["path.parent.mkdir(parents=True)", "self._path.unlink()", "Path(name).unlink(missing_ok=True)", "os.replace(a, b)",
     "path.rename(area / name)", "shutil.rmtree(folder)", 'path.open("xb")', 'open(path, "a")', "folder.touch()",
     "pa.ipc.new_file(str(path), schema)", 'pa.OSFile(str(path), "wb")'],
)  # fmt: skip
def test_a_change_of_a_file_is_recognised(code: str) -> None:
    assert _changes_a_file(ast.parse(code, mode="eval").body)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "code",
    ["disk.current_disk().rename(staged, path)", "disk.current_disk().touch(path)", "tables.unlink(folder, files)",
     'path.open("rb")', "pa.OSFile(str(path))", "pa.ipc.new_file(self._sink, schema)", "os.listdir(folder)"],
)  # fmt: skip
def test_what_changes_no_file_is_not(code: str) -> None:
    assert not _changes_a_file(ast.parse(code, mode="eval").body)  # type: ignore[arg-type]


def test_types_are_prepared_before_threads_decode_them() -> None:
    """msgspec prepares a type when it is named for the first time. Two threads that do so at once crash the process
    (msgspec 0.22), so each type has a decoder, which is made when its module is imported.
    """
    late = [
        f"{file.relative_to(ROOT)}:{call.lineno}"
        for package in _PACKAGES
        for file in sorted((ROOT / package).rglob("*.py"))
        for call in ast.walk(ast.parse(file.read_text()))
        if isinstance(call, ast.Call)
        and ast.unparse(call.func) in ("msgspec.json.decode", "msgspec.msgpack.decode", "msgspec.convert")
        and any(argument.arg == "type" for argument in call.keywords)
    ]
    assert late == []


def test_files_of_tables_are_changed_through_the_disk() -> None:
    """Else the simulation could not make these changes fail, nor stop a process between them."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for room in _TABLE_WRITERS
        for path in sorted((ROOT / room).rglob("*.py"))
        if str(path.relative_to(ROOT)) not in _OTHER_FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and _changes_a_file(node)
    ]
    assert found == []


def _imported(path: Path) -> set[str]:
    found = set[str]()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def _modules_tested(path: Path) -> set[str] | None:
    """The modules of ours that a test file imports, or that its helpers do; None: it asks a member and imports none itself."""
    own = _imported(path)
    if not any(name.split(".")[0] in _PACKAGES for name in own) or "support.local_member" in own:
        return None
    helpers = [ROOT / "tests" / f"{name.replace('.', '/')}.py" for name in own if name.startswith("support.")]
    return own.union(*(_imported(helper) for helper in helpers if helper.exists()))


@pytest.mark.parametrize("package", _PACKAGES)
def test_unit_tests_mirror_the_packages(package: str) -> None:
    """Each is in the folder of a package that exists, and imports a module of it, or one of a package within."""
    misplaced = []
    for path in sorted((ROOT / "tests" / "unit" / package).rglob("test_*.py")):
        folder = path.parent.relative_to(ROOT / "tests" / "unit")
        mirrored = ".".join(folder.parts)
        tested = _modules_tested(path)
        is_there = tested is None or any(name == mirrored or name.startswith(f"{mirrored}.") for name in tested)
        if not is_there or not (ROOT / folder).is_dir():
            misplaced.append(f"{path.relative_to(ROOT)} is in the folder of {mirrored}, and tests nothing there")
    assert misplaced == []
