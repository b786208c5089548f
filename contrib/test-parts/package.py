"""The package's targets, as `swift package dump-package` prints them."""

import json
import pathlib
import subprocess


class Package:
    @classmethod
    def read(cls, root):
        # A folder of its own: a build elsewhere locks its folder for as long as it takes.
        printed = subprocess.run(["swift", "package", "--scratch-path", ".build/manifest", "dump-package"], cwd=root,
                                 check=True, stdout=subprocess.PIPE)
        return cls(root, json.loads(printed.stdout)["targets"])

    def __init__(self, root, targets):
        self.root = pathlib.Path(root)
        self.needs = {target["name"]: [need["byName"][0] for need in target["dependencies"]] for target in targets}
        self.tests = [target["name"] for target in targets if target["type"] == "test"]
        self._folders = {target["name"]: target.get("path") or self._usual_folder(target) for target in targets}

    @staticmethod
    def _usual_folder(target):
        return ("Tests/" if target["type"] == "test" else "Sources/") + target["name"]

    def closure(self, target):
        """The target and everything that it depends on."""
        found, open_targets = set(), [target]
        while open_targets:
            name = open_targets.pop()
            if name not in found:
                found.add(name)
                open_targets += self.needs[name]
        return found

    def sources(self, target):
        return list((self.root / self._folders[target]).rglob("*.swift"))

    def tests_concerning(self, changed_files):
        """The test targets that a change of these files (paths from the root) may make fail."""
        if any(path in ("Package.swift", ".ci/run") or path.startswith("contrib/test") for path in changed_files):
            return self.tests
        concerned = set()
        for path in changed_files:
            owner = self._owner(path)
            if owner is not None:
                concerned |= {test for test in self.tests if owner in self.closure(test)}
            else:
                concerned |= self._tests_naming(pathlib.PurePath(path))
        return [test for test in self.tests if test in concerned]

    def _owner(self, path):
        for target, folder in self._folders.items():
            if path.startswith(folder + "/"):
                return target
        return None

    def _tests_naming(self, path):
        """The test targets whose sources name the file, or a folder above it as a whole string, as those that compare
        documents with the code do."""
        names = [path.name] + [f'"{folder}"' for folder in path.parents if "/" in str(folder)]
        return {
            test for test in self.tests
            if any(name in file.read_text() for file in self.sources(test) for name in names)
        }
