import Base
import ChatCore
import FileSystem
import Glibc
import Namespace
import Outbox
import TestSupport
import Testing

/// Histories of one chat's folder compared with the names that `docs/user/files.md` prescribes: changes of drafts by
/// users, arrivals, deletions, sent drafts, and remounts.
@Suite("The tree against its model", .timeLimit(.minutes(10)))
struct TreeModelTests {
    private typealias Fixture = FileSystemFixture

    /// The expected folder.
    private struct Model {
        enum Kind: Equatable {
            case draft([UInt8])
            case item(ItemID)
        }

        struct Entry {
            var kind: Kind
            var number: NodeID
        }

        var entries: [String: Entry] = [:]
        /// Names of deleted messages: not reused, but permitted for writers.
        var buried: Set<String> = []

        /// Returns `name` or its next free variant. The histories never use names of this form.
        func free(_ name: String) -> String {
            let parts = name.split(separator: ".")
            let names = [name] + (2...99).map { "\(parts[0]) (\($0)).\(parts[1])" }
            return names.first { entries[$0] == nil && !buried.contains($0) } ?? name
        }

        func names(where isWanted: (Kind) -> Bool) -> [String] {
            entries.filter { isWanted($0.value.kind) }.keys.sorted()
        }
    }

    /// Successive mounts over the same index, core and drafts.
    private final class History {
        private var fixture: Fixture
        private let drafts = MemoryDrafts()
        private var model = Model()
        private var random: SeededGenerator
        private static let names = ["a.txt", "b.txt", "c.jpg", "d.part"]

        init(seed: UInt64) async throws {
            random = SeededGenerator(state: seed)
            fixture = try await Fixture.make(drafts: drafts)
        }

        private var fs: FileSystem { fixture.fileSystem }
        private var bob: NodeID { get throws { try fixture.id("bob") } }
        private func name() -> String { Self.names.randomElement(using: &random) ?? "a.txt" }

        /// Mostly an existing name.
        private func known() -> String {
            Bool.random(using: &random)
                ? model.entries.keys.sorted().randomElement(using: &random) ?? name() : name()
        }

        func step() async throws -> String {
            let step: String
            switch Int.random(in: 0..<14, using: &random) {
            case 0..<3: step = try await create()
            case 3: step = try await write()
            case 4, 5: step = try await rename()
            case 6, 7: step = try await unlink()
            case 8, 9: step = try await arrive()
            case 10: step = try await delete()
            case 11, 12: step = try await send()
            default: step = try await remount()
            }
            return step
        }

        private func create() async throws -> String {
            let (name, bytes) = (name(), [UInt8.random(in: 0...255, using: &random)])
            let step = "create \(name)"
            guard model.entries[name] == nil else {
                let answer = fs.create(EntryName(name), in: try bob, flags: O_WRONLY | O_CREAT | O_EXCL)
                #expect(await answer.code() == EEXIST, "\(step)")
                return step
            }
            try await fixture.write(bytes, to: name)
            model.entries[name] = Model.Entry(kind: .draft(bytes), number: try fixture.id("bob/" + name))
            return step
        }

        private func write() async throws -> String {
            let name = known()
            let answer = fs.create(EntryName(name), in: try bob, flags: O_WRONLY | O_CREAT | O_TRUNC)
            let step = "write \(name)"
            if case .item = model.entries[name]?.kind {
                #expect(await answer.code() == EPERM, "\(step)")
                return step
            }
            let (attributes, handle) = try await answer.value()
            let bytes: [UInt8] = [7, 7, 7]
            _ = try bytes.withUnsafeBytes { try fs.write(handle, $0, at: 0, by: getpid()).get() }
            fs.release(handle)
            let number = model.entries[name]?.number ?? attributes.id
            #expect(attributes.id == number, "\(step)")
            model.entries[name] = Model.Entry(kind: .draft(bytes), number: number)
            return step
        }

