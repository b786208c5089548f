import Base
import Glibc
import Posix
import ScriptedCore
import TestSupport
import Testing

@Suite("Messages that disappear during a read", .serialized)
struct DisappearingTests {
    /// The core's event for the end of a message. After a deletion the open readers continue.
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

    /// A mount with a file of Bob that a program has open and has read completely into the page cache.
    private func stage(_ options: [String] = []) async throws -> (ScriptedMount, ScriptedMessage, PageHolder)
    {
        let stage = try await ScriptedMount.start()
        let message = stage.offer(1, size: Self.size, description: try await stage.upload(Self.bytes))
        try await stage.mount(options)
        try await stage.waitUntilShown(message)
        let holder = try await PageHolder.start(stage.path(of: message))
        // A kernel that reclaims early may have dropped pages; a second read restores them.
        try await wait(until: "the kernel has all pages") {
            #expect(try await holder.read() == Self.whole)
            return try await holder.pages() == (Self.size + 4095) / 4096
        }
        try await wait(until: "the cache has it") { try stage.blocksInCache() * 512 >= Self.size }
        return (stage, message, holder)
    }

    @Test(
        "a deleted file remains readable while open",
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

    @Test("pages of a closed file are dropped", arguments: Ending.allCases)
    func closed(ending: Ending) async throws {
        let (stage, message, holder) = try await stage()
        try await holder.end()
        ending.tell(message, stage.simplex)
        try await wait(until: "its name is gone") { access(stage.path(of: message), F_OK) != 0 }
        try await wait(until: "the cache is empty") { try stage.blocksInCache() == 0 }
        try await stage.leave()
    }

    @Test("a passed-through file is emptied")
    func plain() async throws {
        let stage = try await ScriptedMount.start()
        // Only a file with the name from its header starts on the disk where the kernel can pass it through.
        let message = stage.offer(
            1, name: "source.bin", size: Self.size, description: try await stage.upload(Self.bytes))
        try await stage.mount(["--cache", "plain"])
        // The core gives up, so the mount keeps the complete file.
        let reader = try await stage.reader(of: message)
        #expect(try await reader.readAtLast(0..<10) == ScriptedMount.digest(Self.bytes[..<10]))
        stage.giveUp(message)
        #expect(try await reader.readAtLast(0..<Self.size) == Self.whole)
        // A reader that has every chunk does not need the copy, so the copy is made after its close.
        try await reader.end()
        try await stage.waitForCopy(of: message)
        // Where the system permits passthrough, this open uses it.
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
    /// The size of the mount's unlinked cache files in blocks of 512 bytes.
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
