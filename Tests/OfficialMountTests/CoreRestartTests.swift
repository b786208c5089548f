import Base
import Glibc
import Posix
import TestSupport
import Testing

/// After the core dies during an upload, the file is in the chat once, or its state is `unsure`.
@Suite(
    "Official core killed during an upload", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct CoreRestartTests {
    /// Delays in milliseconds from the staging of the file to the kill. The core commits its row within this
    /// range.
    private static let moments = [0, 4, 15, 40, 120, 400]

    @Test("an upload survives an attached program's kill")
    func attached() async throws {
        let stage = try await OfficialStage.start("alice", "bob")
        let alice = stage.people[0]
        for person in stage.people { try await person.mount(.attached) }
        try await copy(stage) {
            try await alice.killProgram()
            try await alice.startProgram()
        }
        try await stage.leave()
    }

    @Test("an upload survives a mounted program's kill")
    func program() async throws {
        let stage = try await OfficialStage.start("alice", "bob")
        let (alice, bob) = (stage.people[0], stage.people[1])
        try await alice.mount(.program)
        try await bob.mount(.attached)
        try await copy(stage) { try await alice.killMountedProgram() }
        try await stage.leave()
    }

    @Test("an upload survives the kill of the daemon")
    func daemon() async throws {
        let stage = try await OfficialStage.start("alice", "bob")
        let (alice, bob) = (stage.people[0], stage.people[1])
        try await alice.mount(.program)
        try await bob.mount(.attached)
        try await copy(stage) {
            try await alice.killDaemon()
            try await alice.mount(.program)
        }
        try await stage.leave()
    }

    @Test(
        "an upload survives the kill of the library",
        .disabled(if: OfficialPrograms.lackLibrary, "OFFICIAL_BIN names no folder with libsimplex.so"))
    func library() async throws {
        let stage = try await OfficialStage.start("alice", "bob")
        let (alice, bob) = (stage.people[0], stage.people[1])
        try await alice.mount(.library)
        try await bob.mount(.attached)
        try await copy(stage) {
            try await alice.killDaemon()
            try await alice.mount(.library)
        }
        try await stage.leave()
    }

    /// Copies one file for each delay and calls `strike` after the delay.
    private func copy(_ stage: OfficialStage, _ strike: () async throws -> Void) async throws {
        let (alice, bob) = (stage.people[0], stage.people[1])
        var digests: [String: String] = [:]
        for moment in Self.moments {
            let known = Set(try alice.staged())
            let name = "after \(moment) ms.bin"
            digests[name] = try await alice.copy(
                SystemRandomSource().bytes(400_000 + moment), as: name, to: "bob")
            try await wait(until: "\(name) is placed for the core") {
                try !Set(alice.staged()).subtracting(known).filter { $0.hasPrefix("message-") }.isEmpty
            }
            try await Task.sleep(for: .milliseconds(moment))
            try await strike()
        }
        var unsure: Set<String> = []
        for (name, digest) in digests {
            try await alice.waitForState("sent", "unsure", "failed", of: name, in: "bob")
            let state = try alice.attribute("state", of: name, in: "bob")
            if state == "unsure" {
                unsure.insert(name)
                continue
            }
            if state == "failed" {
                // Between two of its commits the core loses an upload, but the message exists.
                let error = try alice.attribute("error", of: name, in: "bob")
                #expect(error?.contains("interrupted at the end of the upload") == true, "\(error ?? "")")
                try await bob.waitForFile(name, in: "alice")
                let retried = try await ChatFSProcess.run(
                    ["retry", "\(alice.chats)/bob/\(name)"], environment: ["HOME": alice.home])
                #expect(retried.succeeded, "\(retried.errors)")
                try await alice.waitForState("sent", of: name, in: "bob")
                // The failed message keeps its name, so the new message gets a number.
                let again = name.replacing(".bin", with: " (2).bin")
                try await bob.waitForFile(again, in: "alice")
                #expect(try await bob.read(again, in: "alice") == digest, "\(name)")
                try await wait(until: "the dead message is gone", within: .seconds(60)) {
                    access("\(bob.chats)/alice/\(name)", F_OK) != 0
                }
                (digests[name], digests[again]) = (nil, digest)
                continue
            }
            try await bob.waitForFile(name, in: "alice")
            #expect(try await bob.read(name, in: "alice") == digest, "\(name)")
        }
        // A duplicate message would have a number in its name.
        let shown = try bob.names(in: "alice")
        #expect(Set(shown).isSubset(of: digests.keys), "\(shown)")
        #expect(Set(digests.keys).subtracting(shown).isSubset(of: unsure), "\(shown)")
    }
}
