"""Keeps files that git does not track out of wheels and source archives: hatchling alone would pack them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class TrackedFiles(BuildHookInterface):
    """Refuses to build while there are untracked files that would be packed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before a build; an editable install packs nothing."""
        del build_data
        if version == "editable" or not (Path(self.root) / ".git").exists():  # a source archive has no .git
            return
        command = ["git", "ls-files", "--others", "--exclude-standard"]
        try:
            done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            self.app.display_warning(f"cannot ask git for untracked files, they may be packed: {error}")
            return
        if untracked := done.stdout.split("\n")[:-1]:
            raise RuntimeError(
                f"git does not track {', '.join(untracked[:10])}{' and others' * (len(untracked) > 10)}: add them, or "
                "remove them, or they would be packed"
            )
