"""A stand-in for GitHub's `gh`: a release is the folder `published`. The command that the file `fails` names fails."""

import os
import shutil
import sys
from pathlib import Path

home, words = Path(sys.argv[1]), sys.argv[2:]
published = home / "published"
with (home / "asked").open("a") as asked:
    asked.write(" ".join(words) + "\n")
fails = home / "fails"
command = words[2] if words[0] == "api" else words[1]
if fails.exists() and fails.read_text() == command:
    sys.exit(f"gh: HTTP 502 for {command}")

match words:
    case ["release", "view", _]:
        sys.exit(0 if published.exists() else 1)
    case ["release", "view", _, "--json", "assets", "--jq", _]:
        for path in sorted(published.iterdir()):
            print(path.name, f"https://api/assets/{path.name}")
    case ["release", "create", *_]:
        published.mkdir()
    case ["release", "download", _, "--dir", folder, "--pattern", name]:
        shutil.copy(published / name, folder)
    case ["release", "upload", _, "--clobber", "--", *names]:
        for name in names:
            shutil.copy(name, published)
    case ["release", "delete-asset", _, name, "--yes"]:
        (published / name).unlink()
    case ["api", "--method", "DELETE", url]:
        (published / os.path.basename(url)).unlink()
    case ["api", "--method", "PATCH", url, "-f", new]:
        (published / os.path.basename(url)).rename(published / new.removeprefix("name="))
    case _:
        sys.exit(f"gh: unknown command {words}")
