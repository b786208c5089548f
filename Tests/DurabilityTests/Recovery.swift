import Base
import ChatCore
import Cryptography
import EmbeddedCore
import Foundation
import Namespace
import Posix
import TestSupport

@testable import Outbox

/// What becomes of a state of the disk when the profiles are opened again, and whether that is what was promised.
struct Recovery {
    /// A copy of the state lies here.
    let folder: String

    /// What is wrong; empty: nothing.
    func problems(_ promises: Promises) async -> [String] {
        do {
            return try await problemsOfAlice(promises) + problemsOfBob(promises)
        } catch {
            return ["it cannot be opened: \(error)"]
        }
    }

    private func problemsOfAlice(_ promises: Promises) async throws -> [String] {
        let core = try await EmbeddedCore.open(DataDirectory(folder), profile: "alice")
        do {
            let result = try await problems(of: core, promises)
            await core.shutDown()
            return result
        } catch {
            await core.shutDown()
            throw error
        }
    }

    private func problems(of core: EmbeddedCore, _ promises: Promises) async throws -> [String] {
        try Namespace(path: core.folder + "/names.sqlite").close()
        let outbox = try Outbox(
            core: core, folder: PrivateFolder(core.folder + "/outbox", purpose: "chatfs outbox"),
            quietTime: .milliseconds(1), clock: SystemOutboxClock(), wallClock: SystemWallClock(),
            boot: "after the cut", step: { _ in })
        outbox.start()
        let deadline = ContinuousClock.now + .seconds(20)
        while outbox.drafts().contains(where: { isOnItsWay($0) }), ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(1))
        }
        var problems: [String] = []
        var kept: Set<String> = []
        for draft in outbox.drafts() {
            let snapshot = draft.snapshot
            let name = String(decoding: snapshot.name, as: UTF8.self)
            if isOnItsWay(draft) {
                problems.append("\(name) stays \(snapshot.state): \(snapshot.problem ?? "")")
            }
            guard [.recovered, .draft].contains(snapshot.state) else { continue }
            let expected = ScriptedDay.content(of: name)
            // What nobody made durable may be damaged.
            if (try? draft.bytes(upTo: expected.count + 1)) == expected {
                kept.insert(ScriptedDay.stem(of: name))
            }
        }
        var counts: [String: Int] = [:]
        for item in try await items(of: core) where item.direction == .sent {
            guard let file = item.file else { continue }
            if file.status != .sndCancelled { counts[file.name, default: 0] += 1 }
            if let problem = damage(of: file) { problems.append("alice: \(problem)") }
        }
        await outbox.shutDown()
        for (name, count) in counts where count > 1 { problems.append("\(name) was sent \(count) times") }
        for name in promises.kinds.keys {
            let count = counts[name] ?? 0
            if promises.holds(.sent, name), count == 0 { problems.append("\(name) was not sent") }
            if promises.holds(.never, name), count > 0 { problems.append("\(name) was removed and sent") }
            if promises.holds(.durable, name), count == 0, !kept.contains(ScriptedDay.stem(of: name)) {
                problems.append("\(name) was made durable and is lost")
            }
        }
        return problems
    }

    private func isOnItsWay(_ draft: Draft) -> Bool { [.queued, .sending].contains(draft.state) }

    private func problemsOfBob(_ promises: Promises) async throws -> [String] {
        let core = try await EmbeddedCore.open(DataDirectory(folder), profile: "bob")
        let received: [ChatItem]
        do {
            received = try await items(of: core).filter { $0.direction == .received }
        } catch {
            await core.shutDown()
            throw error
        }
        await core.shutDown()
        var problems: [String] = []
        for item in received {
            guard let file = item.file else { continue }
            if case .rcvError(let problem) = file.status { problems.append("\(file.name): \(problem.kind)") }
            if let problem = damage(of: file) { problems.append("bob: \(problem)") }
        }
        let names = Set(received.compactMap { $0.file?.name })
        for name in promises.kinds.keys where promises.holds(.received, name) && !names.contains(name) {
            problems.append("bob has lost \(name)")
        }
        return problems
    }

    private func items(of core: EmbeddedCore) async throws -> [ChatItem] {
        var items: [ChatItem] = []
        for chat in try await core.chats() {
            items += try await core.items(of: chat.reference, before: nil, count: 1000)
        }
        return items
    }

    /// A file that is said to be here must be here, whole and right.
    private func damage(of file: ChatFile) -> String? {
        guard file.status.isReadable, let source = file.source, let arguments = source.arguments else {
            return nil
        }
        do {
            let reader = try CryptoFileReader(file: OpenFile(source.path, flags: 0), arguments: arguments)
            var bytes: [UInt8] = []
            try reader.decrypt { bytes += $0 }
            return bytes == ScriptedDay.content(of: file.name) ? nil : "\(file.name) has other bytes"
        } catch {
            return "\(file.name) (\(file.status)) is said to be here: \(error)"
        }
    }
}

extension Draft {
    /// What it holds.
    fileprivate func bytes(upTo count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let read = try bytes.withUnsafeMutableBytes { try self.read(into: $0, at: 0) }
        return Array(bytes.prefix(read))
    }
}
