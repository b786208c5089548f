import Base
import Cryptography
import Network
import SMP
import SMPClient
import XFTP

/// Tests relays by creating and deleting a queue or a chunk.
struct RelayTrial: Sendable {
    var proxy: SOCKSProxy?

    /// The smallest chunk size in bytes.
    private static let chunkSize = 65_536

    /// Tests all relays concurrently and returns their findings in order.
    func findings(of relays: [AnyRelay]) async -> [Finding] {
        await withTaskGroup(of: (Int, Finding).self) { group in
            for (number, relay) in relays.enumerated() {
                group.addTask { (number, await finding(of: relay)) }
            }
            var findings: [(Int, Finding)] = []
            for await finding in group { findings.append(finding) }
            return findings.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private func finding(of relay: AnyRelay) async -> Finding {
        let begun = ContinuousClock.now
        do {
            let done =
                switch relay {
                case .messages(let server): try await tryMessages(server)
                case .files(let relay): try await tryFiles(relay)
                }
            let time = begun.duration(to: .now) / .milliseconds(1)
            return .good(
                "\(relay.text): identity verified; \(done), in \(Int(time.rounded(.up))) ms")
        } catch {
            return .failed("\(relay.text): \(Finding.reason(of: error))")
        }
    }

    private func tryMessages(_ server: ServerAddress) async throws -> String {
        let connections = QueueConnections(ConnectionSettings(policy: .everything, proxy: proxy))
        try await concluding(with: connections.close) { try await makeQueue(on: server, connections) }
        return "a queue was created and deleted"
    }

    private func makeQueue(on server: ServerAddress, _ connections: QueueConnections) async throws {
        let key = SigningKey.generate()
        let queue = Command.NewQueue(
            recipientKey: key.publicKey, boxKey: AgreementKey.generate().publicKey,
            password: server.password.map { Array($0.utf8) }, subscribes: false, mode: .messaging)
        let answer = try await connections.ask(
            ClientRequest(.new(queue), key: .signing(key)), of: server)
        guard case .created(let ids) = answer else { throw refusal(answer, of: "creates no queue") }
        let deleted = try await connections.ask(
            ClientRequest(.delete, of: ids.recipientID, key: .signing(key)), of: server)
        guard deleted == .ok else { throw refusal(deleted, of: "does not delete its new queue") }
    }

    private func refusal(_ answer: Answer, of what: String) -> SMPError {
        guard case .error(let error) = answer else {
            return SMPError(.malformed, "It \(what): its answer is invalid.")
        }
        if error == .authorization {
            return SMPError(
                SMPError(error).code,
                "It creates no queue for you: the password is missing or wrong, or the server is closed.")
        }
        return SMPError(SMPError(error).code, "It \(what).", cause: SMPError(error))
    }

    private func tryFiles(_ relay: RelayAddress) async throws -> String {
        var settings = XFTPClientSettings(policy: .everything)
        settings.retry.tries = 1
        settings.proxy = proxy
        let client = XFTPClient(settings: settings)
        defer { client.close() }
        let bytes = SystemRandomSource().bytes(Self.chunkSize)
        let buffer = ChunkBuffer(capacity: Self.chunkSize)
        buffer.count = Self.chunkSize
        buffer.bytes.copyBytes(from: bytes)
        let key = SigningKey.generate()
        let chunk = try await client.create(
            size: UInt32(Self.chunkSize), digest: SHA256.hash(bytes), senderKey: key,
            recipientKeys: [.generate()], on: relay)
        try await client.upload(buffer, to: chunk.senderID, signedBy: key, on: relay)
        try await client.delete(chunk.senderID, signedBy: key, on: relay)
        return "a chunk was uploaded and deleted"
    }
}
