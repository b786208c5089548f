import Base
import ChatCore
import Testing

@Suite("Which chat a user means")
struct ChatNamingTests {
    private static func chat(_ reference: ChatReference, _ name: String) -> Chat {
        Chat(reference: reference, displayName: name, updatedAt: Timestamp(seconds: 1))
    }

    private static let chats = [
        chat(.direct(7), "bob"), chat(.group(3), "bob"), chat(.group(4), "book club"),
        chat(.notes(1), "Saved notes"),
        chat(.direct(8), "#x"), chat(.group(5), "x"), chat(.direct(9), "@7"), chat(.links, "Links"),
        chat(.direct(10), "ann"),
    ]

    private func named(_ text: String, in chats: [Chat] = chats) throws(ChatError) -> ChatReference {
        try Chat.named(text, in: chats).reference
    }

    @Test(
        "by its reference before all, by kind and name, by its name alone",
        arguments: [
            ("@7", ChatReference.direct(7)), ("#3", .group(3)), ("*1", .notes(1)), ("~1", .links),
            ("@bob", .direct(7)),
            ("#bob", .group(3)), ("book club", .group(4)), ("#book club", .group(4)),
            ("Saved notes", .notes(1)),
            ("Links", .links), ("ann", .direct(10)), ("@@7", .direct(9)), ("x", .group(5)),
            ("@#x", .direct(8)),
        ])
    func found(text: String, reference: ChatReference) throws { #expect(try named(text) == reference) }

    @Test("a name that fits several is refused with the references that tell them apart")
    func several() {
        for (text, choices) in [("bob", "@7, #3"), ("#x", "#5, @8")] {
            do throws(ChatError) {
                _ = try named(text)
                Issue.record("\(text) was decided")
            } catch {
                #expect(error.code == .noSuchChat)
                for choice in choices.split(separator: ", ") { #expect(error.sentence.contains(choice)) }
                #expect(error.sentence.hasPrefix("Several chats have this name; choose one of "))
            }
        }
    }

    @Test("what is none is refused with the names that there are")
    func none() {
        for text in ["Bob", "@ann ", "#ann", "*bob", "@99", ""] {
            do throws(ChatError) {
                _ = try named(text, in: [Self.chats[0], Self.chats[8]])
                Issue.record("\(text) was found")
            } catch {
                #expect(error.code == .noSuchChat)
                #expect(error.sentence == "There is no chat \(text); there are: bob, ann.")
            }
        }
    }

    @Test("where there is no chat at all that is said, and of very many the first are named")
    func noneAtAll() {
        func sentence(_ chats: [Chat]) -> String? {
            do throws(ChatError) { _ = try named("bob", in: chats) } catch { return error.sentence }
            return nil
        }
        #expect(sentence([]) == "There is no chat bob; there are none yet.")
        let many = (1...Int64(60)).map { Self.chat(.direct($0), "n\($0)") }
        #expect(sentence(Array(many.prefix(50)))?.hasSuffix("n49, n50.") == true)
        #expect(sentence(Array(many.prefix(51)))?.hasSuffix("n49, n50 and 1 more.") == true)
        #expect(sentence(many)?.hasSuffix("n50 and 10 more.") == true)
    }

    @Test("a reference that no chat has may still be somebody's name")
    func names() throws {
        #expect(try named("@7", in: [Self.chats[6]]) == .direct(9))
    }

    @Test("contacts and groups are chats with somebody; notes and links are neither")
    func kinds() {
        for chat in Self.chats {
            let fitting = ChatKind.allCases.filter { $0.fits(chat) }
            switch chat.reference {
            case .direct: #expect(fitting == [.contact])
            case .group: #expect(fitting == [.group])
            case .notes, .links: #expect(fitting.isEmpty)
            }
        }
    }

    @Test(
        "only references that are written as they are read back",
        arguments: [
            "~2", "~0", "@+7", "@ 7", "@7 ", "@1_0", "@9223372036854775808", "@0x1", "@07", "@", "@@7", "７",
            "@７",
        ])
    func references(text: String) {
        if let reference = ChatReference(text) {
            // Leading zeros and a sign are numbers too; what they mean is unmistakable.
            #expect(["@07", "@+7"].contains(text) && reference == .direct(7))
        }
    }

    @Test("numbers of links lie beyond all others, and doubles hold them")
    func links() {
        #expect(ItemID.firstOfLinks.rawValue == 1 << 52)
        #expect(ItemID.firstOfLinks.isOfLink && !ItemID(ItemID.firstOfLinks.rawValue - 1).isOfLink)
        #expect(FileID.firstOfLinks.isOfLink && !FileID(FileID.firstOfLinks.rawValue - 1).isOfLink)
        #expect(Int64(Double(ItemID.firstOfLinks.rawValue + 12_345)) == ItemID.firstOfLinks.rawValue + 12_345)
    }
}
