import Base
import ChatCore
import Testing

@Suite("Selecting chats by words")
struct ChatNamingTests {
    private static func chat(_ reference: ChatReference, _ name: String, alias: Bool = false) -> Chat {
        Chat(
            reference: reference, displayName: name, updatedAt: Timestamp(seconds: 1), isNamedByUser: alias)
    }

    /// Display names and folders.
    private static let known: [(chat: Chat, folder: String?)] = [
        (chat(.direct(7), "Robert"), "bob"), (chat(.group(3), "bob"), "bob (2)"),
        (chat(.group(4), "book club"), "book club"), (chat(.notes(1), "Saved notes"), nil),
        (chat(.direct(8), "#x"), "#x"), (chat(.group(5), "x"), "x"), (chat(.direct(9), "@7"), "@7"),
        (chat(.links, "Links"), nil), (chat(.direct(10), "Anna", alias: true), "ann"),
        (chat(.direct(11), "nobody"), nil),
    ]
    private static let chats = NamedChats(
        known.map(\.chat),
        folders: Dictionary(
            uniqueKeysWithValues: known.compactMap { entry in
                entry.folder.map { (entry.chat.reference, $0) }
            }))

    private func named(_ text: String) throws(ChatError) -> ChatReference {
        try Self.chats.chat(text).reference
    }

    private func refusal(_ text: String, in chats: NamedChats = chats) -> ChatError? {
        do throws(ChatError) {
            _ = try chats.chat(text)
            return nil
        } catch { return error }
    }

    @Test(
        "reference, folder, alias and signed names select",
        arguments: [
            ("@7", ChatReference.direct(7)), ("#3", .group(3)), ("*1", .notes(1)), ("~1", .links),
            ("bob", .direct(7)), ("bob (2)", .group(3)), ("@bob", .direct(7)), ("#bob (2)", .group(3)),
            ("book club", .group(4)), ("#book club", .group(4)), ("Saved notes", .notes(1)),
            ("Links", .links), ("ann", .direct(10)), ("Anna", .direct(10)), ("@Anna", .direct(10)),
            ("x", .group(5)), ("@#x", .direct(8)), ("@11", .direct(11)),
        ])
    func found(text: String, reference: ChatReference) throws { #expect(try named(text) == reference) }

    @Test("display name selects nothing but is explained", arguments: ["Robert", "@Robert"])
    func label(text: String) {
        let error = refusal(text)
        #expect(error?.code == .noSuchChat)
        #expect(error?.sentence.hasPrefix("There is no chat \(text); ") == true)
        if text == "Robert" {
            #expect(
                error?.sentence.hasSuffix("bob (@7) has this display name, which selects no chat.") == true)
        }
    }

