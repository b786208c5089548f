import Base
import ChatCore
import ScriptedCore
import TestSupport

@testable import OfficialCore

/// A profile of the scripted core, opened, with everything in a folder of its own.
final class Stage: Sendable {
    let folder: TemporaryFolder
    let simplex = ScriptedSimpleX()
    private let present = Lock<ScriptedTransport?>(nil, rank: .collection)
    /// Commands before which something happens, by their beginnings.
    private let before = Lock<[String: @Sendable () async -> Void]>([:])
    /// Commands after which something happens before they are answered.
    private let after = Lock<[String: @Sendable () async -> Void]>([:])

    /// What becomes of the answers to commands, by their beginnings.
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

    /// The next process of the core: the same chats, a new connection.
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

    /// As a later version of the core would write it.
    func rewriting(_ beginning: String, _ body: @escaping @Sendable (String) -> String) {
        rewritings.withLock { $0[beginning] = body }
    }

    func settings(_ ownership: OfficialCoreSettings.Ownership = .attached) -> OfficialCoreSettings {
        var settings = OfficialCoreSettings(
            ownership: ownership, filesFolder: folder.path, temporaryFolder: folder.path,
            folder: folder.path + "/kept")
        settings.reconcileInterval = .milliseconds(50)
        settings.searchesForLostSend = [.zero, .milliseconds(20)]
        // What is answered at all is waited for, however busy the machine is.
        settings.connectTimeout = .seconds(300)
        settings.lostConnectionTimeout = .seconds(300)
        settings.suspensionTimeout = .seconds(300)
        return settings
    }

    /// With which a core that does not answer is not waited for.
    var impatient: OfficialCoreSettings {
        var settings = settings()
        settings.connectTimeout = .milliseconds(500)
        return settings
    }

    func open(_ ownership: OfficialCoreSettings.Ownership = .attached) async throws -> OfficialCore {
        try await OfficialCore.open(transport, settings(ownership))
    }

    /// A file handed over for sending, as the outbox does.
    func compose(_ name: String, id: String) throws -> ComposedMessage {
        let path = try folder.write(Array("content".utf8), to: "staged-\(id)")
        return ComposedMessage(
            id: id, fileName: name, size: 7, source: FileSourceLocation(path: path, arguments: nil),
            content: MessageContent(kind: .file))
    }
}

/// Waits until `condition` holds; whether it came to hold. The limit ends hopeless tests and measures nothing: hundreds
/// of tests share two cores.
func eventually(_ condition: () async throws -> Bool) async rethrows -> Bool {
    let end = ContinuousClock.now + .seconds(300)
    while ContinuousClock.now < end {
        if try await condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return false
}
