import Base
import ChatCore
import TestSupport
import Testing

@testable import Namespace

/// The tree of one chat against a table of names, over many changes and mounts.
@Suite struct NameModelTests {
    private typealias Fixture = NamespaceFixture

    private struct Model {
        /// Names in use by owner.
        var items: [Int64: String] = [:]
        var drafts: [Int64: String] = [:]
        /// Names of deleted entries.
        var buried: Set<String> = []

        var used: Set<String> { Set(items.values).union(drafts.values) }

        func free(_ wanted: String) -> String {
            if !used.contains(wanted), !buried.contains(wanted) { return wanted }
            var number = 2
            while used.contains("\(wanted) (\(number))") || buried.contains("\(wanted) (\(number))") {
                number += 1
            }
            return "\(wanted) (\(number))"
        }
    }

    /// A fixture with its model.
    private final class Run {
        let fixture: NamespaceFixture
        var model = Model()
        var numbers: [String: NodeID] = [:]
        var next: Int64 = 1
        var random: SeededGenerator

        init(seed: UInt64) throws {
            fixture = try NamespaceFixture()
            random = SeededGenerator(state: seed)
        }

        var names: Namespace { fixture.names }
        var folder: NodeID { fixture.folder(NamespaceFixture.alice) }

        func name() -> String { ["a", "b", "c"].randomElement(using: &random) ?? "a" }

        func arrive() throws {
            let wanted = name()
            model.items[next] = model.free(wanted)
            _ = try names.show([NamespaceFixture.item(next, wanted)])
            next += 1
        }

        func delete() throws {
            guard let item = model.items.keys.sorted().randomElement(using: &random) else { return }
            if let name = model.items.removeValue(forKey: item) { model.buried.insert(name) }
            _ = try names.remove([ItemID(item)])
        }

        func draft() throws {
            let wanted = name()
            let isTaken = model.used.contains(wanted)
            do {
                _ = try names.show(draft: DraftID(next), named: EntryName(wanted), in: folder)
                #expect(!isTaken)
                // A deleted file's name is permitted.
                model.drafts[next] = wanted
            } catch {
                #expect(isTaken && (error as NamespaceError).code == .nameTaken)
            }
            next += 1
        }

        func rename() throws {
            guard let draft = model.drafts.keys.sorted().randomElement(using: &random) else { return }
            let wanted = name()
            let isTaken = model.used.contains(wanted)
            do {
                try names.rename(draft: DraftID(draft), to: EntryName(wanted))
                #expect(!isTaken)
                model.drafts[draft] = wanted
            } catch {
                #expect(isTaken && (error as NamespaceError).code == .nameTaken)
            }
        }

        func removeDraft() throws {
            guard let draft = model.drafts.keys.sorted().randomElement(using: &random) else { return }
            model.drafts[draft] = nil
            #expect(try names.remove(draft: DraftID(draft)) != nil)
            #expect(try names.remove(draft: DraftID(draft)) == nil)
        }

        func send() throws {
            guard let draft = model.drafts.keys.sorted().randomElement(using: &random),
                let name = model.drafts.removeValue(forKey: draft)
            else { return }
            let before = names.node(of: DraftID(draft))?.id
            model.items[next] = name
            _ = try names.draft(
                DraftID(draft), became: NamespaceFixture.item(next, "other"), named: EntryName(name),
                modified: Timestamp(seconds: 1))
            #expect(names.node(of: ItemID(next))?.id == before, "the number stays")
            next += 1
        }

        func remount() throws {
            try fixture.remount()
            try names.forgetDrafts(except: Set(model.drafts.keys.map { DraftID($0) }))
            let items = model.items.keys.sorted().map { NamespaceFixture.item($0, "whatever") }
            try names.complete(NamespaceFixture.alice, with: items)
            for (draft, name) in model.drafts {
                _ = try names.show(draft: DraftID(draft), named: EntryName(name), in: folder)
            }
            try names.removeUnseen()
        }

        func compare() {
            #expect(Set(fixture.list()) == model.used && fixture.list().count == model.used.count)
            for (item, name) in model.items {
                let node = names.node(of: ItemID(item))
                #expect(node?.name.description == name)
                #expect(names.child(EntryName(name), of: folder)?.id == node?.id)
                // Permanent across mounts.
                if let known = numbers["item \(item)"] { #expect(node?.id == known) }
                numbers["item \(item)"] = node?.id
            }
            for (draft, name) in model.drafts {
                #expect(names.node(of: DraftID(draft))?.name.description == name)
            }
            for name in ["a", "b", "c"] where !model.used.contains(name) {
                #expect(names.child(EntryName(name), of: folder) == nil)
            }
        }
    }

    @Test(arguments: [11, 12, 13] as [UInt64])
    func randomChangesMatchATableOfNames(seed: UInt64) throws {
        let run = try Run(seed: seed)
        for step in 0..<400 {
            switch Int.random(in: 0..<13, using: &run.random) {
            case 0...2: try run.arrive()
            case 3, 4: try run.delete()
            case 5, 6: try run.draft()
            case 7, 8: try run.rename()
            case 9: try run.removeDraft()
            case 10, 11: try run.send()
            default: try run.remount()
            }
            if step % 20 == 0 { run.compare() }
        }
        try run.remount()
        run.compare()
        #expect(run.numbers.count > 20)
    }

    @Test func equalNamesAreNumberedWithoutGaps() throws {
        let fixture = try Fixture()
        _ = try fixture.names.show((1...300).map { Fixture.item($0, "same.txt") })
        let wanted = ["same.txt"] + (2...300).map { "same (\($0)).txt" }
        #expect(fixture.list() == wanted)
        // A deleted item's number is not reused.
        _ = try fixture.names.remove([ItemID(7)])
        _ = try fixture.names.show([Fixture.item(301, "same.txt")])
        #expect(fixture.names.node(of: ItemID(301))?.name.description == "same (301).txt")
    }
}