        private func rename() async throws -> String {
            let (old, new) = (known(), known())
            let step = "rename \(old) to \(new)"
            let expected: Int32 =
                switch (model.entries[old]?.kind, model.entries[new]?.kind) {
                case (nil, _): ENOENT
                case (.item, _), (.draft, .item): EPERM
                case (.draft, _): 0
                }
            let code = await fs.rename(EntryName(old), in: try bob, to: EntryName(new), in: try bob, flags: 0)
                .code()
            #expect(code == expected, "\(step)")
            if expected == 0, old != new { model.entries[new] = model.entries.removeValue(forKey: old) }
            return step
        }

        private func unlink() async throws -> String {
            let name = known()
            let step = "unlink \(name)"
            let expected: Int32 =
                switch model.entries[name]?.kind {
                case nil: ENOENT
                case .item: EPERM
                case .draft: 0
                }
            #expect(await fs.unlink(EntryName(name), in: try bob).code() == expected, "\(step)")
            if expected == 0 { model.entries[name] = nil }
            return step
        }

        private func arrive() async throws -> String {
            let wanted = name()
            let name = model.free(wanted)
            let item = fixture.core.received(wanted, in: Fixture.bob, size: 4)
            fixture.core.tell(.newChatItems([item]))
            try await wait(until: "\(wanted) arrives as \(name)") {
                try listed().contains { $0.name.description == name }
            }
            model.entries[name] = Model.Entry(kind: .item(item.id), number: try fixture.id("bob/" + name))
            return "arrive \(wanted) as \(name)"
        }

        private func delete() async throws -> String {
            let items = model.names { if case .item = $0 { true } else { false } }
            guard let name = items.randomElement(using: &random),
                case .item(let id) = model.entries[name]?.kind
            else { return "delete nothing" }
            fixture.core.state.withLock { $0.items.removeAll { $0.id == id } }
            fixture.core.tell(.chatItemsDeleted([(Fixture.bob, id)], .deleted))
            try await wait(until: "\(name) is gone") {
                try listed().allSatisfy { $0.name.description != name }
            }
            model.entries[name] = nil
            model.buried.insert(name)
            return "delete \(name)"
        }

        private func send() async throws -> String {
            let ready = model.names { if case .draft = $0 { true } else { false } }
            guard let name = ready.randomElement(using: &random),
                let draft = drafts.all.first(where: { $0.snapshot.name == Array(name.utf8) })
            else { return "send nothing" }
            let item = try await fixture.core.send(
                ComposedMessage(
                    id: "mark \(draft.id)", fileName: name, size: draft.snapshot.size,
                    source: FileSourceLocation(path: "", arguments: nil), content: MessageContent(kind: .file)
                ),
                to: Fixture.bob)
            draft.change { $0.state = .sent }
            drafts.tell(.became(draft, item))
            try await wait(until: "\(name) is sent") { drafts.acknowledged.contains(draft.id) }
            model.entries[name]?.kind = .item(item.id)
            return "send \(name)"
        }

        private func remount() async throws -> String {
            await fixture.end()
            fixture = try await Fixture(
                fixture.folder, fixture.core, .refused, .seconds(60), .seconds(10), SystemOutboxClock(),
                drafts)
            await fs.showEverything()
            return "remount"
        }

        private func listed() throws -> [Node] { fs.entries(try bob) }

        /// Returns true if the folder matches the model.
        func check() async throws -> Bool {
            let shown = Dictionary(uniqueKeysWithValues: try listed().map { ($0.name.description, $0.id) })
            guard shown == model.entries.mapValues(\.number) else { return false }
            for (name, entry) in model.entries {
                guard try fixture.id("bob/" + name) == entry.number else { return false }
                guard case .draft(let bytes) = entry.kind else { continue }
                guard try await fixture.read("bob/" + name, count: 10) == bytes else { return false }
            }
            return true
        }

        func end() async { await fixture.end() }
    }

    @Test("random histories with remounts agree", arguments: 1...12)
    func histories(seed: UInt64) async throws {
        let history = try await History(seed: seed)
        var steps: [String] = []
        for _ in 0..<80 {
            steps.append(try await history.step())
            guard try await history.check() else {
                Issue.record("seed \(seed): the folder differs after: \(steps.joined(separator: ", "))")
                break
            }
        }
        await history.end()
    }
}
