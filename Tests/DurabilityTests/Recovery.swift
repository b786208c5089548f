import Base
import ChatCore
import FileSystem
import Glibc
import Namespace
import Outbox
import TestSupport

/// Mounts the profiles on a state of the disk and checks the promises.
struct Recovery {
    /// The folder with a copy of the state.
    let folder: String

    /// The violations; empty for none.
    func problems(_ promises: Promises) async -> [String] {
        do {
            return try await problems(of: "alice") { try await problemsOfAlice($0, promises) }
                + problems(of: "bob") { try await problemsOfBob($0, promises) }
        } catch {
            return ["it cannot be mounted: \(error)"]
        }
    }

    private func problems(
        of name: String, _ look: (RecoveredMount) async throws -> [String]
    ) async throws -> [String] {
        let mount = try await RecoveredMount.open(name, in: folder)
        do {
            let problems = try await look(mount)
            try await mount.shutDown()
            return problems
        } catch {
            try await mount.shutDown()
            throw error
        }
    }

    private func problemsOfAlice(_ mount: RecoveredMount, _ promises: Promises) async throws -> [String] {
        var problems = try await unsettled(mount)
        let (kept, served) = try await served(by: mount)
        problems += served.problems.map { "alice: \($0)" }
        var sent: [String: [ChatItem]] = [:]
        for item in try await items(of: mount.core) where item.direction == .sent {
            guard let file = item.file, file.status != .sndCancelled else { continue }
            sent[file.name, default: []].append(item)
        }
        for (name, items) in sent where items.count > 1 {
            problems.append("\(name) was sent \(items.count) times")
        }
        for name in promises.kinds.keys {
            let items = sent[name] ?? []
            if promises.holds(.sent, name), items.isEmpty { problems.append("\(name) was not sent") }
            if promises.holds(.never, name), let item = items.first {
                problems.append(
                    "\(name) was removed and sent, and is \(item.file.map { "\($0.status)" } ?? "")")
            }
            if promises.holds(.durable, name), items.isEmpty, !kept.contains(ScriptedDay.stem(of: name)) {
                problems.append("\(name) was made durable and is lost")
            }
        }
        return problems
    }

    private func problemsOfBob(_ mount: RecoveredMount, _ promises: Promises) async throws -> [String] {
        let (_, served) = try await served(by: mount)
        var problems = served.problems.map { "bob: \($0)" }
        let received = try await items(of: mount.core).filter { $0.direction == .received }
        for case .rcvError(let problem)? in received.map({ $0.file?.status }) {
            problems.append("bob: \(problem.kind)")
        }
        let names = Set(received.compactMap { $0.file?.name })
        for name in promises.kinds.keys {
            if promises.holds(.received, name), !names.contains(name) {
                problems.append("bob has lost \(name)")
            }
            if promises.holds(.stored, name), !served.whole.contains(name) {
                problems.append("bob had stored \(name), and cannot read it")
            }
        }
        return problems
    }

    /// Waits until all work has ended and the tree shows the existing drafts. Reports work that never ends.
    private func unsettled(_ mount: RecoveredMount) async throws -> [String] {
        let deadline = ContinuousClock.now + .seconds(20)
        while true {
            let drafts = mount.outbox.drafts().map { ($0.id, $0.snapshot) }
            let onTheirWay = drafts.map(\.1).filter { [.queued, .sending].contains($0.state) }
            let shown = try await mount.files().compactMap(\.draft)
            let isShown = Set(shown) == Set(drafts.map(\.0)) && shown.count == drafts.count
            if onTheirWay.isEmpty, isShown { return [] }
            if ContinuousClock.now > deadline {
                return onTheirWay.map {
                    "\(String(decoding: $0.name, as: UTF8.self)) stays \($0.state): \($0.problem ?? "")"
                } + (isShown ? [] : ["the tree shows the drafts \(shown), and there are \(drafts.map(\.0))"])
            }
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    /// Reads everything that is shown as local. For drafts only correct content counts: unsynchronised content may be
    /// damaged.
    /// - Returns: The stems of complete drafts, the names of complete files, and the violations.
    private func served(
        by mount: RecoveredMount, attempts: Int = 3
    ) async throws -> (drafts: Set<String>, files: (whole: Set<String>, problems: [String])) {
        var (kept, whole): (Set<String>, Set<String>) = ([], [])
        var problems: [String] = []
        for node in try await mount.files() {
            if let id = node.draft {
                guard let draft = mount.outbox.draft(id) else { continue }
                let name = String(decoding: draft.snapshot.name, as: UTF8.self)
                if (try? await mount.read(node)) == ScriptedDay.content(of: name) {
                    kept.insert(ScriptedDay.stem(of: name))
                }
                continue
            }
            // Remote files cannot be served: their relay is gone.
            guard let file = await mount.item(node)?.file, file.status.isReadable else { continue }
            do {
                if try await mount.read(node) == ScriptedDay.content(of: file.name) {
                    whole.insert(file.name)
                } else {
                    problems.append("\(node.name) has other bytes")
                }
            } catch let failure where failure.code == ESTALE && attempts > 1 {
                // An item and its draft had a node each until now. A program looks the name up again.
                return try await served(by: mount, attempts: attempts - 1)
            } catch {
                problems.append("\(node.name) (\(file.status)) is said to be here: \(error)")
            }
        }
        return (kept, (whole, problems))
    }

    private func items(of core: any ChatCore) async throws -> [ChatItem] {
        var items: [ChatItem] = []
        for chat in try await core.chats() {
            items += try await core.items(of: chat.reference, before: nil, count: 1000)
        }
        return items
    }
}

extension Node {
    fileprivate var draft: Int64? { if case .draft(let id) = content { id.rawValue } else { nil } }
}
