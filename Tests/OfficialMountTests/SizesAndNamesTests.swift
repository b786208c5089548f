import Base
import Glibc
import Posix
import TestSupport
import Testing

/// Two profiles of the official core, each with a mount. A file copied into one is read unchanged at the
/// other.
@Suite(
    "File sizes and names between official cores", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct SizesAndNamesTests {
    /// The sizes surround the limits of the chunk plan; each file has another kind of name.
    private static let files: [(size: Int, name: String)] = [
        (1, "one byte.txt"), (65_000, "größe 🦊.bin"), (70_000, "-rf"), (261_120, "archive.tar.gz"),
        (261_121, #"it's "quoted" & $(odd); 100%.bin"#),
        (1_048_576, String(repeating: "ä", count: 120) + ".bin"),
        (5_500_000, "no extension"),
    ]

    @Test("two attached programs exchange files")
    func attached() async throws { try await exchange(.attached, .attached) }

    @Test("two programs started by mounts exchange files")
    func programs() async throws { try await exchange(.program, .program) }

    @Test(
        "the library exchanges files in both directions",
        .disabled(if: OfficialPrograms.lackLibrary, "OFFICIAL_BIN names no folder with libsimplex.so"))
    func library() async throws { try await exchange(.library, .attached) }

    private func exchange(_ one: OfficialPerson.Way, _ other: OfficialPerson.Way) async throws {
        let stage = try await OfficialStage.start("alice", "bob")
        let (alice, bob) = (stage.people[0], stage.people[1])
        try await alice.mount(one)
        try await bob.mount(other)
        for (sender, receiver) in [(alice, bob), (bob, alice)] {
            var digests: [String: String] = [:]
            for (size, name) in Self.files {
                let own = sender.name + " " + name
                digests[own] = try await sender.copy(
                    SystemRandomSource().bytes(size), as: own, to: receiver.name)
            }
            for (size, name) in Self.files {
                let own = sender.name + " " + name
                try await receiver.waitForFile(own, in: sender.name)
                try await sender.waitForState("sent", of: own, in: receiver.name)
                var status = stat()
                #expect(stat("\(receiver.chats)/\(sender.name)/\(own)", &status) == 0)
                #expect(status.st_size == size)
                #expect(try await receiver.read(own, in: sender.name) == digests[own], "\(own)")
                #expect(try await sender.read(own, in: receiver.name) == digests[own], "\(own)")
            }
            #expect(
                try receiver.names(in: sender.name).count { $0.hasPrefix(sender.name) } == Self.files.count)
        }
        for person in stage.people {
            #expect(try await person.leave() == .code(0))
        }
    }

    @Test("the core keeps a note across mounts")
    func notes() async throws {
        let stage = try await OfficialStage.start("alice")
        let alice = stage.people[0]
        try await alice.mount(.attached)
        let digest = try await alice.copy(
            SystemRandomSource().bytes(300_000), as: "note.bin", to: "Saved notes")
        try await alice.waitForState("stored", of: "note.bin", in: "Saved notes")
        #expect(try await alice.leave() == .code(0))
        try await alice.mount(.attached)
        #expect(try await alice.read("note.bin", in: "Saved notes") == digest)
        #expect(try alice.attribute("transport", of: "note.bin", in: "Saved notes") == "local")
        #expect(try await alice.leave() == .code(0))
    }
}
