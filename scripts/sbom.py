"""What the library is made of, as a CycloneDX document: reads `cargo metadata`, writes JSON."""

import json
import sys


def packages_of(metadata: dict) -> list[dict]:
    """The packages that the library is built from, without those of tests."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    (root,) = (package["id"] for package in metadata["packages"] if package["name"] == "claude-ide-nvim")
    wanted, open_ = set(), [root]
    while open_:
        identifier = open_.pop()
        if identifier in wanted:
            continue
        wanted.add(identifier)
        for dependency in nodes[identifier]["deps"]:
            if any(kind["kind"] != "dev" for kind in dependency["dep_kinds"]):
                open_.append(dependency["pkg"])
    return sorted(
        (package for package in metadata["packages"] if package["id"] in wanted),
        key=lambda package: (package["name"], package["version"]),
    )


def component(package: dict) -> dict:
    """One package, as CycloneDX names it."""
    found = {
        "type": "library",
        "name": package["name"],
        "version": package["version"],
        "purl": f"pkg:cargo/{package['name']}@{package['version']}",
    }
    if package["license"]:
        found["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    return found


def main() -> None:
    """Metadata on standard input, the document on standard output."""
    metadata = json.load(sys.stdin)
    packages = packages_of(metadata)
    (own,) = (package for package in packages if package["name"] == "claude-ide-nvim")
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": component(own)},
        "components": [component(package) for package in packages if package is not own],
    }
    json.dump(document, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
