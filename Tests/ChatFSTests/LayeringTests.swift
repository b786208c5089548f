import Glibc
import Posix
import TestSupport
import Testing

/// The package manager permits imports of undeclared siblings. This test compares the imports with the dependencies in
/// Package.swift.
@Suite("Layers")
struct LayeringTests {
    /// Modules of the toolchain. `Foundation` is excluded, because it doubles start time and memory;
    /// `FoundationEssentials` is for small JSON, in one file per target.
    static let toolchain: Set<String> = [
        "Swift", "Glibc", "Synchronization", "Testing", "FoundationEssentials", "_StringProcessing",
    ]

    /// The repository, searched upwards from the test bundle or this file.
    static let root: String = {
        var parts = #filePath.split(separator: "/")
        parts.removeLast(3)
        return "/" + parts.joined(separator: "/")
    }()

    struct Module: Sendable {
        var folder: String
        var uses: Set<String>
    }

    /// Targets declared in the manifest, parsed from its lines `module("Name", uses: ["A", "B"])` and the lists of
    /// executables.
    static func modules() throws -> [String: Module] {
        let manifest = try text("Package.swift")
        var modules: [String: Module] = [:]
        for match in manifest.matches(of: /module\(\s*"(\w+)",\s*uses: \[([^\]]*)\]\s*\)/) {
            modules[String(match.1)] = Module(folder: "Sources/\(match.1)", uses: names(match.2))
        }
        for match in manifest.matches(
            of: /executableTarget\(\s*name: "([\w-]+)",\s*dependencies: \[([^\]]*)\]/)
        {
            modules[String(match.1)] = Module(folder: "Sources/\(match.1)", uses: names(match.2))
        }
        return modules
    }

    private static func names(_ list: Substring) -> Set<String> {
        Set(list.matches(of: /"([\w-]+)"/).map { String($0.1) })
    }

    static func text(_ path: String) throws -> String {
        let file = try OpenFile(root + "/" + path, flags: O_RDONLY)
        return String(decoding: try file.readAll(limit: 4 << 20), as: UTF8.self)
    }

    /// Modules imported by the files of a folder.
    static func imports(in folder: String) throws -> [(module: String, file: String)] {
        try swiftFiles(in: folder).flatMap { file in
            try text(file).matches(
                of:
                    /(?m)^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:public |internal |package |private |fileprivate )?import (?:struct |class |enum |func |protocol |typealias |var )?(\w+)/
            ).map { (String($0.1), file) }
        }
    }

    static func swiftFiles(in folder: String) throws -> [String] {
        let directory = try OpenFile(root + "/" + folder, flags: O_RDONLY)
        return try PrivateFolder.names(in: directory).flatMap { name -> [String] in
            let path = folder + "/" + name
            if name.hasSuffix(".swift") { return [path] }
            var status = stat()
            guard lstat(root + "/" + path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
                return []
            }
            return try swiftFiles(in: path)
        }
    }

    @Test("imports are declared dependencies")
    func declared() throws {
        let modules = try Self.modules()
        #expect(modules.count >= 18, "the manifest was not understood")
        for (name, module) in modules {
            let imports = try Self.imports(in: module.folder)
            for (imported, file) in imports where !Self.toolchain.contains(imported) {
                #expect(
                    module.uses.contains(imported),
                    "\(file) imports \(imported), which \(name) does not declare")
            }
        }
    }

    @Test("declared dependencies are imported")
    func needed() throws {
        for (name, module) in try Self.modules() {
            let imported = Set(try Self.imports(in: module.folder).map(\.module))
            #expect(
                module.uses.subtracting(imported).isEmpty,
                "\(name) declares \(module.uses.subtracting(imported).sorted()) without using it")
        }
    }

    @Test("dependencies have no cycle")
    func direction() throws {
        let modules = try Self.modules()
        var done: Set<String> = []
        var left = modules
        while !left.isEmpty {
            let ready = left.filter { $0.value.uses.allSatisfy { modules[$0] == nil || done.contains($0) } }
            try #require(!ready.isEmpty, "a cycle among \(left.keys.sorted())")
            for name in ready.keys {
                done.insert(name)
                left[name] = nil
            }
        }
    }

    @Test("only outer modules use C libraries")
    func libraries() throws {
        let allowed = [
            "CFuse3": ["Fuse"], "CSQLite": ["Store", "SealedPages"], "CNghttp2": ["Network"],
            "CSodium": ["Cryptography"], "CToml": ["Configuration"], "CZlib": ["XFTP"],
            // The measurements use ciphers directly.
            "COpenSSL": ["Cryptography", "Network", "chatfs-bench"],
        ]
        for (name, module) in try Self.modules() {
            for library in module.uses where allowed[library] != nil {
                #expect(allowed[library]?.contains(name) == true, "\(name) uses \(library)")
            }
        }
    }

    @Test("FoundationEssentials stays in one file per target")
    func foundation() throws {
        for (name, module) in try Self.modules() {
            let files = try Self.imports(in: module.folder).filter { $0.module == "FoundationEssentials" }
            #expect(files.count <= 1, "\(name): \(files.map(\.file))")
        }
    }

    @Test("the target table matches Package.swift")
    func table() throws {
        var documented: [String: Set<String>] = [:]
        for row in try DeveloperPages.table("generated/targets.md") {
            let uses = row[1].split(separator: " ").filter { $0 != "–" }.map(String.init)
            documented[DeveloperPages.words(row[0])[0]] = Set(uses)
        }
        let declared = try Self.modules().mapValues(\.uses)
        #expect(documented == declared)
    }
}