    @Test("ambiguous word is rejected naming both chats")
    func several() {
        #expect(
            refusal("#x")?.sentence
                == "Several chats have this name; choose one of @#x (@8), x (#5) instead.")
        let twins = NamedChats(
            [Self.chat(.direct(1), "Bob", alias: true), Self.chat(.direct(2), "Robert")],
            folders: [.direct(1): "Bobby", .direct(2): "Bob"])
        #expect(
            refusal("Bob", in: twins)?.sentence
                == "Several chats have this name; choose one of Bobby (@1), @2 instead.")
        #expect(twins.all.map(\.name) == ["Bobby", "@2"])
    }

    @Test("word like a reference selects no folder")
    func references() {
        let chats = NamedChats([Self.chat(.direct(9), "@7")], folders: [.direct(9): "@7"])
        #expect(refusal("@7", in: chats)?.code == .noSuchChat)
        #expect(chats.all.map(\.name) == ["@@7"])
    }

    @Test("kind resolves an ambiguous word")
    func kinds() throws {
        #expect(try Self.chats.only(.group).chat("#x").reference == .group(5))
        #expect(try Self.chats.only(.contact).chat("#x").reference == .direct(8))
        #expect(throws: ChatError.self) { try Self.chats.only(.group).chat("bob") }
        for chat in Self.chats.all {
            let fitting = ChatKind.allCases.filter { $0.fits(chat.chat) }
            switch chat.reference {
            case .direct: #expect(fitting == [.contact])
            case .group: #expect(fitting == [.group])
            case .notes, .links: #expect(fitting.isEmpty)
            }
        }
    }

    @Test("lists show the selecting word and a label")
    func names() throws {
        #expect(
            Self.chats.all.map(\.name) == [
                "bob", "bob (2)", "book club", "Saved notes", "@#x", "x", "@@7", "Links", "Anna", "@11",
            ])
        #expect(
            Self.chats.all.map(\.label) == ["Robert", "bob", nil, nil, nil, nil, nil, nil, nil, "nobody"])
        for chat in Self.chats.all { #expect(try named(chat.name) == chat.reference) }
    }

    @Test("alias of another chat or reference is rejected")
    func aliases() throws {
        for alias in ["bob", "Anna", "ann", "Saved notes", "Links", "@bob", "#x", "@77", "~1", "*3"] {
            #expect(throws: ChatError.self, "\(alias)") {
                try Self.chats.check(alias: alias, of: .group(4))
            }
        }
        // The peer's display name and the chat's own words do not conflict.
        for alias in ["Robert", "nobody", "book club", "Book club"] {
            try Self.chats.check(alias: alias, of: .group(4))
        }
    }

    @Test func reservedFolderNamesAreRejected() {
        for alias in ["Saved notes", "Links", ".chatfs"] {
            #expect(throws: ChatError.self, "\(alias)") {
                try Self.chats.check(alias: alias, of: .group(4))
            }
        }
    }

    @Test("unknown word is rejected listing chats")
    func none() {
        let chats = NamedChats(
            [Self.chat(.direct(7), "x"), Self.chat(.direct(10), "y")],
            folders: [.direct(7): "bob", .direct(10): "ann"])
        for text in ["Bob", "@ann ", "#ann", "*bob", "@99", ""] {
            #expect(refusal(text, in: chats)?.code == .noSuchChat)
            #expect(
                refusal(text, in: chats)?.sentence.hasPrefix(
                    "There is no chat \(text); there are: bob, ann.") == true)
        }
        #expect(refusal("Bob", in: chats)?.sentence.hasSuffix("ann. Did you mean bob?") == true)
        #expect(refusal("@99", in: chats)?.sentence.hasSuffix("ann.") == true)
    }

    @Test("missing chats are reported, long lists are cut")
    func noneAtAll() {
        func sentence(_ count: Int64) -> String? {
            let chats = (0..<count).map { Self.chat(.direct($0 + 1), "x") }
            let folders = Dictionary(
                uniqueKeysWithValues: chats.map { ($0.reference, "n\($0.reference.description.dropFirst())") }
            )
            return refusal("bob", in: NamedChats(chats, folders: folders))?.sentence
        }
        #expect(sentence(0) == "There is no chat bob; there are none yet.")
        #expect(sentence(50)?.hasSuffix("n49, n50.") == true)
        #expect(sentence(51)?.hasSuffix("n49, n50 and 1 more.") == true)
        #expect(sentence(60)?.hasSuffix("n50 and 10 more.") == true)
    }

    @Test(
        "only canonical references are parsed",
        arguments: [
            "~2", "~0", "@+7", "@ 7", "@7 ", "@1_0", "@9223372036854775808", "@0x1", "@07", "@", "@@7", "７",
            "@７",
        ])
    func references(text: String) {
        if let reference = ChatReference(text) {
            // Leading zeros and signs are accepted; their meaning is clear.
            #expect(["@07", "@+7"].contains(text) && reference == .direct(7))
        }
    }

    @Test("link ids are large and exact as doubles")
    func links() {
        #expect(ItemID.firstOfLinks.rawValue == 1 << 52)
        #expect(ItemID.firstOfLinks.isOfLink && !ItemID(ItemID.firstOfLinks.rawValue - 1).isOfLink)
        #expect(FileID.firstOfLinks.isOfLink && !FileID(FileID.firstOfLinks.rawValue - 1).isOfLink)
        #expect(Int64(Double(ItemID.firstOfLinks.rawValue + 12_345)) == ItemID.firstOfLinks.rawValue + 12_345)
    }
}
