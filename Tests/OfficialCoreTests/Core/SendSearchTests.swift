import Base
import ChatCore
import TestSupport
import Testing

@testable import OfficialCore

/// A chat of a core without database queries. Its pages are sorted by time, so item numbers may have another
/// order, and some messages have no file.
@Suite("Search for a send without an answer")
struct SendSearchTests {
    private struct Message: Sendable {
        var id: Int64
        var isSent = false
        /// The folder of its file; nil for a text.
        var folder: String?

        var json: String {
            let file = folder.map {
                #","file":{"fileId":\#(id + 1000),"fileName":"a","fileSize":1,"fileStatus":{"type":"sndStored"},"#
                    + #""fileSource":{"filePath":"/outbox/\#($0)/a"}}"#
            }
            return
                #"{"chatDir":{"type":"direct\#(isSent ? "Snd" : "Rcv")"},"meta":{"itemId":\#(id)},"content":{"msgContent":{"type":"file"}}\#(file ?? "")}"#
        }
    }

    /// The chat from oldest to newest, and the requests.
    private final class Chat: Sendable {
        let messages: Lock<[Message]>
        let pages = Lock(0)
        /// Called before each page.
        let before = Lock<(@Sendable (inout [Message], Int) -> Void)?>(nil)

        init(_ messages: [Message]) { self.messages = Lock(messages, rank: .collection) }

        func answer(_ text: String) -> String {
            guard text.hasPrefix("/_get chat @1 ") else {
                return #"{"type":"chatCmdError","chatError":{"type":"error"}}"#
            }
            let page = pages.withLock { pages in
                pages += 1
                return pages
            }
            let hook = before.withLock { $0 }
            let messages = messages.withLock { messages in
                hook?(&messages, page)
                return messages
            }
            let number = { (word: String) in
                text.split(separator: " ").first { $0.hasPrefix(word) }.flatMap {
                    Int64($0.dropFirst(word.count))
                }
            }
            var end = messages.count
            if let anchor = number("before=") {
                guard let position = messages.firstIndex(where: { $0.id == anchor }) else {
                    return
                        #"{"type":"chatCmdError","chatError":{"type":"errorStore","storeError":{"type":"chatItemNotFound"}}}"#
                }
                end = position
            }
            let items = messages[max(0, end - Int(number("count=") ?? 0))..<end].map(\.json).joined(
                separator: ",")
            return
                #"{"type":"apiChat","chat":{"chatInfo":{"type":"direct","contact":{"contactId":1}},"chatItems":[\#(items)]}}"#
        }
    }

    private func search(
        _ chat: Chat, newest: Int64, searches: Int = 1, over transport: ScriptedTransport? = nil
    ) async -> Result<Int64?, ChatError> {
        var settings = OfficialCoreSettings(
            ownership: .attached, filesFolder: "/f", temporaryFolder: "/t", folder: "/k")
        settings.pageSize = 5
        settings.searchesForLostSend = Array(repeating: .zero, count: searches)
        let connection = CoreConnection(
            transport ?? ScriptedTransport { chat.answer($0) }, HeldCommands())
        _ = connection.setConnected(true)
        let send = BegunSend(folder: "message-1", run: "x", item: nil, newest: ItemID(newest))
        do throws(ChatError) {
            return .success(
                try await SendSearch(connection, settings).item(
                    of: send, in: .direct(1), mayBeUnderWay: searches > 1)?.id.rawValue)
        } catch {
            return .failure(error)
        }
    }

    @Test("newer messages do not hide the send", arguments: 0..<12)
    func random(seed: UInt64) async throws {
        var random = SeededGenerator(state: seed)
        for _ in 0..<6 {
            let newest = Int64.random(in: 0...40, using: &random)
            var messages = (0..<newest).map {
                Message(id: $0 + 1, isSent: Bool.random(using: &random), folder: "message-0")
            }
            // An item that is newer by number may be some places older by time, but less than a page.
            for id in newest + 1...newest + Int64.random(in: 1...30, using: &random) {
                let place = max(0, messages.count - Int.random(in: 0...3, using: &random))
                messages.insert(
                    Message(
                        id: id, isSent: Bool.random(using: &random),
                        folder: Bool.random(using: &random) ? nil : "message-\(id)"), at: place)
            }
            let isThere = Bool.random(using: &random)
            let later = messages.indices.filter { messages[$0].id > newest }
            let wanted = later.randomElement(using: &random) ?? 0
            if isThere {
                messages[wanted] = Message(id: messages[wanted].id, isSent: true, folder: "message-1")
            }
            let found = await search(Chat(messages), newest: newest)
            #expect(try found.get() == (isThere ? messages[wanted].id : nil))
        }
    }

    @Test("an older message with the same file name is not the send")
    func older() async throws {
        let messages = [Message(id: 10, isSent: true, folder: "message-1"), Message(id: 11, isSent: true)]
        #expect(try await search(Chat(messages), newest: 10).get() == nil)
        #expect(try await search(Chat(messages), newest: 9).get() == 10)
    }

