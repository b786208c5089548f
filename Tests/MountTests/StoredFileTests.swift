import Glibc
import Posix
import TestSupport
import Testing

@Suite("Modified stored files", .serialized)
struct StoredFileTests {
    private static let size = 2_000_000
    private static let bytes = TwoMounts.bytes(size)
    private static let name = "bob/alice/film.bin"
    /// Bytes in front of the content, as XFTP transfers it: the length, the name with its own, and "0".
    private static let header: UInt64 = 8 + 1 + 8 + 1

    /// A received file of bob's with some cached pages and a flipped bit in its copy.
    private static func damaged() async throws -> (TwoMounts, OpenFile) {
        let mounts = try await TwoMounts.start(encrypted: false)
        try await mounts.send(bytes, as: "film.bin")
        #expect(try await ChatFSProcess.run(["hydrate", mounts.path(name)]).succeeded)
        let first = try OpenFile(mounts.path(name), flags: O_RDONLY)
        #expect(try first.read(count: 10_000, at: 0) == Array(bytes[..<10_000]))
        let folder = "data/profiles/2/files"
        let stored = try mounts.folder.names(in: folder)
        #expect(stored.count == 1)
        let file = try OpenFile(mounts.path(folder + "/" + stored[0]), flags: O_RDWR)
        let place = header + 1_500_000
        try file.write(try file.read(count: 1, at: place).map { $0 ^ 1 }, at: place)
        return (mounts, first)
    }

    @Test("modified bytes are never served, but fetched again")
    func fetchedAgain() async throws {
        let (mounts, first) = try await Self.damaged()
        #expect(try first.read(count: 500_000, at: 1_400_000) == Array(Self.bytes[1_400_000..<1_900_000]))
        #expect(try mounts.read(Self.name) == Self.bytes)
        try await mounts.waitForState("stored", of: Self.name)
        try await wait(until: "the damaged copy is gone") {
            try mounts.folder.names(in: "data/profiles/2/damaged").isEmpty
        }
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
        try await mounts.mount("bob")
        #expect(try mounts.state(Self.name) == "stored")
        #expect(try mounts.read(Self.name) == Self.bytes)
    }

    @Test("hydrate fetches a damaged file again")
    func hydrated() async throws {
        let (mounts, _) = try await Self.damaged()
        #expect(try await mounts.leave("bob") == .code(0))
        try await mounts.mount("bob")
        #expect(try mounts.state(Self.name) == "stored")
        #expect(try await ChatFSProcess.run(["hydrate", mounts.path(Self.name)]).succeeded)
        #expect(try mounts.read(Self.name) == Self.bytes)
    }

    @Test("an unavailable file reports its readable part")
    func salvaged() async throws {
        let (mounts, first) = try await Self.damaged()
        try await mounts.change("UPDATE chunk SET stored = 0", in: "../relay/records.db")
        #expect(throws: SystemError.self) { try first.read(count: 500_000, at: 1_400_000) }
        #expect(throws: SystemError.self) { try mounts.read(Self.name) }
        func says() throws -> String {
            try ExtendedAttribute.text("user.chatfs.error", of: mounts.path(Self.name)) ?? ""
        }
        let sentence = try says()
        #expect(sentence.contains("chatfs cryptofile decrypt --salvage"), "\(sentence)")
        #expect(try await mounts.leave("bob") == .code(0))
        try await mounts.mount("bob")
        #expect(try says().contains("--salvage"))
        // The path is in the error.
        let folder = mounts.path("data/profiles/2/damaged")
        let copy = try #require(try PrivateFolder.names(in: OpenFile(folder, flags: O_RDONLY)).first)
        #expect(try says().contains("\(folder)/\(copy) OUT"))
        let out = mounts.path("out")
        let outcome = try await ChatFSProcess.run([
            "cryptofile", "decrypt", "--salvage", "\(folder)/\(copy)", out,
        ])
        #expect(!outcome.succeeded && outcome.errors.contains("The tag is wrong"), "\(outcome.errors)")
        let found = try OpenFile(out, flags: O_RDONLY).readAll(limit: 1 << 22)
        #expect(found.count == Self.size)
        #expect(found.indices.filter { found[$0] != Self.bytes[$0] } == [1_500_000])
    }
}
