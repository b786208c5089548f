import Base
import CFuse3
import Glibc
import Namespace
import TestSupport
import Testing

@testable import FileSystem
@testable import Fuse

/// Each operation from the bytes of its request to the call, and from the answer to the bytes of its reply.
@Suite("Requests and replies", .timeLimit(.minutes(10)))
struct TranslationTests {
    /// A request and its expected call.
    struct Asked: Sendable, CustomTestStringConvertible {
        let name: String
        let operation: UInt32
        let arguments: [UInt8]
        let call: String
        /// True if the answer may come later.
        let mayWait: Bool
        var testDescription: String { name }

        init(
            _ name: String, _ operation: UInt32, _ arguments: [UInt8], _ call: String, mayWait: Bool = true
        ) {
            (self.name, self.operation, self.arguments) = (name, operation, arguments)
            (self.call, self.mayWait) = (call, mayWait)
        }
    }

    /// fuse_setattr_in: selected fields and their values.
    static func setattr(
        _ fields: Int32, handle: UInt64 = 0, size: UInt64 = 0, modified: UInt64 = 0, mode: UInt32 = 0,
        user: UInt32 = geteuid()
    ) -> [UInt8] {
        bytes(of: [UInt32(fields), 0]) + bytes(of: [handle, size, 0, 0, modified, 0] as [UInt64])
            + bytes(of: [0, 0, 0, mode, 0, user, getegid(), 0] as [UInt32])
    }

    /// All operations on node 3.
    static let asked: [Asked] = [
        Asked("lookup", 1, bytes(of: "é.txt"), "lookup é.txt in 3"),
        Asked("getattr", 3, bytes(of: [0, 0] as [UInt64]), "attributes 3", mayWait: false),
        Asked("chmod", 4, setattr(FUSE_SET_ATTR_MODE, mode: 0o100644), "change 3 644 - - - by 4711"),
        Asked(
            "truncate", 4, setattr(FUSE_SET_ATTR_SIZE, size: 1 << 40), "change 3 - - 1099511627776 - by 4711"),
        Asked(
            "touch", 4, setattr(FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW), "change 3 - - - now by 4711"),
        Asked("utimes", 4, setattr(FUSE_SET_ATTR_MTIME, modified: 1234), "change 3 - - - 1234 by 4711"),
        Asked("chown", 4, setattr(FUSE_SET_ATTR_UID, user: geteuid() + 1), "change 3 - owner - - by 4711"),
        Asked("chown to oneself", 4, setattr(FUSE_SET_ATTR_UID), "change 3 - - - - by 4711"),
        Asked("unlink", 10, bytes(of: "a"), "unlink a in 3"),
        Asked("mkdir", 9, bytes(of: [0o755, 0] as [UInt32]) + bytes(of: "a"), "makeFolder a in 3"),
        Asked("rmdir", 11, bytes(of: "a"), "removeFolder a in 3"),
        Asked(
            "rename", 12, bytes(of: [9 as UInt64]) + bytes(of: "a") + bytes(of: "b"),
            "rename a in 3 to b in 9 0"),
        Asked(
            "renameat2", 45, bytes(of: [9, 1] as [UInt64]) + bytes(of: "a") + bytes(of: "b"),
            "rename a in 3 to b in 9 1"),
        Asked("open", 14, bytes(of: [UInt32(O_RDWR | O_TRUNC), 0]), "open 3 \(O_RDWR | O_TRUNC) by 4711"),
        Asked(
            "create", 35, bytes(of: [UInt32(O_WRONLY | O_EXCL), 0o100644, 0, 0]) + bytes(of: "n"),
            "create n in 3 \(O_WRONLY | O_EXCL) by 4711"),
        Asked("statfs", 17, [], "statistics", mayWait: false),
        Asked("access", 34, bytes(of: [UInt32(W_OK), 0]), "access 3 2", mayWait: false),
        Asked(
            "setxattr", 21, bytes(of: [2, 1] as [UInt32]) + bytes(of: "user.a") + [1, 2],
            "set user.a of 3 to [1, 2] 1"),
        Asked(
            "getxattr", 22, bytes(of: [64, 0] as [UInt32]) + bytes(of: "user.a"), "attribute user.a of 3",
            mayWait: false),
        Asked("removexattr", 24, bytes(of: "user.a"), "remove user.a of 3", mayWait: false),
        Asked("readdir", 28, bytes(of: [0, 0, 4096, 0, 0] as [UInt64]), "prepare 3"),
        Asked("fsyncdir", 30, bytes(of: [0, 0] as [UInt64]), "synchronise folder 3"),
        Asked("readdirplus", 44, bytes(of: [0, 0, 4096, 0, 0] as [UInt64]), "prepare 3"),
    ]