    @Test("sender and folder identify the send")
    func others() async throws {
        let messages = [
            Message(id: 11, isSent: false, folder: "message-1"),
            Message(id: 12, isSent: true, folder: "message-11"),
            Message(id: 13, isSent: true, folder: "xmessage-1"), Message(id: 14, isSent: true, folder: nil),
        ]
        #expect(try await search(Chat(messages), newest: 10).get() == nil)
        #expect(
            try await search(
                Chat(messages + [Message(id: 15, isSent: true, folder: "message-1")]), newest: 10
            ).get() == 15)
    }

    @Test("a connection lost during the search repeats it")
    func lostConnection() async throws {
        let chat = Chat([Message(id: 11, isSent: true, folder: "message-1")])
        let present = Lock<ScriptedTransport?>(nil, rank: .collection)
        let transport = ScriptedTransport { text in
            if text.hasPrefix("/_get chat"), let lost = present.withLock({ $0.take() }) {
                lost.disconnect()
                lost.connect()
            }
            return chat.answer(text)
        }
        present.withLock { $0 = transport }
        #expect(try await search(chat, newest: 10, over: transport).get() == 11)
    }

    @Test("an older page ends the search")
    func ends() async throws {
        let old = (1...Int64(100)).map { Message(id: $0, folder: "x") }
        let chat = Chat(old + [Message(id: 101, folder: "x"), Message(id: 102, folder: "x")])
        #expect(try await search(chat, newest: 100).get() == nil)
        #expect(chat.pages.withLock { $0 } == 2)
        let whole = Chat(old)
        #expect(try await search(whole, newest: 0).get() == nil)
        #expect(whole.pages.withLock { $0 } == 21)
        #expect(try await search(Chat([]), newest: 0).get() == nil)
    }

    @Test("a repeated search reads newer items only")
    func again() async throws {
        let chat = Chat((1...Int64(60)).map { Message(id: $0, folder: "x") })
        chat.before.withLock { hook in
            hook = { messages, page in
                if page == 14 { messages.append(Message(id: 61, isSent: true, folder: "message-1")) }
            }
        }
        // At first every item is newer than the send: thirteen pages, the last one empty.
        #expect(try await search(chat, newest: 0, searches: 4).get() == 61)
        #expect(chat.pages.withLock { $0 } == 14)
        let silent = Chat((1...Int64(60)).map { Message(id: $0, folder: "x") })
        #expect(try await search(silent, newest: 0, searches: 4).get() == nil)
        #expect(silent.pages.withLock { $0 } == 13 + 3)
    }

    @Test(
        "a deleted anchor does not end the search"
    )
    func gone() async throws {
        let messages =
            [Message(id: 11, isSent: true, folder: "message-1")]
            + (12...Int64(30)).map { Message(id: $0, folder: "x") }
        for (times, isFound) in [(1, true), (2, true), (3, false)] {
            let chat = Chat(messages)
            let left = Lock(times)
            chat.before.withLock { hook in
                hook = { messages, page in
                    // The anchor of the second page of each attempt.
                    let isDue = left.withLock { left in
                        defer { if page % 2 == 0, left > 0 { left -= 1 } }
                        return page % 2 == 0 && left > 0
                    }
                    if isDue { messages.remove(at: messages.count - 5) }
                }
            }
            switch await search(chat, newest: 10) {
            case .success(let id): #expect(isFound && id == 11)
            case .failure(let error): #expect(!isFound && error.code == .sendingUnsure)
            }
        }
    }

    @Test("repeated and unknown pages prove nothing")
    func stuck() async {
        let stuck = ScriptedTransport { _ in
            let item = Message(id: 50, folder: "x").json
            return
                #"{"type":"apiChat","chat":{"chatInfo":{"type":"direct","contact":{"contactId":1}},"chatItems":[\#(item)]}}"#
        }
        let strange = ScriptedTransport { _ in
            #"{"type":"apiChat","chat":{"chatInfo":{"type":"direct","contact":{"contactId":1}},"chatItems":[{"x":1}]}}"#
        }
        let other = ScriptedTransport { _ in #"{"type":"cmdOk"}"# }
        for transport in [stuck, strange, other] {
            let settings = OfficialCoreSettings(
                ownership: .library, filesFolder: "/f", temporaryFolder: "/t", folder: "/k")
            let connection = CoreConnection(transport, HeldCommands())
            _ = connection.setConnected(true)
            let send = BegunSend(folder: "message-1", run: "x", item: nil, newest: ItemID(1))
            do throws(ChatError) {
                _ = try await SendSearch(connection, settings).item(
                    of: send, in: .direct(1), mayBeUnderWay: false)
                Issue.record("it was decided")
            } catch {
                #expect(error.code == .sendingUnsure)
            }
        }
    }
}
