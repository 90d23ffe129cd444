"""An image for kernels, made of this machine's own Python without any network: `python -m
tests.coding.kernel_image` prints its name. A Docker or podman that is here has it then.

It holds this Python, what a kernel needs and what its code may import, a shell and a few programs.
"""

from __future__ import annotations

import importlib.metadata
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from packaging.requirements import Requirement

from agentkit.coding.engine import call, engine

PACKAGES = ("ipykernel", "jupyter_client", "pandas", "numpy", "matplotlib", "altair", "pillow")
PROGRAMS = ("sh", "env", "cat", "grep", "id", "ls", "sleep", "true", "echo", "kill", "unshare")
NEEDED = "Install Docker or podman, and let its service run, so that kernels are tried in it."
_LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
_SPACES = {"tmp": 0o1777, "proc": 0o555, "sys": 0o555, "dev": 0o755, "etc": 0o755, "run": 0o755}
_LEFT_OUT = re.compile(r"/(__pycache__|test|tests|idlelib|tkinter|ensurepip|site-packages)(/|$)")
_LIBRARY = re.compile(r"(/\S+) \(0x")


def make_image() -> str:
    """The name of the image, which is made if it is not there.

    Raises AssertionError where there is no engine, or it does not take the image.
    """
    program = engine()
    assert program is not None, NEEDED
    packages = find_packages()
    versions = [f"{one}={importlib.metadata.version(one)}" for one in packages]
    told = "\n".join([sys.version, *versions, *PROGRAMS])
    name = f"localhost/agentkit-kernel:{sha256(told.encode()).hexdigest()[:12]}"
    if not call(program, "image", "inspect", name)[0]:
        return name
    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder, "image.tar")
        pack(packed, packages)
        path = f"ENV PATH={Path(sys.prefix).resolve()}/bin:/usr/bin"
        code, said = call(program, "import", "--change", path, str(packed), name)
    assert code == 0, said
    return name


def find_packages() -> list[str]:
    """The packages, and all that they need."""
    found = list(PACKAGES)
    for name in found:
        for line in importlib.metadata.requires(name) or ():
            needed = Requirement(line)
            is_new = needed.name.lower() not in [one.lower() for one in found]
            if is_new and (needed.marker is None or needed.marker.evaluate({"extra": ""})):
                found.append(needed.name)
    return sorted(found)


def pack(path: Path, packages: Iterable[str]) -> None:
    """Write the root of such a system into a tar."""
    places = set(list_python())
    for name in packages:
        files = importlib.metadata.files(name) or ()
        places.update(Path(os.path.normpath(one.locate())) for one in files)
    places.update(Path(str(shutil.which(program))) for program in PROGRAMS)
    kept = {place for place in places if place.is_file() and "__pycache__" not in place.parts}
    kept.update(find_libraries(kept))
    with tarfile.open(path, "w") as packed:
        for name, target in _LINKS.items():
            _add_link(packed, name, target)
        for name, mode in _SPACES.items():
            _add_folder(packed, name, mode)
        for name, place in {_name_of(one): one for one in sorted(kept)}.items():
            packed.add(place.resolve(), name, recursive=False)
        _add_environment(packed)


def list_python() -> Iterator[Path]:
    """Files of the Python that runs here: its program and its library."""
    yield Path(sys.executable).resolve()
    for folder, _, names in os.walk(os.path.dirname(os.__file__)):
        if not _LEFT_OUT.search(folder):
            yield from [Path(folder, name) for name in names]


def find_libraries(files: Iterable[Path]) -> set[Path]:
    """The shared libraries that programs and modules among these files load."""
    loading = [str(one) for one in files if ".so" in one.name or os.access(one, os.X_OK)]
    told = subprocess.run(["ldd", *loading], capture_output=True, text=True, check=False).stdout
    return {Path(found) for found in _LIBRARY.findall(told)}


def _name_of(place: Path) -> str:
    """Where a file stands in the image: in the folder that links to its own lead to."""
    return str(place.parent.resolve() / place.name).lstrip("/")


def _add_environment(packed: tarfile.TarFile) -> None:
    """The virtual environment that this Python runs in."""
    prefix = str(Path(sys.prefix).resolve()).lstrip("/")
    _add_link(packed, f"{prefix}/bin/python", str(Path(sys.executable).resolve()))
    told = Path(sys.prefix, "pyvenv.cfg").read_bytes()
    settings = tarfile.TarInfo(f"{prefix}/pyvenv.cfg")
    settings.size = len(told)
    packed.addfile(settings, io.BytesIO(told))


def _add_link(packed: tarfile.TarFile, name: str, target: str) -> None:
    link = tarfile.TarInfo(name)
    link.type, link.linkname = tarfile.SYMTYPE, target
    packed.addfile(link)


def _add_folder(packed: tarfile.TarFile, name: str, mode: int) -> None:
    folder = tarfile.TarInfo(name)
    folder.type, folder.mode = tarfile.DIRTYPE, mode
    packed.addfile(folder)


if __name__ == "__main__":
    sys.stdout.write(f"{make_image()}\n")
