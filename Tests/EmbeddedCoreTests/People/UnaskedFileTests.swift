import Base
import ChatCore
import ChatProtocol
import Glibc
import Posix
import TestSupport
import Testing

@testable import EmbeddedCore

/// Files that are received though nobody asks for them, of a contact who chooses what their messages say.
@Suite struct UnaskedFileTests {
    @Test(arguments: [12 << 20, 2 << 30])
    func descriptionsOfLargerFilesAreNotFetched(described: Int) async throws {
        let stage = try await ToldStage()
        let file = try await stage.offer(
            "a.jpg", size: 1000, stage.world.relay.put([1], describing: described))
        #expect(try await stage.status(of: file) == .rcvInvitation(described: true))
        for command in [
            { try await stage.core.receiveFile(file, approvedRelays: true) },
            { _ = try await stage.core.claimFile(file, approvedRelays: true) },
        ] as [@Sendable () async throws -> Void] {
            #expect(await refusal(command)?.code == .file(.damaged))
        }
        #expect(stage.world.relay.state.withLock { $0.downloads } == 0)
        await stage.core.shutDown()
    }

    @Test func fullDiskMakesUnaskedDownloadsOffersAgain() async throws {
        let stage = try await ToldStage()
        let full = TransferFailure(problem: FileProblem(.noSpace, "It is full."), isTemporary: true)
        stage.world.relay.state.withLock { $0.downloadFailures = [full] }
        let file = try await stage.offer("a.jpg", size: 1000, stage.world.relay.put(pattern(1000)))
        try await wait(until: "it is given up") {
            try await stage.status(of: file) == .rcvAborted(full.problem)
        }
        let part = stage.core.store.folders.incomingPath(of: file)
        try await wait(until: "nothing is left of it") { access(part, F_OK) != 0 }
        #expect(stage.world.relay.state.withLock { $0.downloads } == 1)

        // Asked for, it is tried until there is space.
        stage.world.relay.state.withLock { $0.downloadFailures = [full, full] }
        try await stage.core.receiveFile(file, approvedRelays: false)
        try await wait(until: "it is here") { try await stage.status(of: file) == .rcvComplete }
        #expect(stage.world.relay.state.withLock { $0.downloads } == 4)
        await stage.core.shutDown()
    }
}

extension ToldStage {
    /// Bob sends a picture that is on a relay.
    @discardableResult
    func offer(_ name: String, size: UInt64, _ description: String) async throws -> FileID {
        let id = SharedMessageID(from: SystemRandomSource())
        let content = ChatContent(.image(preview: "data:image/jpg;base64,AA=="))
        try await say(
            .message(NewMessage(content, file: FileInvitation(name: name, size: size))), as: id)
        for part in DescriptionPart.parts(of: description, limit: 15_000) {
            try await say(.description(of: id, part))
        }
        return try await wait(for: "\(name) with its description") {
            let file = try await items.first { $0.file?.name == name }?.file
            return file?.status == .rcvInvitation(described: false) ? nil : file?.id
        }
    }

    var items: [ChatItem] {
        get async throws {
            try await core.items(of: core.chat(named: "bob"), before: nil, count: 1000)
        }
    }

    func status(of file: FileID) async throws -> FileStatus? {
        try await items.first { $0.file?.id == file }?.file?.status
    }
}
