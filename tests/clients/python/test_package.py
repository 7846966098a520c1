"""The package: it is installed with pip alone and leaves nothing behind, and its types hold."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
FOLDER = ROOT / "tools/clients/python"


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


def listing(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


class Package(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="patchbay-package-"))
        self.addCleanup(shutil.rmtree, self.scratch)
        # Bytecode may be written, as by everybody who installs it.
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def copy(self):
        """The folder alone: no file beside it is needed."""
        return pathlib.Path(shutil.copytree(FOLDER, self.scratch / "checkout"))

    def test_install_with_pip_alone(self):
        checkout = self.copy()
        before = listing(checkout)
        venv.create(self.scratch / "venv", with_pip=True)
        python = self.scratch / "venv/bin/python"
        for options in ((), ("--editable",)):
            run(python, "-m", "pip", "install", "--no-index", "--no-deps", "--disable-pip-version-check", *options, checkout, env=self.environment)
            self.assertEqual(listing(checkout), before)
            told = run(python, "-B", "-c", "import patchbay; print(patchbay.__version__, patchbay.__file__)", env=self.environment).split()
            self.assertEqual(told[0], self.version())
            self.assertEqual(str(self.scratch / "venv") in told[1], options == ())
        run(python, "-m", "pip", "uninstall", "--yes", "patchbay", env=self.environment)

    def test_what_the_wheel_has(self):
        checkout = self.copy()
        build = "import wheel_builder as b, sys; print(b.build_wheel(sys.argv[1])); print(b.build_sdist(sys.argv[1]))"
        wheel, archive = run(sys.executable, "-c", build, self.scratch, env={**self.environment, "PYTHONPATH": str(checkout / "backend")}).split()
        run(sys.executable, "-m", "zipfile", "-t", self.scratch / wheel)
        names = [line.split()[0] for line in run(sys.executable, "-m", "zipfile", "-l", self.scratch / wheel).splitlines()[1:]]
        self.assertIn("patchbay/py.typed", names)
        self.assertEqual([name for name in names if "__pycache__" in name], [])
        sources = {f"patchbay/{path.name}" for path in (FOLDER / "src/patchbay").glob("*.py")}
        self.assertLessEqual(sources, set(names))
        # The contents of the archive can be installed again.
        run(sys.executable, "-m", "tarfile", "-e", self.scratch / archive, self.scratch / "again")
        (unpacked,) = (self.scratch / "again").iterdir()
        second = self.scratch / "second"
        second.mkdir()
        again = run(sys.executable, "-c", "import wheel_builder as b, sys; print(b.build_wheel(sys.argv[1]))", second, env={**self.environment, "PYTHONPATH": str(unpacked / "backend")}).strip()
        self.assertEqual((second / again).read_bytes(), (self.scratch / wheel).read_bytes())

    def test_version_is_the_hubs(self):
        project = re.search(r"project\(patchbay VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        self.assertEqual(self.version(), project)

    def test_types(self):
        self.assertIsNotNone(shutil.which("mypy"), "mypy is missing: tools/setup test installs it")
        for target in ("3.9", "3.12"):
            where = ["--cache-dir", self.scratch / "mypy", "--python-version", target]
            run("mypy", "--strict", *where, "-p", "patchbay", env={**self.environment, "MYPYPATH": str(FOLDER / "src")}, cwd=self.scratch)
            run("mypy", "--strict", *where, HERE / "sample.py", env={**self.environment, "MYPYPATH": str(FOLDER / "src")}, cwd=self.scratch)

    def test_sample_uses_every_function(self):
        sample = (HERE / "sample.py").read_text()
        functions = re.findall(r"^    (?:async )?def ([a-z][a-z_]*)\(", (FOLDER / "src/patchbay/hub.py").read_text(), re.MULTILINE)
        self.assertGreater(len(functions), 10)
        for name in {*functions, "progress"}:
            self.assertRegex(sample, rf"\.{name}\b")

    @staticmethod
    def version():
        return re.search(r'"(.*)"', (FOLDER / "src/patchbay/version.py").read_text())[1]


if __name__ == "__main__":
    unittest.main()
