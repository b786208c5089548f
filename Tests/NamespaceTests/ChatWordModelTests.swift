import ChatCore
import TestSupport
import Testing

@testable import Namespace

/// Random histories of the words that select chats: actions of peers, the user, mounts and commands.
@Suite struct ChatWordModelTests {
    private final class Run {
        private let fixture: NamespaceFixture
        private var random: SeededGenerator
        private var chats: [Chat] = []
        private var next: Int64 = 10
        /// Chats, deleted ones included, that the mount does not know yet.
        private var untold: Set<ChatReference> = []
        private var isMounted = false
        /// The first chat that each word selected, or the one the user assigned.
        private(set) var owners: [String: ChatReference] = [:]

        init(seed: UInt64) throws {
            fixture = try NamespaceFixture()
            random = SeededGenerator(state: seed)
            fixture.names.close()
        }

        private static let names = ["a", "b", "@a", "#a", "@@b", "@11", "a (2)", "Saved notes", "Links"]
        private static let words =
            names.flatMap { [$0, "\($0) (2)", "\($0) (3)"] }.flatMap { [$0, "@\($0)", "#\($0)"] }
            + (10..<40).flatMap { ["@\($0)", "#\($0)"] }

        private func name() -> String { Self.names.randomElement(using: &random) ?? "a" }
        private var index: FolderIndex { FolderIndex(path: fixture.folder + "/names.sqlite", key: nil) }

        func step() throws {
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<4: arrive()
            case 4..<8: renamePeer()
            case 8..<12: try renameByUser()
            case 12..<13: try delete()
            case 13..<15: try isMounted ? unmount() : mount()
            default: try hear()
            }
            try compare()
        }

        private func arrive() {
            let reference = Bool.random(using: &random) ? ChatReference.direct(next) : .group(next)
            next += 1
            chats.append(NamespaceFixture.chat(reference, name()))
            untold.insert(reference)
        }

        private func renamePeer() {
            guard let place = chats.indices.randomElement(using: &random) else { return }
            let name = name()
            if chats[place].isNamedByUser { return }
            chats[place].displayName = name
            untold.insert(chats[place].reference)
        }

        /// Renames like the command, also beside a mount.
        private func renameByUser() throws {
            guard let place = chats.indices.randomElement(using: &random) else { return }
            let (name, chat) = (name(), chats[place].reference)
            guard !name.hasPrefix("@"), !name.hasPrefix("#") else { return }
            let named = NamedChats(chats, folders: try index.folders(of: chats))
            guard (try? named.check(alias: name, of: chat)) != nil else { return }
            chats[place].displayName = name
            chats[place].isNamedByUser = true
            untold.insert(chat)
            for word in [name, "@\(name)", "#\(name)"] { owners[word] = nil }
        }

        private func delete() throws {
            guard let place = chats.indices.randomElement(using: &random) else { return }
            let chat = chats.remove(at: place)
            if isMounted, let node = fixture.names.node(of: chat.reference) {
                _ = try fixture.names.remove(folder: node.id)
            }
            untold.remove(chat.reference)
        }

        private func mount() throws {
            fixture.names = try Namespace(path: fixture.folder + "/names.sqlite")
            _ = try fixture.names.show(chats.shuffled(using: &random))
            try fixture.names.removeUnseen()
            untold = []
            isMounted = true
        }

        private func unmount() {
            fixture.names.close()
            isMounted = false
        }

        /// Delivers some changes to the mount in any order.
        private func hear() throws {
            guard isMounted else { return }
            for chat in chats.shuffled(using: &random) where untold.contains(chat.reference) {
                if Bool.random(using: &random) { continue }
                _ = try fixture.names.show([chat])
                untold.remove(chat.reference)
            }
        }

        private func compare() throws {
            // The command's result and the daemon's.
            compare(NamedChats(chats, folders: try index.folders(of: chats)))
            guard isMounted else { return }
            var folders: [ChatReference: String] = [:]
            for chat in chats {
                folders[chat.reference] = fixture.names.node(of: chat.reference)?.name.description
            }
            compare(NamedChats(chats, folders: folders))
        }

        private func compare(_ named: NamedChats) {
            for chat in named.all {
                #expect((try? named.chat(chat.name))?.reference == chat.reference, "\(chat.name)")
            }
            for word in Self.words {
                guard let found = (try? named.chat(word))?.reference else { continue }
                let owner = owners[word, default: found]
                #expect(owner == found, "\(word) selected \(owner) and selects \(found)")
                owners[word] = owner
            }
        }
    }

    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func wordNeverSelectsAnotherChatLater(seed: UInt64) throws {
        let run = try Run(seed: seed)
        for _ in 0..<120 { try run.step() }
        #expect(run.owners.count > 20)
    }
}
