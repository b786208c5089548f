import Base
import Glibc
import Posix
import TestSupport
import Testing

@Suite("Developer pages agree with the source")
struct DeveloperPagesTests {
    @Test("every named source file exists")
    func files() throws {
        // Pages name files of tests and contrib by full path, files of the program relative to Sources.
        let path = /`([A-Za-z][A-Za-z+\/-]*\/[A-Za-z+]+\.swift)`/
        var count = 0
        for page in try DeveloperPages.pages() {
            for named in try DeveloperPages.text(page).matches(of: path).map({ $0.1 }) {
                count += 1
                let exists = ["/", "/Sources/"].contains {
                    access(LayeringTests.root + $0 + named, F_OK) == 0
                }
                #expect(exists, "\(page) names \(named)")
            }
        }
        #expect(count >= 15, "the pages were not understood")
    }

    @Test("every named type exists")
    func types() throws {
        let pages = try ["docs/dev", "docs/reference", "docs/security", "docs/user"].flatMap {
            try DeveloperPages.pages(in: $0)
        }
        let paths = try LayeringTests.swiftFiles(in: "Sources") + LayeringTests.swiftFiles(in: "Tests")
        let declarations = try SourceDeclaration.all(in: paths)
        var known = Set(declarations.filter { $0.kind != .extension }.map(\.name))
        // Targets and folders count too, and parts of types by their files.
        for path in paths { known.formUnion(path.split { "/+.".contains($0) }.map(String.init)) }
        known.formUnion(
            try PrivateFolder.names(in: OpenFile(LayeringTests.root + "/Sources", flags: O_RDONLY)))
        // The manifest, the module that is not used, a button.
        known.formUnion(LayeringTests.toolchain.union(["Package", "Foundation", "Approve"]))
        var count = 0
        for page in pages {
            let named = Set(
                try DeveloperPages.text(page).matches(of: /`([A-Z][A-Za-z]*[a-z][A-Za-z]*)[`.(]/)
                    .map { String($0.1) })
            count += named.count
            #expect(named.subtracting(known) == [], "\(page)")
        }
        #expect(count > 400, "the pages were not understood")
    }

    @Test("links between developer pages lead to headings")
    func links() throws {
        for page in try DeveloperPages.pages() {
            let folder = page.split(separator: "/").dropLast().map(String.init)
            for link in try DeveloperPages.text(page).matches(of: /\]\(([^)#:]*)(?:#([^)]*))?\)/) {
                var parts = link.1.isEmpty ? page.split(separator: "/").map(String.init) : folder
                for part in link.1.split(separator: "/") {
                    if part == ".." { parts.removeLast() } else { parts.append(String(part)) }
                }
                let target = parts.joined(separator: "/")
                guard target.hasPrefix("docs/dev") else { continue }
                guard access(LayeringTests.root + "/" + target, F_OK) == 0 else {
                    Issue.record("\(page) links to \(target)")
                    continue
                }
                guard let fragment = link.2 else { continue }
                let fragments = try DeveloperPages.fragments(of: target)
                #expect(fragments.contains(String(fragment)), "\(page) links to \(target)#\(fragment)")
            }
        }
    }

    @Test("no developer page is longer than 10 KiB")
    func lengths() throws {
        for page in try DeveloperPages.pages() {
            #expect(try DeveloperPages.text(page).utf8.count <= 10 << 10, "\(page)")
        }
    }

    @Test("contrib/generate-docs has nothing to change")
    func generated() async throws {
        let outcome = try await Shell.run(
            "python3", ["-B", LayeringTests.root + "/contrib/generate-docs", "--check"], limit: .seconds(120))
        #expect(outcome.succeeded, "\(outcome.errors)")
    }

    @Test("the thread table matches the source")
    func threads() throws {
        let source = try SourceDeclaration.programFiles().map(DeveloperPages.text).joined(separator: "\n")
        let pools = source.matches(of: /ThreadPool\(\s*name: "([a-z-]+)", threads: ([0-9]*)/)
        let named = Set(
            source.matches(of: /Thread\.(?:start|begin)\(\s*"([a-z-]+)"/).map { String($0.1) }
                + source.matches(of: /threads: \("([a-z-]+)", "([a-z-]+)"\)/).flatMap {
                    ["\($0.1)", "\($0.2)"]
                }
                + pools.map { String($0.1) })
        #expect(named.count > 30 && pools.count > 10, "the source was not understood")
        let cells = try DeveloperPages.table("generated/threads.md").map { $0[0] }
        let inTable = cells.flatMap { $0.matches(of: /`([a-z-]+)`/).map { String($0.1) } }
        #expect(Set(inTable) == named)
        #expect(inTable.count == Set(inTable).count, "a name is in two rows")
        for pool in pools where !pool.2.isEmpty {
            let isRight = cells.contains { $0.contains("`\(pool.1)`, \(pool.2)") }
            #expect(isRight, "\(pool.1) has \(pool.2) threads")
        }
        // Threads without a name of ours.
        let others = cells.filter { !$0.contains("`") }
            .map { $0.prefix { $0 != "," }.split(separator: " ").joined(separator: " ") }
        #expect(others == ["main", "Swift's cooperative pool"])
    }

    @Test("the lock table matches the ranks")
    func mutexes() throws {
        let rows = try DeveloperPages.table("generated/lock-ranks.md")
        #expect(rows.map { DeveloperPages.words($0[0]) } == MutexRank.allCases.map { ["\($0)"] })
        // For each rank, the declarations of the files that give it to a mutex.
        var files: [String: [Set<String>]] = [:]
        for path in try LayeringTests.swiftFiles(in: "Sources") where !path.contains("/Base/") {
            let text = try DeveloperPages.text(path)
            let ranks = Set(text.matches(of: /(?:rank: |LockClass\()\.([a-zA-Z]+)/).map { String($0.1) })
            guard !ranks.isEmpty else { continue }
            let declared = Set(try SourceDeclaration.all(in: [path]).map(\.name))
            for rank in ranks { files[rank, default: []].append(declared) }
        }
        // Two ranks are defaults and never given explicitly.
        #expect(
            Set(files.keys) == Set(MutexRank.allCases.map { "\($0)" }).subtracting(["operation", "leaf"]))
        for row in rows {
            guard let owners = files[DeveloperPages.words(row[0])[0]] else { continue }
            let named = Set(DeveloperPages.words(row[1]))
            #expect(owners.allSatisfy { !$0.isDisjoint(with: named) }, "one is missing in \(row)")
            #expect(
                named.allSatisfy { type in owners.contains { $0.contains(type) } },
                "one is too much in \(row)")
        }
    }

    @Test("every folder is listed on a page")
    func folders() throws {
        let lines = try DeveloperPages.pages().filter { !$0.contains("/generated/") }
            .flatMap { try DeveloperPages.text($0).split(separator: "\n") }
            .map { Set(DeveloperPages.words($0)) }
        let folders = Set(
            try SourceDeclaration.programFiles().compactMap { path -> [Substring]? in
                let names = path.split(separator: "/")
                return names.count > 3 ? [names[1], names[2]] : nil
            })
        #expect(folders.count > 50, "the source was not understood")
        for folder in folders.map({ $0.map(String.init) }) {
            let isNamed = lines.contains {
                $0.isSuperset(of: folder) || $0.contains(folder.joined(separator: "/"))
            }
            #expect(isNamed, "\(folder.joined(separator: "/"))")
        }
    }
}
