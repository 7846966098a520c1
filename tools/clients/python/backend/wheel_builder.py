"""Builds the package with Python's standard library alone (PEP 517, PEP 660), and leaves nothing in its folder.

The metadata is the table `project` of pyproject.toml, and the version that of the package.
"""

import base64
import hashlib
import io
import os
import pathlib
import re
import sys
import tarfile
import zipfile

FOLDER = pathlib.Path(__file__).resolve().parent.parent
SOURCE = FOLDER / "src"
TAG = "py3-none-any"
EPOCH = (1980, 1, 1, 0, 0, 0)  # of all files, so that equal sources make equal wheels


def _forget_bytecode():
    """Removes the bytecode that the import of this very file has left."""
    cached = globals().get("__cached__")
    if cached and os.path.exists(cached):
        os.remove(cached)
        if not os.listdir(os.path.dirname(cached)):
            os.rmdir(os.path.dirname(cached))


sys.dont_write_bytecode = True
_forget_bytecode()


def _project():
    table = (FOLDER / "pyproject.toml").read_text(encoding="utf-8").partition("[project]\n")[2].partition("\n[")[0]
    values = dict(re.findall(r'^([a-z-]+) = "(.*)"$', table, re.MULTILINE))
    source = (SOURCE / values["name"] / "version.py").read_text(encoding="utf-8")
    values["version"] = re.search(r'__version__ = "(.*)"', source)[1]
    return values


def _metadata(project):
    readme = (FOLDER / project["readme"]).read_text(encoding="utf-8")
    return (
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        f"Summary: {project['description']}\nLicense: MIT\nRequires-Python: {project['requires-python']}\n"
        f"Classifier: Typing :: Typed\nDescription-Content-Type: text/markdown\n\n{readme}"
    )


def _sources():
    """The package's files, by their names in the wheel."""
    for path in sorted(SOURCE.rglob("*")):
        if path.suffix == ".py" or path.name == "py.typed":
            yield path.relative_to(SOURCE).as_posix(), path.read_bytes()


def _write_wheel(folder, contents):
    project = _project()
    stem = f"{project['name']}-{project['version']}"
    info = f"{stem}.dist-info"
    files = dict(contents)
    files[f"{info}/METADATA"] = _metadata(project).encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: patchbay\nRoot-Is-Purelib: true\nTag: {TAG}\n".encode()
    record = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(data)}\n")
    files[f"{info}/RECORD"] = ("".join(record) + f"{info}/RECORD,,\n").encode()
    wheel = f"{stem}-{TAG}.whl"
    with zipfile.ZipFile(os.path.join(folder, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _write_wheel(wheel_directory, _sources())


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _write_wheel(wheel_directory, [(f"{_project()['name']}.pth", f"{SOURCE}\n".encode())])


def build_sdist(sdist_directory, config_settings=None):
    project = _project()
    stem = f"{project['name']}-{project['version']}"
    with tarfile.open(os.path.join(sdist_directory, f"{stem}.tar.gz"), "w:gz") as archive:
        for path in [FOLDER / "pyproject.toml", FOLDER / "README.md", FOLDER / "backend" / "wheel_builder.py", *SOURCE.rglob("*")]:
            if path.suffix in (".py", ".md", ".toml") or path.name == "py.typed":
                archive.add(path, f"{stem}/{path.relative_to(FOLDER).as_posix()}")
        data = _metadata(project).encode()
        info = tarfile.TarInfo(f"{stem}/PKG-INFO")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return f"{stem}.tar.gz"
