import Base
import Glibc
import TestSupport
import Testing

@testable import Posix

@Suite("Destinations of log lines")
struct LogTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A socket like that of systemd's journal.
    private func journal() throws -> (socket: OpenFile, path: String) {
        let path = folder.path("j")
        let socket = OpenFile(
            adopting: try check("make a socket") {
                Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            })
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array(path.utf8CString)
        try #require(name.count <= MemoryLayout.size(ofValue: address.sun_path))
        withUnsafeMutableBytes(of: &address.sun_path) { target in
            name.withUnsafeBytes { target.copyMemory(from: $0) }
        }
        try withUnsafePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = try check("bind") {
                    bind(socket.descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }
        return (socket, path)
    }

    private func received(_ socket: OpenFile) -> String? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(socket.descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
    }

    @Test("journal entries have level, program and subject")
    func journalFields() throws {
        let (socket, path) = try journal()
        let destination = LogDestination.journal(try #require(JournalSocket(path: path)))
        destination.write("the relay is away", subject: "relay", level: .warning)
        #expect(
            received(socket) == """
                MESSAGE=relay: the relay is away
                PRIORITY=4
                SYSLOG_IDENTIFIER=chatfs
                CHATFS_SUBJECT=relay

                """)
        #expect(received(socket) == nil)
    }

    @Test("a line break starts no journal field")
    func journalInjection() throws {
        let (socket, path) = try journal()
        let destination = LogDestination.journal(try #require(JournalSocket(path: path)))
        destination.write("one\nPRIORITY=0\nMESSAGE=two", subject: "relay", level: .debug)
        let lines = try #require(received(socket)).split(separator: "\n")
        #expect(lines.count == 4)
        #expect(lines.first == #"MESSAGE=relay: one\u000aPRIORITY=0\u000aMESSAGE=two"#)
        #expect(lines.filter { $0.hasPrefix("PRIORITY=") } == ["PRIORITY=7"])
    }

    @Test("a journal that does not read blocks no thread")
    func journalFull() throws {
        let (socket, path) = try journal()
        let destination = LogDestination.journal(try #require(JournalSocket(path: path)))
        for _ in 0..<5000 { destination.write("line", subject: "test", level: .notice) }
        var count = 0
        while received(socket) != nil { count += 1 }
        #expect(count > 0 && count < 5000)
        destination.write("later", subject: "test", level: .notice)
        #expect(received(socket)?.contains("later") == true)
    }

    @Test("no journal without a listener")
    func noJournal() throws {
        #expect(JournalSocket(path: folder.path("nothing")) == nil)
        #expect(JournalSocket(path: try folder.write([], to: "plain")) == nil)
        #expect(JournalSocket(path: "/" + String(repeating: "x", count: 200)) == nil)
    }

    @Test("a private file has time, level and subject")
    func file() throws {
        let path = folder.path("log")
        LogDestination.file(try LogFile(path)).write("begins", subject: "mount", level: .notice)
        LogDestination.file(try LogFile(path)).write("again", subject: "relay", level: .error)
        let lines = String(decoding: try folder.read("log"), as: UTF8.self).split(separator: "\n")
        try #require(lines.count == 2)
        #expect(lines[0].wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ notice mount: begins/) != nil)
        #expect(lines[1].hasSuffix(" error relay: again"))
        #expect(try OpenFile(path, flags: O_RDONLY).status().st_mode & 0o777 == 0o600)
    }

    @Test("control characters and marks of direction are escaped")
    func escapes() throws {
        let destination = LogDestination.file(try LogFile(folder.path("log")))
        destination.write("a\u{1B}[2Jb\u{9B}c\u{202E}d\ne é", subject: "m\r", level: .notice)
        let text = String(decoding: try folder.read("log"), as: UTF8.self)
        #expect(text.hasSuffix(#" notice m\u000d: a\u001b[2Jb\u009bc\u202ed\u000ae é"# + "\n"))
    }

    @Test("a full file replaces the previous one")
    func rotation() throws {
        let path = folder.path("log")
        let line = String(repeating: "x", count: 1023) + "\n"
        let first = try LogFile(path)
        for _ in 0..<1024 { first.append(line) }
        #expect(try folder.names() == ["log"], "a MiB is not too much")
        try folder.write([7], to: "log.1")
        // Lines of an earlier run count.
        let second = try LogFile(path)
        second.append("y\n")
        #expect(try folder.read("log") == Array("y\n".utf8))
        #expect(try folder.read("log.1").count == 1 << 20)
        second.append("z\n")
        #expect(try folder.read("log") == Array("y\nz\n".utf8))
    }

    @Test("standard error follows into the new file")
    func standardErrorFollows() async throws {
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            let file = try LogFile(path + "/log")
            try file.takeStandardError()
            write(STDERR_FILENO, "old\n", 4)
            file.append(String(repeating: "x", count: 1 << 20) + "\n")
            write(STDERR_FILENO, "new\n", 4)
            _exit(0)
        }
        #expect(try folder.read("log.1") == Array("old\n".utf8))
        #expect(try folder.read("log").suffix(5) == Array("\nnew\n".utf8)[...])
    }

    @Test("rotation loses and splits no line")
    func together() async throws {
        let file = try LogFile(folder.path("log"))
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<4 {
                group.addTask {
                    for _ in 0..<300 { file.append(String(repeating: "\(number)", count: 1023) + "\n") }
                }
            }
        }
        let all = try folder.read("log.1") + folder.read("log")
        let lines = all.split(separator: UInt8(ascii: "\n"))
        #expect(lines.count == 1200 && lines.allSatisfy { $0.count == 1023 && Set($0).count == 1 })
    }

    @Test("a failed rotation loses no line")
    func rotationFails() throws {
        let path = folder.path("log")
        _ = try folder.makeFolder("log.1")
        let file = try LogFile(path)
        file.append(String(repeating: "x", count: (1 << 20) - 1) + "\n")
        file.append("more\n")
        #expect(try folder.read("log").suffix(5) == Array("more\n".utf8)[...])
        #expect(try folder.names() == ["log", "log.1"])
    }

    @Test("a link in place of the file is refused")
    func link() throws {
        let target = try folder.write([1], to: "target")
        symlink(target, folder.path("log"))
        #expect(throws: SystemError(code: ELOOP, operation: "open a file")) {
            try LogFile(folder.path("log"))
        }
        #expect(try folder.read("target") == [1])
    }

    @Test(
        "times are in UTC and have two digits",
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"), (1_795_163_395, "2026-11-20T08:29:55Z"),
        ])
    func times(seconds: Int, text: String) { #expect(LogFile.time(seconds) == text) }

    @Test("levels have the numbers of syslog")
    func levels() {
        let words = ["error", "warning", "notice", "info", "debug"]
        #expect(words.compactMap(LogLevel.init(word:)).map(\.rawValue) == [3, 4, 5, 6, 7])
        #expect(LogLevel(word: "information") == .info, "its earlier name")
        for word in ["", "Error", "Info", "debug ", "6"] { #expect(LogLevel(word: word) == nil) }
        #expect(LogLevel.error < .warning && LogLevel.info < .debug)
    }

    @Test("repeated lines are written once a minute")
    func repeated() async throws {
        let path = folder.path("stderr")
        await #expect(processExitsWith: .success) { [path = path as String] in
            let file = try OpenFile(path, flags: O_WRONLY | O_CREAT | O_APPEND)
            dup2(file.descriptor, STDERR_FILENO)
            unsetenv("JOURNAL_STREAM")
            Log.configure(level: .debug)
            for _ in 0..<1000 { Log("test").warning("one") }
            for number in 0..<1000 { Log("other").notice("\(number)") }
            Log("test").error("two")
            for _ in 0..<3 { Log("test").debug("three") }
            _exit(0)
        }
        let lines = String(decoding: try folder.read("stderr"), as: UTF8.self).split(separator: "\n")
        #expect(
            lines.filter { $0.hasPrefix("chatfs test") } == [
                "chatfs test: one", "chatfs test: two (and 999 more before)", "chatfs test: three",
                "chatfs test: three", "chatfs test: three",
            ])
        #expect(lines.count { $0.hasPrefix("chatfs other") } == 200)
    }

    @Test("standard error gets lines up to the level")
    func standardError() async throws {
        let path = folder.path("stderr")
        await #expect(processExitsWith: .success) { [path = path as String] in
            let file = try OpenFile(path, flags: O_WRONLY | O_CREAT | O_APPEND)
            dup2(file.descriptor, STDERR_FILENO)
            let log = Log("test")
            unsetenv("JOURNAL_STREAM")
            Log.configure(level: .notice)
            log.notice("one")
            log.information("never")
            setenv("JOURNAL_STREAM", "8:1", 1)
            Log.configure(level: .debug)
            log.debug("two")
            log.error("three")
            Log.configure(level: .error)
            log.warning("never")
            // At once, because an exit test prints more at its end.
            _exit(0)
        }
        let text = String(decoding: try folder.read("stderr"), as: UTF8.self)
        #expect(text == "chatfs test: one\n<7>two\n<3>three\n")
    }
}
