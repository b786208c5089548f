import EmbeddedCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Verification

@Suite("Exposed files")
struct ExposedFilesTests {
    private func mode(_ path: String) throws -> mode_t {
        var status = stat()
        try check("look at a file") { lstat(path, &status) }
        return status.st_mode & 0o777
    }

    @Test("data directories are private")
    func closed() async throws {
        let household = try await Household(notes: ["a.txt": [1]])
        #expect(try household.found().findings.isEmpty)
    }

    @Test("exposed files are found and closed")
    func exposed() async throws {
        let household = try await Household(notes: ["a.txt": [1]])
        let stored = try household.stored("a.txt")
        let (folder, root) = ("\(household.own)/files", "\(household.directory.path)/chatfs.db")
        for (path, mode) in [(stored, mode_t(0o644)), (folder, 0o755), (root, 0o640)] {
            #expect(chmod(path, mode) == 0)
        }
        // Link targets are not examined.
        let elsewhere = try household.folder.write([1], to: "elsewhere")
        #expect(chmod(elsewhere, 0o644) == 0)
        #expect(symlink(elsewhere, "\(household.own)/link") == 0)
        let found = try household.found()
        let exposed = found.findings.filter { $0.kind == .exposed }
        #expect(
            Set(exposed.map(\.path)) == [
                "chatfs.db", "profiles/1/files", String(stored.dropFirst(household.directory.path.count + 1)),
            ])
        #expect(
            exposed.allSatisfy { $0.outcome == .closable && !$0.isSettled && $0.sentence.contains("mode") })
        #expect(try mode(stored) == 0o644)
        let closed = try household.verification().closeExposed(found)
        #expect(closed.findings.filter { $0.kind == .exposed }.allSatisfy { $0.outcome == .closed })
        #expect(try mode(stored) == 0o600 && mode(folder) == 0o700 && mode(root) == 0o600)
        #expect(try mode(elsewhere) == 0o644)
        #expect(try household.found().findings.allSatisfy { $0.kind != .exposed })
    }

    @Test("an unreadable directory is reported")
    func unread() async throws {
        let household = try await Household(notes: ["a.txt": [1]])
        let verification = try household.verification()
        let moved = household.folder.path("moved")
        #expect(rename(household.own, moved) == 0 && symlink(moved, household.own) == 0)
        let findings = verification.run { _, _ in }.findings.filter { $0.kind == .unreadable }
        #expect(findings.map(\.path) == ["profiles/1"] && findings.allSatisfy { !$0.isSettled })
        // A vanished file exposes nothing.
        let gone = ExposedFiles(
            directory: household.directory.path, profileFolder: household.directory.path + "/none")
        #expect(gone.find().unread.isEmpty)
    }
}
