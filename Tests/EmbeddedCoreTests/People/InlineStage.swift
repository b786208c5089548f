import Base
import ChatCore
import ChatProtocol
import InlineSending
import Store
import TestSupport
import Testing

@testable import EmbeddedCore

/// Alice's machine, and Eve, whose program sends inline files.
struct InlineStage {
    let internet: Internet
    let alice: Machine
    let eve: InlineSender

    init() async throws {
        internet = try Internet()
        alice = try internet.machine("alice")
        eve = try await InlineSender(named: "eve", at: internet.server)
        let invitation = try await alice.open().invite()
        try await eve.join(invitation.link)
        _ = try await wait(for: "the contact") { [alice] in
            try await alice.core.contact(of: invitation.connection)
        }
    }

    func end() async throws {
        await eve.stop()
        try await alice.core.shutDown()
    }

    var chat: ChatReference { get async throws { try await alice.core.chat(named: "eve") } }

    /// Returns a file's item once it has a wanted status.
    @discardableResult
    func item(
        _ name: String, in chat: String = "eve", when condition: @escaping (FileStatus) -> Bool
    ) async throws -> ChatItem {
        try await wait(for: "\(name) of the wanted status") {
            let chat = try await alice.core.chat(named: chat)
            let items = try await alice.core.items(of: chat, before: nil, count: 99)
            let item = items.first { $0.file?.name == name }
            return item?.file.map { condition($0.status) } == true ? item : nil
        }
    }

    /// Requests an offered file.
    func ask(for item: ChatItem) async throws {
        try await alice.core.receiveFile(#require(item.file).id, approvedRelays: false)
    }

    /// Offers a file, waits for its request, and sends some of its chunks.
    func begin(_ name: String, size: Int, chunks: Int) async throws -> (InlineSender.File, ChatItem) {
        eve.hold()
        let file = try await eve.offer(pattern(size), named: name)
        let item = try await item(name) { $0 == .rcvInvitation(described: true) }
        try await ask(for: item)
        for chunk in file.chunks.prefix(chunks) { try await eve.send(chunk) }
        let arrived = UInt64(chunks * 15_780)
        try await self.item(name) { $0 == .rcvTransfer(received: arrived, total: UInt64(size)) }
        return (file, item)
    }

    func sendRest(of file: InlineSender.File, after count: Int) async throws {
        for chunk in file.chunks.dropFirst(count) { try await eve.send(chunk) }
    }

    /// Numbers of inline rows in the database.
    func rows() throws -> (transfers: Int, chunks: Int) {
        try alice.world.database().read { connection in
            let counts = try ["inline_transfer", "inline_chunk"].map { table in
                try connection.first("SELECT count(*) AS count FROM \(table)") { Int($0.integer("count")) }
            }
            return (counts[0] ?? 0, counts[1] ?? 0)
        }
    }
}

extension FileStatus {
    /// Returns a failed file's problem.
    var failure: FileProblem? { if case .rcvError(let problem) = self { problem } else { nil } }
}
