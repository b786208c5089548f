import Base
import ChatCore
import Glibc
import TestSupport
import Testing

@testable import Links

/// Compares rows, files and events of the folder of links with a model after random operations of users, the core and
/// restarts.
@Suite("The folder of links through random histories")
struct LinkHistoryTests {
    private struct Entry: Equatable {
        var kind: LinkKind
        var status: LinkStatus
        var problem: FileProblem?
        var hasBegun = false
        var hasLink = false
        /// Whether the folder has its CryptoFile.
        var isKept = true
        var main: Int64?
        /// For an added link.
        var number: UInt8?

        init(_ kind: LinkKind, _ status: LinkStatus) { (self.kind, self.status) = (kind, status) }

        init(_ row: LinkRow, number: UInt8?) {
            (kind, status, problem, hasBegun) = (row.kind, row.status, row.problem, row.hasBegun)
            (hasLink, isKept, main) = (row.kind != .added && row.link != nil, row.storedName != nil, row.main)
            self.number = number
        }
    }

    /// The model and the tested store.
    private final class World {
        let stage: LinkStage
        var store: LinkStore
        var outcomes: LinkOutcomes { LinkOutcomes(store: store) }
        var events: AsyncStream<ChatEvent>
        var entries: [Int64: Entry] = [:]
        /// The items that a listener knows.
        var told: Set<ItemID> = []
        var random: SeededGenerator

        init(seed: UInt64) throws {
            stage = try LinkStage()
            store = stage.store()
            events = store.events.listen()
            random = SeededGenerator(state: seed)
        }

        func change(_ id: Int64, _ body: (inout Entry) -> Void) {
            guard var entry = entries[id] else { return }
            body(&entry)
            entries[id] = entry
        }

        func pick(_ fits: (Entry) -> Bool = { _ in true }) -> Int64? {
            entries.filter { fits($0.value) }.keys.sorted().randomElement(using: &random)
        }

        /// The events of the current process.
        func hear() async {
            store.events.close()
            for await event in events {
                switch event {
                case .newChatItems(let items): told.formUnion(items.map(\.id))
                case .chatItemsDeleted(let items, _): told.subtract(items.map(\.item))
                case .itemChanged(_, .described), .itemChanged(_, .accepted),
                    .itemChanged(_, .cancelledByPeer):
                    Issue.record("a change that links never tell")
                case .itemChanged(let item, _):
                    #expect(told.contains(item.id), "told of \(item.id) that is not there")
                case .fileProgress: break
                default: Issue.record("an event that links never tell")
                }
            }
        }

        /// Ends the process at any time; the next one removes unnamed files.
        func restart() async throws {
            await hear()
            store.close()
            if Bool.random(using: &random), !stage.kept.isEmpty {
                try stage.folder.write([1], to: "staging/links-3/left behind")
            }
            store = stage.store()
            events = store.events.listen()
            try store.open()
        }

