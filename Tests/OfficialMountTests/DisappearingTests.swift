import Base
import Glibc
import Posix
import ScriptedCore
import TestSupport
import Testing

@Suite("A message that goes while somebody reads its file", .serialized)
struct DisappearingTests {
    /// How the core says that it went, and whether readers may go on.
    enum Ending: CaseIterable {
        case disappeared, moderated, deleted

        func tell(_ message: ScriptedMessage, _ simplex: ScriptedSimpleX) {
            switch self {
            case .disappeared: simplex.tellGone(message.id, timed: true)
            case .moderated: simplex.tellGone(message.id, stub: "moderated")
            case .deleted: simplex.tellGone(message.id)
            }
        }
    }

    private static let size = 3_000_000
    private static let bytes = SystemRandomSource().bytes(size)
    private static let whole = ScriptedMount.digest(bytes[...])

    /// A mount with a file of bob that a program has open and has read, all of its pages in the kernel.
    private func stage(_ options: [String] = []) async throws -> (ScriptedMount, ScriptedMessage, PageHolder)
    {
        let stage = try await ScriptedMount.start()
        let message = stage.offer(1, size: Self.size, description: try await stage.upload(Self.bytes))
        try await stage.mount(options)
        try await stage.waitUntilShown(message)
        let holder = try await PageHolder.start(stage.path(of: message))
        // A kernel that reclaims early may have dropped some: then they are read once more.
        try await wait(until: "the kernel has all pages") {
            #expect(try await holder.read() == Self.whole)
            return try await holder.pages() == (Self.size + 4095) / 4096
        }
        try await wait(until: "the cache has it") { try stage.blocksInCache() * 512 >= Self.size }
        return (stage, message, holder)
    }

    @Test(
        "who has it open goes on when it was deleted; else no byte is left in kernel and cache",
        arguments: Ending.allCases)
    func open(ending: Ending) async throws {
        let (stage, message, holder) = try await stage()
        ending.tell(message, stage.simplex)
        try await wait(until: "its name is gone") { access(stage.path(of: message), F_OK) != 0 }
        if ending == .deleted {
            #expect(try await holder.pages() > 0)
            #expect(try await holder.read() == Self.whole)
        } else {
            try await wait(until: "no page is left") { try await holder.pages() == 0 }
            #expect(try await holder.read() == "ENODATA")
            #expect(try await holder.pages() == 0)
            try await wait(until: "the cache is empty") { try stage.blocksInCache() == 0 }
        }
        try await holder.end()
        try await wait(until: "the cache is empty") { try stage.blocksInCache() == 0 }
        try await stage.leave()
    }

    @Test("pages of a file that nobody has open any more are gone too", arguments: Ending.allCases)
    func closed(ending: Ending) async throws {
        let (stage, message, holder) = try await stage()
        try await holder.end()
        ending.tell(message, stage.simplex)
        try await wait(until: "its name is gone") { access(stage.path(of: message), F_OK) != 0 }
        try await wait(until: "the cache is empty") { try stage.blocksInCache() == 0 }
        try await stage.leave()
    }

    @Test("a finished file that the kernel may read by itself is empty for it, and its copy is gone")
    func plain() async throws {
        let stage = try await ScriptedMount.start()
        // Under the name in its header, where the content on the disk begins as it must for the kernel.
        let message = stage.offer(
            1, name: "source.bin", size: Self.size, description: try await stage.upload(Self.bytes))
        try await stage.mount(["--cache", "plain"])
        // The core gives it up, so the mount keeps the whole itself.
        let reader = try await stage.reader(of: message)
        #expect(try await reader.readAtLast(0..<10) == ScriptedMount.digest(Self.bytes[..<10]))
        stage.giveUp(message)
        #expect(try await reader.readAtLast(0..<Self.size) == Self.whole)
        // One that had all of it before the core gave up goes on with what it has, and the copy comes after it.
        try await reader.end()
        try await stage.waitForCopy(of: message)
        // Opened now it goes past the process, where the system lets it.
        let holder = try await PageHolder.start(stage.path(of: message))
        #expect(try await holder.readAtLast() == Self.whole)
        Ending.disappeared.tell(message, stage.simplex)
        try await wait(until: "the copy is gone") { access(stage.copy(of: message), F_OK) != 0 }
        try await wait(until: "nothing can be read") { try await holder.read() != Self.whole }
        let nothing = ScriptedMount.digest([])
        #expect([nothing, "ENODATA"].contains(try await holder.read()))
        try await wait(until: "the cache is empty") { try stage.blocksInCache() == 0 }
        try await holder.end()
        try await stage.leave()
    }
}

extension ScriptedMount {
    /// What the mount has on the disk in its cache, in files without names, in units of 512 bytes.
    fileprivate func blocksInCache() throws -> Int {
        let descriptors = "/proc/\(daemon?.processIdentifier ?? 0)/fd"
        var blocks = 0
        for name in try PrivateFolder.names(in: OpenFile(descriptors, flags: O_RDONLY)) {
            var target = [CChar](repeating: 0, count: 4096)
            let count = readlink("\(descriptors)/\(name)", &target, target.count)
            guard count > 0 else { continue }
            let path = String(decoding: target.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            var status = stat()
            guard path.hasPrefix(folder.path("cache")), stat("\(descriptors)/\(name)", &status) == 0,
                status.st_mode & S_IFMT == S_IFREG
            else { continue }
            blocks += Int(status.st_blocks)
        }
        return blocks
    }
}
