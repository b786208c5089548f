import Base
import Namespace
import TestSupport
import Testing

@testable import FileSystem

@Suite struct PastedTreeTests {
    private static let chat = NodeID(2000)

    private struct Model {
        /// Paths of files with their drafts, and of folders with nil.
        var entries: [String: DraftID?] = [:]

        func children(of path: String) -> [String] {
            entries.keys.filter { $0.hasPrefix(path + "/") && !$0.dropFirst(path.count + 1).contains("/") }
        }

        func subtree(_ path: String) -> [String] {
            entries.keys.filter { $0 == path || $0.hasPrefix(path + "/") }
        }
    }

    @Test func randomChangesMatchAListOfPaths() throws {
        var random = SeededGenerator(state: 15)
        let tree = PastedTree(clock: SystemWallClock())
        var (model, ids, lastDraft): (Model, [String: NodeID], Int64) = (Model(), [:], 0)
        let root = try #require(tree.add(.pastedFolder, named: EntryName("F"), in: Self.chat))
        (model.entries["F"], ids["F"]) = (.some(nil), root.id)
        for step in 0..<3_000 {
            let folders = model.entries.filter { $0.value == nil }.keys.sorted()
            let parent = folders.randomElement(using: &random) ?? "F"
            let name = "n\(Int.random(in: 0..<4, using: &random))"
            let path = parent + "/" + name
            let folder = try #require(ids[parent])
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                guard model.entries[path] == nil, parent.count < 40 else { break }
                let isFolder = Bool.random(using: &random)
                lastDraft += 1
                let content = isFolder ? Node.Content.pastedFolder : .draft(DraftID(lastDraft))
                let node = try #require(tree.add(content, named: EntryName(name), in: folder))
                model.entries[path] = .some(isFolder ? nil : DraftID(lastDraft))
                ids[path] = node.id
            case 2:
                guard
                    let source = model.entries.keys.filter({ $0 != "F" }).sorted().randomElement(
                        using: &random),
                    !(path + "/").hasPrefix(source + "/"), !(source + "/").hasPrefix(path + "/"),
                    let id = ids[source]
                else { break }
                tree.move(id, to: EntryName(name), in: folder)
                for gone in model.subtree(path) { (model.entries[gone], ids[gone]) = (nil, nil) }
                for old in model.subtree(source) {
                    let new = path + old.dropFirst(source.count)
                    model.entries[new] = model.entries.removeValue(forKey: old)
                    ids[new] = ids.removeValue(forKey: old)
                }
            case 3:
                guard path != "F", let id = ids[path] else { break }
                tree.remove(id)
                for gone in model.subtree(path) { (model.entries[gone], ids[gone]) = (nil, nil) }
            default:
                let listed = tree.children(of: folder, after: nil).map(\.name.description).sorted()
                #expect(
                    listed
                        == model.children(of: parent).map { String($0.dropFirst(parent.count + 1)) }.sorted())
                #expect(tree.isEmpty(folder) == listed.isEmpty)
            }
            guard step % 50 == 0 else { continue }
            let found = tree.contents(of: root.id)
            #expect(Set(found.map { Self.text($0.path) }) == Set(model.entries.keys))
            #expect(tree.count == model.entries.count)
            for (path, node) in found {
                #expect(ids[Self.text(path)] == node.id)
                #expect(tree.root(of: node.id)?.id == root.id && tree.path(of: node.id) == path)
                if case .draft(let draft) = node.content { #expect(tree.node(of: draft)?.id == node.id) }
            }
        }
        #expect(model.entries.count > 3)
        tree.remove(root.id)
        #expect(tree.roots.isEmpty && tree.node(root.id) == nil && tree.machine(root.id) == nil)
        #expect(ids.values.allSatisfy { tree.node($0) == nil })
        #expect((1...lastDraft).allSatisfy { tree.node(of: DraftID($0)) == nil })
    }

    private static func text(_ path: [EntryName]) -> String { path.map(\.description).joined(separator: "/") }

    @Test func listingsResumeAtAnyPageSize() throws {
        let tree = PastedTree(clock: SystemWallClock())
        let root = try #require(tree.add(.pastedFolder, named: EntryName("F"), in: Self.chat))
        for number in 0..<100 { _ = tree.add(.pastedFolder, named: EntryName("\(number)"), in: root.id) }
        var (seen, last): ([NodeID], NodeID?) = ([], nil)
        while true {
            let part = tree.children(of: root.id, after: last, count: 7)
            guard let end = part.last else { break }
            seen += part.map(\.id)
            last = end.id
        }
        #expect(seen.count == 100 && Set(seen).count == 100)
        #expect(seen.allSatisfy(PastedTree.holds))
        #expect(
            !PastedTree.holds(.root) && !PastedTree.holds(NodeID(1 << 61))
                && !PastedTree.holds(NodeID(3 << 60)))
    }

    @Test func archiveNamesAreCutBetweenCharacters() {
        #expect(FolderArchives.name(ofArchive: EntryName("Holiday")) == EntryName("Holiday.zip"))
        for length in 240...255 {
            let name = EntryName(String(String(repeating: "ä☀", count: 60).utf8.prefix(length)) ?? "short")
            let archive = FolderArchives.name(ofArchive: name)
            #expect(archive.bytes.count <= EntryName.maxLength && archive.isValidUTF8)
            #expect(archive.description.hasSuffix(".zip"))
        }
    }
}
