import Glibc
import Posix
import TestSupport
import Testing

@testable import OfficialCore

@Suite("Database files of an official core")
struct DatabaseFilesTests {
    private let folder: TemporaryFolder
    private let files: DatabaseFiles

    init() throws {
        folder = try TemporaryFolder()
        files = try DatabaseFiles(prefix: folder.path("db"))
    }

    private static let head = Array("SQLite format 3\0".utf8)

    @Test(
        "the first bytes show the encryption",
        arguments: [
            (nil, DatabaseFiles.Condition.missing), ([], .missing), (head, .plain),
            (head + [1, 2, 3], .plain), (Array(head.dropLast()), .encrypted),
            ([7], .encrypted), ([UInt8](repeating: 0, count: 16), .encrypted),
            (Array("SQLite format 2\0".utf8), .encrypted),
        ] as [([UInt8]?, DatabaseFiles.Condition)])
    func conditions(bytes: [UInt8]?, condition: DatabaseFiles.Condition) throws {
        if let bytes { try folder.write(bytes, to: "db_chat.db") }
        // The other file does not matter.
        try folder.write(Self.head, to: "db_agent.db")
        #expect(try files.condition() == condition)
    }

    @Test("an unusual file is an error")
    func strange() throws {
        _ = try folder.makeFolder("db_chat.db")
        #expect(throws: SystemError.self) { try files.condition() }
        #expect(files.user() == nil)
    }

    @Test(
        "invalid prefixes are refused",
        arguments: ["", "db", "./db", "/a\nb", "/a\u{0}b", "/a\u{7F}"])
    func prefixes(prefix: String) {
        let error = #expect(throws: OfficialCoreError.self) { try DatabaseFiles(prefix: prefix) }
        #expect(error?.code == .invalidCommand)
    }

    @Test("both databases become private and are removed")
    func both() throws {
        for name in [
            "db_chat.db", "db_agent.db", "db_chat.db.bak", "db_agent.db.bak", "db_chat.db.txt", "db",
        ] {
            try folder.write([1], to: name)
            chmod(folder.path(name), 0o644)
        }
        func mode(_ name: String) -> mode_t {
            var status = stat()
            return stat(folder.path(name), &status) == 0 ? status.st_mode & 0o777 : 0
        }
        files.closeToOthers()
        #expect(mode("db_chat.db") == 0o600 && mode("db_agent.db") == 0o600 && mode("db") == 0o644)
        #expect(files.copies == [folder.path("db_chat.db.bak"), folder.path("db_agent.db.bak")])
        files.removeCopies()
        #expect(try folder.names() == ["db", "db_agent.db", "db_chat.db", "db_chat.db.txt"])
        files.remove()
        files.remove()
        #expect(try folder.names() == ["db", "db_chat.db.txt"])
    }

    @Test(
        "another process with the database is named",
        arguments: ["db_chat.db", "db_agent.db", "other"])
    func users(name: String) async throws {
        for name in ["db_chat.db", "db_agent.db", "other"] { try folder.write(Self.head, to: name) }
        let own = try OpenFile(folder.path("db_chat.db"), flags: O_RDONLY)
        // Until another test's new process calls exec, that process has this process's files open.
        try await wait(until: "nobody else has them open") { files.user() == nil }
        try await wait(until: "they are unused") { (try? files.checkUnused()) != nil }
        let holder = try await RunningProcess.start(
            .init("/bin/sh", ["-c", "exec 3<\"$0\"; echo open; exec sleep 600", folder.path(name)]))
        try await holder.line("that it has it open")
        guard name != "other" else {
            try await wait(until: "nobody has them open") { files.user() == nil }
            return try await end(holder)
        }
        let user = try await wait(for: "who has it open") {
            files.user().flatMap { $0.identifier == holder.processIdentifier ? $0 : nil }
        }
        #expect("\(user)".hasSuffix(" (process \(holder.processIdentifier))"))
        try await wait(until: "it is refused for the same reason") {
            do throws(OfficialCoreError) {
                try files.checkUnused()
                return false
            } catch {
                return error.code == .inUse
                    && error.sentence.hasPrefix("\(user) has this SimpleX database open")
            }
        }
        _ = own
        try await end(holder)
        try await wait(until: "nobody has them open any more") { files.user() == nil }
    }

    private func end(_ process: RunningProcess) async throws { try await process.terminate() }
}