        func check() throws {
            let rows = try store.read(or: []) { table in
                try entries.keys.sorted().compactMap { try table.row($0) }
            }
            #expect(
                Dictionary(
                    uniqueKeysWithValues: rows.map { ($0.id, Entry($0, number: entries[$0.id]?.number)) })
                    == entries)
            let visible = entries.filter { $0.value.status != .removed }
            let listed = try store.read(or: []) { try $0.rows(before: nil, count: 1000) }
            #expect(listed.map(\.id) == visible.keys.sorted(by: >))
            #expect(try store.read(or: 0) { try $0.count() } == visible.count)
            #expect(stage.kept.count == entries.values.filter(\.isKept).count)
        }
    }

    private static let problem = FileProblem(.unreachable, "Away.")

    private func act(_ world: World) async throws {
        switch Int.random(in: 0..<13, using: &world.random) {
        case 0, 1: try upload(world)
        case 2: try add(world)
        case 3, 4: try remove(world)
        case 5: cancel(world)
        case 6: try begin(world)
        case 7: try await complete(world)
        case 8: await fail(world)
        case 9: await warn(world)
        case 10: try await takeBack(world)
        case 11: try lose(world)
        default: try await world.restart()
        }
    }

    private func upload(_ world: World) throws {
        let id = "message \(Int.random(in: 0..<30, using: &world.random))"
        let known = try world.store.read(or: nil) { try $0.row(sentAs: id) }
        let message = try world.stage.message("a.bin", [1, 2, 3], id: id)
        let row = try world.store.add(message)
        #expect(access(message.source.path, F_OK) != 0)
        #expect(known == nil || known?.id == row.id)
        guard known == nil else { return }
        world.entries[row.id] = Entry(.upload, .uploading)
        world.told.insert(row.item)
    }

    private func add(_ world: World) throws {
        let number = UInt8.random(in: 1...5, using: &world.random)
        let known = world.entries.first { $0.value.number == number }
        let row = try world.store.add(world.stage.addition(number))
        if let known, known.value.status != .lost { return #expect(row.id == known.key) }
        if let known { world.entries[known.key] = nil }
        var entry = Entry(.added, .offered)
        (entry.isKept, entry.number) = (false, number)
        world.entries[row.id] = entry
    }

    private func remove(_ world: World) throws {
        guard let id = world.pick(), var entry = world.entries[id] else { return }
        // A missing entry keeps the others from being removed.
        #expect(throws: ChatError.self) { try world.store.remove([id, 999_999]) }
        guard entry.status != .removed else {
            #expect(throws: ChatError.self) { try world.store.remove([id]) }
            return
        }
        let remaining = try world.store.remove([id])
        for shortcut in world.entries.filter({ $0.value.main == id }).keys { world.entries[shortcut] = nil }
        let isTakenBack = entry.kind == .upload && entry.hasBegun
        #expect(remaining == (isTakenBack ? [id] : []))
        (entry.status, entry.problem) = (.removed, nil)
        world.entries[id] = isTakenBack ? entry : nil
    }

    private func cancel(_ world: World) {
        guard let id = world.pick(), var entry = world.entries[id] else { return }
        guard entry.kind == .upload, [.uploading, .uploaded, .failed].contains(entry.status) else {
            let error = #expect(throws: ChatError.self) { try world.store.cancel(id) }
            return #expect(error?.code == (entry.status == .removed ? .noSuchFile : .invalidCommand))
        }
        #expect(throws: Never.self) { try world.store.cancel(id) }
        for shortcut in world.entries.filter({ $0.value.main == id }).keys { world.entries[shortcut] = nil }
        (entry.status, entry.problem) = (.cancelled, nil)
        world.entries[id] = entry
    }

    private func begin(_ world: World) throws {
        guard let id = world.pick({ $0.kind == .upload && $0.status == .uploading }) else { return }
        try world.store.commit { try $0.table.noteBegun(id, upload: FileID(id), expires: nil) }
        world.change(id) { $0.hasBegun = true }
    }

    private func complete(_ world: World) async throws {
        guard let id = world.pick({ $0.kind == .upload }) else { return }
        try await world.outcomes.complete(id, LinkStage.link())
        guard world.entries[id]?.status == .uploading else { return }
        world.change(id) { ($0.status, $0.problem, $0.hasLink) = (.uploaded, nil, true) }
        let shortcut = try #require(try world.store.read(or: []) { try $0.shortcuts(of: id) }.first)
        world.entries[shortcut.id] = Entry(.shortcut, .stored)
        world.change(shortcut.id) { $0.main = id }
    }

    private func fail(_ world: World) async {
        guard let id = world.pick({ $0.kind == .upload }) else { return }
        await world.outcomes.fail(id, Self.problem)
        guard world.entries[id]?.status == .uploading else { return }
        world.change(id) { ($0.status, $0.problem) = (.failed, Self.problem) }
    }

    private func warn(_ world: World) async {
        guard let id = world.pick({ $0.kind == .upload }) else { return }
        let isOver = Bool.random(using: &world.random)
        if isOver {
            await world.outcomes.tellProgress(id, 1, 2)
        } else {
            await world.outcomes.warn(id, Self.problem)
        }
        guard world.entries[id]?.status == .uploading else { return }
        world.change(id) { $0.problem = isOver ? nil : Self.problem }
    }

    private func takeBack(_ world: World) async throws {
        guard let id = world.pick({ $0.status == .removed || $0.status == .cancelled }) else { return }
        let row = try #require(try world.store.read(or: nil) { try $0.row(id) })
        try await world.outcomes.takenBack(row)
        if row.status == .removed {
            world.entries[id] = nil
        } else {
            world.change(id) { ($0.hasBegun, $0.hasLink) = (false, false) }
        }
    }

    private func lose(_ world: World) throws {
        guard let id = world.pick({ $0.kind == .added && $0.status == .offered }) else { return }
        try world.store.commit { change in
            #expect(try change.table.setStatus(.lost, of: id, from: [.offered], problem: Self.problem))
            try change.tell(.failed(Self.problem), of: id)
        }
        world.change(id) { ($0.status, $0.problem) = (.lost, Self.problem) }
    }

    @Test("rows, files and events agree after random operations", arguments: 1..<7)
    func histories(seed: UInt64) async throws {
        let world = try World(seed: seed)
        for _ in 0..<120 {
            try await act(world)
            try world.check()
        }
        await world.hear()
        #expect(
            world.told
                == Set(
                    world.entries.filter { $0.value.status != .removed }.map {
                        ItemID(ItemID.firstOfLinks.rawValue + $0.key)
                    }))
        world.store.close()
    }
}
