"""An environment of harbor without containers, and its agent `CursorCli` with a program that is already installed.

Each environment has namespaces of its own for mounts and processes, and the file system of this machine below a layer that
takes all changes. It needs root.
"""

import asyncio
import os
import pathlib
import shutil
import signal
import tempfile
from typing import override

from harbor.agents.installed.cursor_cli import CursorCli
from harbor.environments.base import BaseEnvironment, ExecResult

# Mounts the layer, makes it the root, and holds the namespaces until it is killed.
SETUP = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$LAYER"
mkdir "$LAYER/upper" "$LAYER/work" "$LAYER/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$LAYER/upper,workdir=$LAYER/work" "$LAYER/root"
cd "$LAYER/root"
mount -t proc proc proc
mount --rbind /dev dev
mount --rbind /sys sys
mount -t tmpfs -o mode=1777 tmpfs tmp
mkdir -p app logs/agent logs/verifier logs/artifacts tests
cp "$PROGRAM" usr/local/bin/cursor-agent
mkdir -p .old
pivot_root . .old
umount -l /.old
echo ready
exec sleep infinity
"""


class LocalEnvironment(BaseEnvironment):
    """A layer over the file system of this machine."""

    _holder: asyncio.subprocess.Process | None = None

    @staticmethod
    @override
    def type() -> str:
        return "local"

    @override
    def _validate_definition(self):
        """Every definition is accepted: there is no image to build."""

    @override
    async def start(self, force_build: bool) -> None:
        self._layer = tempfile.mkdtemp(prefix="harbor-")
        self._holder = await asyncio.create_subprocess_exec(
            *["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", SETUP],
            env={**os.environ, "LAYER": self._layer},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
        )
        if await self._holder.stdout.readline() != b"ready\n":
            raise RuntimeError("cannot create an environment without containers: it needs root and overlay mounts")
        children = pathlib.Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children").read_text()
        self._process = int(children.split()[0])

    @override
    async def stop(self, delete: bool):
        if self._holder and self._holder.returncode is None:
            self._holder.send_signal(signal.SIGKILL)
            await self._holder.wait()
            shutil.rmtree(self._layer, ignore_errors=True)

    def _path(self, path: str) -> pathlib.Path:
        """A path of the environment, as this process sees it."""
        return pathlib.Path(f"/proc/{self._process}/root", str(path).lstrip("/"))

    @override
    async def upload_file(self, source_path, target_path):
        self._path(target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source_path, self._path(target_path))

    @override
    async def upload_dir(self, source_dir, target_dir):
        shutil.copytree(source_dir, self._path(target_dir), dirs_exist_ok=True)

    @override
    async def download_file(self, source_path, target_path):
        pathlib.Path(target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(self._path(source_path), target_path)

    @override
    async def download_dir(self, source_dir, target_dir):
        shutil.copytree(self._path(source_dir), target_dir, dirs_exist_ok=True)

    @override
    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None) -> ExecResult:
        environment = {**os.environ, **self._persistent_env, **(env or {})}
        for overlay in self._exec_env_overlays.get():
            environment.update(overlay)
        process = await asyncio.create_subprocess_exec(
            *["nsenter", "--target", str(self._process), "--mount", "--pid", f"--wdns={cwd or '/app'}"],
            *["bash", "-c", command],
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        stdout, stderr = await asyncio.wait_for(process.communicate(), timeout_sec)
        return ExecResult(stdout=stdout.decode(), stderr=stderr.decode(), return_code=process.returncode)


class InstalledAgent(CursorCli):
    """The agent without the download of its program."""

    @override
    async def install(self, environment):
        await self.exec_as_agent(environment, command="cursor-agent --version")
