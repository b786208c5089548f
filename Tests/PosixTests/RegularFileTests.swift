import Glibc
import TestSupport
import Testing

@testable import Posix

/// Opening a file to send must neither wait nor have an effect on it.
@Suite("Opening regular files")
struct RegularFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("regular files open, also through a link")
    func regular() throws {
        let path = try folder.write([1, 2, 3], to: "a")
        let file = try #require(try OpenFile.regular(path))
        #expect(try file.read(count: 10, at: 0) == [1, 2, 3] && file.size() == 3)
        #expect(fcntl(file.descriptor, F_GETFD) & FD_CLOEXEC != 0)
        #expect(throws: SystemError.self) { try file.write([9], at: 0) }
        let empty = try folder.write([], to: "empty")
        #expect(try OpenFile.regular(empty)?.size() == 0)
        try check("make a link") { symlink(path, folder.path("link")) }
        #expect(try OpenFile.regular(folder.path("link"))?.size() == 3)
        let refused = #expect(throws: SystemError.self) {
            try OpenFile.regular(folder.path("link"), flags: O_NOFOLLOW)
        }
        #expect(refused?.code == ELOOP)
    }

    @Test("names are relative to the given folder")
    func inFolder() throws {
        try folder.write([7], to: "a")
        let opened = try OpenFile(folder.path, flags: O_RDONLY)
        #expect(try OpenFile.regular("a", in: opened)?.size() == 1)
        let missing = #expect(throws: SystemError.self) { try OpenFile.regular("b", in: opened) }
        #expect(missing?.code == ENOENT)
    }

    /// Opening it as a file would wait for ever; the time limit is that of the whole run.
    @Test("a pipe without a writer is refused at once", .timeLimit(.minutes(10)))
    func pipe() throws {
        try check("make a pipe") { mkfifo(folder.path("pipe"), 0o600) }
        #expect(try OpenFile.regular(folder.path("pipe")) == nil)
        #expect(try OpenFile.regular(folder.path("pipe"), flags: O_NOFOLLOW) == nil)
        // A pipe with a writer is refused too, without an effect on it.
        let both = try OpenFile(folder.path("pipe"), flags: O_RDWR | O_NONBLOCK)
        try both.send([5])
        #expect(try OpenFile.regular(folder.path("pipe")) == nil)
        var byte: UInt8 = 0
        #expect(read(both.descriptor, &byte, 1) == 1 && byte == 5)
    }

    @Test("folders, sockets and devices are refused")
    func others() throws {
        #expect(try OpenFile.regular(folder.makeFolder("inner")) == nil)
        #expect(try OpenFile.regular("/dev/null") == nil)
        #expect(try OpenFile.regular("/dev/zero") == nil)
        // A socket's path is short, so it is relative to its folder.
        let socket = OpenFile(
            adopting: try check("make a socket") {
                Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            })
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let opened = try OpenFile(folder.path, flags: O_RDONLY)
        defer { withExtendedLifetime(opened) {} }
        let path = "/proc/self/fd/\(opened.descriptor)/socket"
        try #require(path.utf8.count < 100)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        _ = try withUnsafePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                try check("bind a socket") {
                    bind(socket.descriptor, raw, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }
        #expect(try OpenFile.regular(folder.path("socket")) == nil)
    }
}
