"""Prints the SPDX 2.3 list of a version: its files, and the packages that ChatFS is linked with or loads."""

import hashlib
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LICENSE = "GPL-3.0-or-later"
# Licenses of linked and loaded libraries, by the beginning of the package's name.
LICENSES = {
    "libfuse3": "LGPL-2.1-only", "libsodium": "ISC", "libssl": "Apache-2.0", "libnghttp2": "MIT",
    "libsqlite3": "blessing", "libc6": "LGPL-2.1-or-later", "libgcc": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libstdc++": "GPL-3.0-or-later WITH GCC-exception-3.1", "libarchive": "BSD-2-Clause",
    "libdbus": "AFL-2.1 OR GPL-2.0-or-later", "libgcrypt": "LGPL-2.1-or-later", "libgdk-pixbuf": "LGPL-2.1-or-later",
    "libqrencode": "LGPL-2.1-or-later", "libsecret": "LGPL-2.1-or-later", "libzstd": "BSD-3-Clause",
    "webp-pixbuf-loader": "LGPL-2.0-or-later", "fuse3": "GPL-2.0-only", "zlib1g": "Zlib",
}


def identifier(text):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", text)


def license_of(name):
    return next((license for start, license in LICENSES.items() if name.startswith(start)), "NOASSERTION")


def needed(archive):
    """Names of packages that a package depends on or recommends."""
    text = subprocess.run(["dpkg-deb", "--field", archive, "Depends", "Recommends"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    fields = [line.split(":", 1)[1] for line in text.splitlines() if ":" in line]
    return {re.split(r"[ (|:]", need.strip())[0] for field in fields for need in field.split(",") if need.strip()}


def package(name, version=None, license="NOASSERTION"):
    entry = {"name": name, "SPDXID": identifier("package-" + name), "downloadLocation": "NOASSERTION",
             "filesAnalyzed": False, "licenseConcluded": license, "licenseDeclared": license,
             "copyrightText": "NOASSERTION"}
    if version:
        entry["versionInfo"] = version
    return entry


def file_entry(path):
    content = path.read_bytes()
    return {"fileName": "./" + path.name, "SPDXID": identifier("file-" + path.name), "licenseConcluded": LICENSE,
            "copyrightText": "NOASSERTION",
            "checksums": [{"algorithm": name, "checksumValue": hashlib.new(name.lower(), content).hexdigest()}
                          for name in ("SHA1", "SHA256")]}


def main(version, commit, folder):
    files = sorted(path for path in pathlib.Path(folder).iterdir()
                   if path.suffix in (".deb", ".xz") and "dbgsym" not in path.name)
    names = set().union(*(needed(path) for path in files if path.name.startswith("chatfs_")))
    own = package("chatfs", f"{version} ({commit})", LICENSE)
    others = [package(name, None, license_of(name)) for name in sorted(names)]
    others.append(package("swift-standard-library", None, "Apache-2.0 WITH Swift-exception"))
    created = subprocess.run(["git", "log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", commit],
                             cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, env={"TZ": "UTC"}).stdout.strip()
    related = [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    related += [(own["SPDXID"], "DEPENDS_ON", other["SPDXID"]) for other in others]
    related += [(own["SPDXID"], "CONTAINS", identifier("file-" + path.name)) for path in files]
    print(json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"chatfs-{version}", "documentNamespace": f"https://spdx.org/spdxdocs/chatfs-{version}-{commit}",
        "creationInfo": {"created": created, "creators": ["Organization: The ChatFS authors", "Tool: spdx.py"]},
        "packages": [own] + others, "files": [file_entry(path) for path in files],
        "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
                          for a, kind, b in related],
    }, indent=2))


main(*sys.argv[1:])