    @Test("requests and errors pass through", arguments: asked)
    func refused(asked: Asked) async throws {
        let files = try NotedFiles()
        let kernel = try await SimulatedKernel(files)
        for isLate in asked.mayWait ? [false, true] : [false] {
            for code in [EPERM, ENOSPC, ETIMEDOUT] {
                files.state.withLock { state in
                    state.isLate = isLate
                    state.error = FileSystemError(code, isFailure: code != EPERM)
                }
                let reply = try await kernel.ask(asked.operation, node: 3, asked.arguments, thread: 4711)
                #expect(reply == .refused(code), "late: \(isLate)")
                #expect(files.calls == [asked.call])
            }
        }
        // Failures are counted, refusals are not.
        let counts = try #require(kernel.context.failures.counts.values.first)
        #expect(counts == ["ENOSPC": asked.mayWait ? 2 : 1, "ETIMEDOUT": asked.mayWait ? 2 : 1])
        #expect(!kernel.hasUnexpectedReply)
    }

    static let impossible: [(String, UInt32, [UInt8], Int32)] = [
        ("symlink", 6, bytes(of: "a") + bytes(of: "b"), EPERM),
        ("mknod", 8, bytes(of: [0o10644, 0, 0, 0] as [UInt32]) + bytes(of: "a"), EPERM),
        ("link", 13, bytes(of: [9 as UInt64]) + bytes(of: "a"), EPERM),
        ("opendir", 27, bytes(of: [0, 0] as [UInt32]), ENOSYS),
        ("fallocate", 43, bytes(of: [0, 0, 4096, 0] as [UInt64]), ENOSYS),
        ("read without a handle", 15, bytes(of: [0, 0, 4096, 0, 0] as [UInt64]), EBADF),
        ("write without a handle", 16, bytes(of: [0, 0, 1, 0, 0] as [UInt64]) + [1], EBADF),
        ("fsync without a handle", 20, bytes(of: [0, 0] as [UInt64]), EBADF),
        ("flush without a handle", 25, bytes(of: [0, 0, 0] as [UInt64]), 0),
        ("release without a handle", 18, bytes(of: [0, 0, 0] as [UInt64]), 0),
    ]

    @Test("unknown names and handles fail early", arguments: impossible)
    func refusedHere(name: String, operation: UInt32, arguments: [UInt8], code: Int32) async throws {
        let files = try NotedFiles()
        let kernel = try await SimulatedKernel(files)
        #expect(try await kernel.ask(operation, node: 3, arguments) == .refused(code))
        #expect(files.calls == [])
    }

    @Test("attributes, names and sizes are encoded", arguments: [false, true])
    func found(isLate: Bool) async throws {
        let files = try NotedFiles()
        files.state.withLock { $0.isLate = isLate }
        let kernel = try await SimulatedKernel(files)
        // fuse_entry_out: node, generation, timeouts of name and attributes in seconds, then fuse_attr.
        let entry = try await kernel.ask(1, node: 1, bytes(of: "a"))
        #expect(entry.code == 0 && entry.bytes.count == 128)
        #expect((0..<4).map { entry.number(at: $0 * 8, as: UInt64.self) } == [3, 1, 3600, 1])
        // fuse_attr: number, size, blocks, three times in seconds and in nanoseconds, mode, links, owner, group.
        let status = try await kernel.ask(3, node: 3, bytes(of: [0, 0] as [UInt64]))
        #expect(status.number(at: 0, as: UInt64.self) == 1)
        let numbers = (0..<6).map { status.number(at: 16 + $0 * 8, as: UInt64.self) }
        #expect(numbers == [3, 7, 3, 1_700_000_000, 1_700_000_000, 1_700_000_000])
        let words = (0..<7).map { status.number(at: 64 + $0 * 4, as: UInt32.self) }
        #expect(words == [0, 0, 0, 0o100400, 1, geteuid(), getegid()])
        #expect(Array(entry.bytes[40...]) == Array(status.bytes[16...]))
        let disk = try await kernel.ask(17, node: 1, [])
        #expect(disk.number(at: 0, as: UInt64.self) == 99)
    }

