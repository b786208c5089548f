import Base
import Glibc
import Posix
import TestSupport
import Testing

/// A core that dies while it is sending: a file is in the chat once, or the entry says that nobody knows.
@Suite(
    "An official core that ends in the middle of sending", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct CoreRestartTests {
    /// Moments after the file was placed for the core, in milliseconds: before its row is committed, and
    /// after.
    private static let moments = [0, 4, 15, 40, 120, 400]

    @Test("the attached program is killed and started again by its owner")
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

    @Test("the program that the mount started is killed, and the mount starts it again")
    func program() async throws {
        let stage = try await OfficialStage.start("alice", "bob")
        let (alice, bob) = (stage.people[0], stage.people[1])
        try await alice.mount(.program)
        try await bob.mount(.attached)
        try await copy(stage) { try await alice.killMountedProgram() }
        try await stage.leave()
    }

    @Test("the daemon is killed with its program, and the next mount goes on")
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
        "the daemon is killed with the library in it, and the next mount goes on",
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

    /// Copies files and strikes at each one's moment.
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
                // Between two commits of its own the core forgets an upload; the message is there all the same.
                let error = try alice.attribute("error", of: name, in: "bob")
                #expect(error?.contains("interrupted at the end of the upload") == true, "\(error ?? "")")
                try await bob.waitForFile(name, in: "alice")
                let retried = try await ChatFSProcess.run(
                    ["retry", "\(alice.chats)/bob/\(name)"], environment: ["HOME": alice.home])
                #expect(retried.succeeded, "\(retried.errors)")
                try await alice.waitForState("sent", of: name, in: "bob")
                // The dead message keeps its name from the new one: a second of this name.
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
        // A second message of one file would have the name with a number.
        let shown = try bob.names(in: "alice")
        #expect(Set(shown).isSubset(of: digests.keys), "\(shown)")
        #expect(Set(digests.keys).subtracting(shown).isSubset(of: unsure), "\(shown)")
    }
}
