import Base
import ChatCore
import ScriptedCore
import TestSupport

@testable import OfficialCore

/// An opened profile of the scripted core with its files in its own folder.
final class Stage: Sendable {
    let folder: TemporaryFolder
    let simplex = ScriptedSimpleX()
    private let present = Lock<ScriptedTransport?>(nil, rank: .collection)
    /// Closures that run before a command, by the command's prefix.
    private let before = Lock<[String: @Sendable () async -> Void]>([:])
    /// Closures that run after a command and before its answer, by the command's prefix.
    private let after = Lock<[String: @Sendable () async -> Void]>([:])

    /// Changes to answers, by the command's prefix.
    private let rewritings = Lock<[String: @Sendable (String) -> String]>([:])

    init(_ prepare: (inout ScriptedState) -> Void = { _ in }) throws {
        folder = try TemporaryFolder()
        simplex.change(prepare)
    }

    var transport: ScriptedTransport {
        present.withLock { transport in
            if let transport { return transport }
            let made = ScriptedTransport { [simplex, before, after, rewritings] text in
                let first = before.withLock { $0.first { text.hasPrefix($0.key) }?.value }
                await first?()
                let answer = simplex.answer(text)
                let last = after.withLock { $0.first { text.hasPrefix($0.key) }?.value }
                await last?()
                let rewriting = rewritings.withLock { $0.first { text.hasPrefix($0.key) }?.value }
                return answer.map { rewriting?($0) ?? $0 }
            }
            simplex.connect(
                tells: { made.tell($0) },
                breaks: {
                    made.disconnect()
                    made.connect()
                })
            transport = made
            return made
        }
    }

    /// Starts the next process: the same chats, a new connection.
    func restart() {
        present.withLock { $0 = nil }
        simplex.restart()
    }

    func before(_ beginning: String, _ body: @escaping @Sendable () async -> Void) {
        before.withLock { $0[beginning] = body }
    }

    func after(_ beginning: String, _ body: @escaping @Sendable () async -> Void) {
        after.withLock { $0[beginning] = body }
    }

    /// Rewrites the answers, for example to the form of a later version.
    func rewriting(_ beginning: String, _ body: @escaping @Sendable (String) -> String) {
        rewritings.withLock { $0[beginning] = body }
    }

    func settings(_ ownership: OfficialCoreSettings.Ownership = .attached) -> OfficialCoreSettings {
        var settings = OfficialCoreSettings(
            ownership: ownership, filesFolder: folder.path, temporaryFolder: folder.path,
            folder: folder.path + "/kept")
        settings.reconcileInterval = .milliseconds(50)
        settings.searchesForLostSend = [.zero, .milliseconds(20)]
        // Long timeouts, so that no answer is late on a busy machine.
        settings.connectTimeout = .seconds(300)
        settings.lostConnectionTimeout = .seconds(300)
        settings.suspensionTimeout = .seconds(300)
        return settings
    }

    /// A short connect timeout for a core that does not answer.
    var impatient: OfficialCoreSettings {
        var settings = settings()
        settings.connectTimeout = .milliseconds(500)
        return settings
    }

    func open(_ ownership: OfficialCoreSettings.Ownership = .attached) async throws -> OfficialCore {
        try await OfficialCore.open(transport, settings(ownership))
    }

    /// A staged file as the outbox creates it.
    func compose(_ name: String, id: String) throws -> ComposedMessage {
        let path = try folder.write(Array("content".utf8), to: "staged-\(id)")
        return ComposedMessage(
            id: id, fileName: name, size: 7, source: FileSourceLocation(path: path, arguments: nil),
            content: MessageContent(kind: .file))
    }
}

/// Waits until `condition` holds and returns whether it did. The limit only ends failed tests, because
/// hundreds of tests share the machine.
func eventually(_ condition: () async throws -> Bool) async rethrows -> Bool {
    let end = ContinuousClock.now + .seconds(300)
    while ContinuousClock.now < end {
        if try await condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return false
}