    @Test("a handle passes from open to release")
    func openFile() async throws {
        let files = try NotedFiles()
        let kernel = try await SimulatedKernel(files)
        let opened = try await kernel.ask(14, node: 3, bytes(of: [UInt32(O_RDWR), 0]))
        let handle = opened.number(at: 0, as: UInt64.self)
        _ = files.calls
        for isLate in [false, true] {
            files.state.withLock { $0.isLate = isLate }
            #expect(
                try await kernel.ask(15, node: 3, bytes(of: [handle, 512, 4096, 0, 0])).bytes == [9, 8, 7])
            #expect(files.calls == ["read 3 512 4096"] + (isLate ? [] : ["answered"]))
            #expect(try await kernel.ask(20, node: 3, bytes(of: [handle, 0])) == .refused(0))
            #expect(files.calls == ["synchronise 3"])
        }
        let written = try await kernel.ask(
            16, node: 3, bytes(of: [handle, 1 << 33, 2, 0, 0]) + [4, 5], thread: 77)
        #expect(written.number(at: 0, as: UInt32.self) == 2)
        #expect(try await kernel.ask(25, node: 3, bytes(of: [handle, 0, 0]), thread: 78) == .refused(0))
        #expect(files.calls == ["write 3 [4, 5] 8589934592 by 77", "flush 3 by 78"])
        // FATTR_FH: the handle of ftruncate(2).
        let cut = Self.setattr(FUSE_SET_ATTR_SIZE | 1 << 6, handle: handle, size: 5)
        #expect(try await kernel.ask(4, node: 3, cut, thread: 79).code == 0)
        #expect(files.calls == ["change 3 - - 5 - by 79 through 3"])
        files.state.withLock { $0.error = FileSystemError(EBADMSG) }
        for isLate in [true, false] {
            files.state.withLock { $0.isLate = isLate }
            let read = bytes(of: [handle, 0, 16, 0, 0])
            #expect(try await kernel.ask(15, node: 3, read, thread: 80) == .refused(EBADMSG))
        }
        // Programs with failed reads may write incomplete data.
        #expect(files.state.withLock { $0.failedReads } == [80, 80])
        #expect(
            try await kernel.ask(16, node: 3, bytes(of: [handle, 0, 1, 0, 0]) + [4]) == .refused(EBADMSG))
        _ = files.calls
        #expect(try await kernel.ask(15, node: 3, bytes(of: [handle, 1 << 63, 16, 0, 0])) == .refused(EBADF))
        #expect(try await kernel.ask(18, node: 3, bytes(of: [handle, 0, 0])) == .refused(0))
        #expect(files.calls == ["release 3"])
    }

    /// FOPEN_DIRECT_IO, FOPEN_KEEP_CACHE and FOPEN_NOFLUSH of linux/fuse.h.
    static let flags: [(any OpenSource, UInt32)] = [
        (ProducedSource([1]), 1 | 1 << 5), (WritableSource(), 2),
    ]

    @Test("open sets page and flush flags", arguments: flags)
    func openFlags(source: any OpenSource, flags: UInt32) async throws {
        let kernel = try await SimulatedKernel(NotedFiles(source))
        let opened = try await kernel.ask(14, node: 3, bytes(of: [UInt32(O_RDONLY), 0]))
        #expect(opened.bytes.count == 16 && opened.number(at: 8, as: UInt32.self) == flags)
        let created = try await kernel.ask(
            35, node: 1, bytes(of: [UInt32(O_WRONLY), 0o644, 0, 0]) + bytes(of: "n"))
        #expect(created.bytes.count == 144 && created.number(at: 0, as: UInt64.self) == 3)
        #expect(created.number(at: 136, as: UInt32.self) == flags)
        for reply in [(opened, 0), (created, 128)] {
            let handle = reply.0.number(at: reply.1, as: UInt64.self)
            #expect(try await kernel.ask(18, node: 3, bytes(of: [handle, 0, 0])) == .refused(0))
        }
    }

    /// Names, numbers and positions of a listing; with attributes, 128 bytes precede each.
    private func entries(_ reply: SimulatedKernel.Reply, skipping: Int) -> [String] {
        var (entries, position): ([String], Int) = ([], 0)
        while position < reply.bytes.count {
            let start = position + skipping
            let length = Int(reply.number(at: start + 16, as: UInt32.self))
            let name = String(decoding: reply.bytes[(start + 24)...].prefix(length), as: UTF8.self)
            let number = reply.number(at: start, as: UInt64.self)
            entries.append("\(name) \(number) \(reply.number(at: start + 8, as: UInt64.self))")
            position = start + (24 + length + 7) / 8 * 8
        }
        return entries
    }

    @Test("a listing in pages is complete", arguments: [28, 44] as [UInt32])
    func listing(operation: UInt32) async throws {
        let files = try NotedFiles()
        let kernel = try await SimulatedKernel(files)
        let whole = [". 2 1", ".. 1 2", "status.json 3 5", "transfers 4 6", "recovered 5 7", "messages 8 10"]
        let skipping = operation == 44 ? 128 : 0
        func list(after position: UInt64, size: UInt64) async throws -> [String] {
            let reply = try await kernel.ask(operation, node: 2, bytes(of: [0, position, size, 0, 0]))
            #expect(reply.code == 0 && reply.bytes.count <= Int(size))
            return entries(reply, skipping: skipping)
        }
        #expect(try await list(after: 0, size: 4096) == whole)
        #expect(try await list(after: 1, size: 4096) == Array(whole[1...]))
        #expect(try await list(after: 2, size: 4096) == Array(whole[2...]))
        #expect(try await list(after: 5, size: 4096) == Array(whole[3...]))
        #expect(try await list(after: 7, size: 4096) == Array(whole[5...]))
        #expect(try await list(after: 10, size: 4096) == [])
        #expect(try await list(after: 0, size: UInt64(2 * (32 + skipping))) == Array(whole[..<2]))
        _ = files.calls
        // An entry that did not fit has no reference.
        #expect(try await list(after: 2, size: UInt64(40 + skipping)) == ["status.json 3 5"])
        #expect(files.calls == ["prepare 2"] + (operation == 44 ? ["forget 4 1"] : []))
    }

    @Test("attribute sizes are reported; short buffers get ERANGE")
    func attributeSizes() async throws {
        let kernel = try await SimulatedKernel(NotedFiles())
        func get(_ size: UInt32) async throws -> SimulatedKernel.Reply {
            try await kernel.ask(22, node: 3, bytes(of: [size, 0]) + bytes(of: "user.a"))
        }
        #expect(try await get(0).number(at: 0, as: UInt32.self) == 3)
        #expect(try await get(2) == .refused(ERANGE))
        #expect(try await get(3).bytes == [5, 6, 7])
        // No attribute is listed.
        #expect(
            try await kernel.ask(23, node: 3, bytes(of: [0, 0] as [UInt32])).number(at: 0, as: UInt32.self)
                == 0)
        #expect(try await kernel.ask(23, node: 3, bytes(of: [64, 0] as [UInt32])) == .refused(0))
    }

    @Test("forget is passed on without reply")
    func forgetting() async throws {
        let files = try NotedFiles()
        let kernel = try await SimulatedKernel(files)
        try kernel.send(2, node: 3, bytes(of: [5 as UInt64]))
        try kernel.send(42, node: 0, bytes(of: [2, 0] as [UInt32]) + bytes(of: [7, 1, 8, 2] as [UInt64]))
        _ = try await kernel.ask(17, node: 1, [])
        try await wait(until: "all is forgotten") { files.state.withLock { $0.calls.count } == 4 }
        #expect(Set(files.calls) == ["forget 3 5", "forget 7 1", "forget 8 2", "statistics"])
        #expect(!kernel.hasUnexpectedReply)
    }

    @Test("FUSE_INIT negotiates the required features")
    func agreement() async throws {
        let kernel = try await SimulatedKernel(NotedFiles())
        let agreement = kernel.agreement
        #expect(agreement.code == 0 && agreement.number(at: 0, as: UInt32.self) == 7)
        // fuse_init_out: max_background and congestion_threshold.
        #expect(agreement.number(at: 16, as: UInt16.self) == 4096)
        #expect(agreement.number(at: 18, as: UInt16.self) == 3072)
        let flags = agreement.number(at: 12, as: UInt32.self)
        // FUSE_DO_READDIRPLUS, FUSE_READDIRPLUS_AUTO, FUSE_EXPLICIT_INVAL_DATA, FUSE_HANDLE_KILLPRIV_V2.
        for bit in [13, 14, 25, 28] { #expect(flags & 1 << bit != 0, "bit \(bit)") }
        // FUSE_SPLICE_WRITE, FUSE_SPLICE_MOVE, FUSE_SPLICE_READ, FUSE_AUTO_INVAL_DATA.
        for bit in [7, 8, 9, 12] { #expect(flags & 1 << bit == 0, "bit \(bit)") }
        #expect(kernel.context.counts.named == ["init": 1])
        #expect(kernel.context.kernelSide.passthrough.reason == "the cache is not plain")
    }

    @Test("an interrupted request is answered once", arguments: asked.filter(\.mayWait))
    func interrupted(asked: Asked) async throws {
        let files = try NotedFiles()
        files.state.withLock { ($0.isLate, $0.waitsForCancellation) = (true, true) }
        let kernel = try await SimulatedKernel(files)
        let unique = try kernel.send(asked.operation, node: 3, asked.arguments)
        try kernel.send(36, node: 0, bytes(of: [unique]))
        #expect(try await kernel.reply(to: unique) == .refused(EINTR))
        // libfuse sends no reply to an interrupt of a known request.
        #expect(try await kernel.ask(17, node: 1, []).code == 0)
        #expect(!kernel.hasUnexpectedReply)
    }

    @Test("a dropped request traps in debug builds")
    func dropped() async {
        await #expect(processExitsWith: .failure) {
            _ = Request(fuse_req_t(bitPattern: 8), "read", 3)
        }
    }
}

/// Like a draft: pages are kept, and closing sends FLUSH.
private struct WritableSource: OpenSource {
    var isForWriting: Bool { true }
    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> ReadAnswer { .filled(0) }
}
