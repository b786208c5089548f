import Base
import ChatCore
import Posix
import TestSupport

@testable import OfficialCore

/// A core with contacts and messages in memory that speaks the chat API: what it is asked goes through the
/// same texts, frames and decoding as with the real program.
final class ScriptedSimpleX: Sendable {
    struct Message: Sendable {
        var id: Int64
        var contact: Int64
        var isSent = false
        var name: String
        var size: Int64 = 1000
        var status = #"{"type":"rcvInvitation"}"#
        var path: String?
        var type = "file"
    }

    struct State: Sendable {
        var messages: [Message] = []
        var contacts: [Int64: String] = [1: "bob"]
        /// Commands that begin like this are not answered.
        var silent: Set<String> = []
        /// Commands that begin like this are carried out, and the connection breaks before the answer.
        var breaking: Set<String> = []
        /// Refusals by the beginning of the command: the JSON of `chatError`.
        var refusals: [String: String] = [:]
        var descriptions: [Int64: String] = [:]
        var answersQuestions = true
        /// Commands before which something happens.
        var before: [String: @Sendable () async -> Void] = [:]
    }

    let state = Lock(State())
    private let own = Lock<ScriptedTransport?>(nil)

    var transport: ScriptedTransport {
        own.withLock { transport in
            if let transport { return transport }
            let made = ScriptedTransport { [self] text in await answer(text) }
            transport = made
            return made
        }
    }

    /// The next process: the same state, a new connection.
    func restart() { own.withLock { $0 = nil } }

    func change<Result>(_ body: (inout State) -> Result) -> Result { state.withLock { body(&$0) } }

    func count(_ beginning: String) -> Int {
        transport.commands.filter { $0.hasPrefix(beginning) }.count
    }

    // MARK: - Frames

    static let user = #""user":{"userId":1,"localDisplayName":"alice","profile":{"displayName":"alice"}}"#

    func info(_ contact: Int64) -> String {
        let name = state.withLock { $0.contacts[contact] ?? "?" }
        let newest = state.withLock { $0.messages.filter { $0.contact == contact }.map(\.id).max() ?? 0 }
        return """
            {"type":"direct","contact":{"contactId":\(contact),"localDisplayName":"\(name)",\
            "profile":{"displayName":"\(name)"},"contactStatus":"active",\
            "activeConn":{"connStatus":"ready"},"chatTs":"\(Self.time(newest))"}}
            """
    }

    static func time(_ id: Int64) -> String {
        "2026-01-01T\(two(id / 3600 % 24)):\(two(id / 60 % 60)):\(two(id % 60)).\(1000 + id / 86400)Z"
    }

    private static func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

    func item(_ message: Message) -> String {
        let direction = message.isSent ? "directSnd" : "directRcv"
        let source = message.path.map { #","fileSource":{"filePath":"\#($0)"}"# } ?? ""
        return """
            {"chatDir":{"type":"\(direction)"},"meta":{"itemId":\(message.id),\
            "itemTs":"\(Self.time(message.id))","createdAt":"\(Self.time(message.id))"},\
            "content":{"type":"rcvMsgContent","msgContent":{"type":"\(message.type)","text":""}},\
            "file":{"fileId":\(message.id + 1000),"fileName":"\(message.name)","fileSize":\(message.size),\
            "fileStatus":\(message.status),"fileProtocol":"xftp"\(source)}}
            """
    }

    func pair(_ message: Message) -> String {
        #"{"chatInfo":\#(info(message.contact)),"chatItem":\#(item(message))}"#
    }

    func tell(_ type: String, _ message: Message, more: String = "") {
        transport.tell(#"{"type":"\#(type)",\#(Self.user),"chatItem":\#(pair(message))\#(more)}"#)
    }

    func tellNew(_ message: Message) {
        change { $0.messages.append(message) }
        transport.tell(#"{"type":"newChatItems",\#(Self.user),"chatItems":[\#(pair(message))]}"#)
    }

    // MARK: - Commands

    private func answer(_ text: String) async -> String? {
        let (isSilent, breaks, refusal, before) = state.withLock { state in
            (
                state.silent.contains { text.hasPrefix($0) }, state.breaking.contains { text.hasPrefix($0) },
                state.refusals.first { text.hasPrefix($0.key) }?.value,
                state.before.first { text.hasPrefix($0.key) }?.value
            )
        }
        if isSilent { return nil }
        await before?()
        if let refusal { return #"{"type":"chatCmdError","chatError":\#(refusal)}"# }
        let response = carryOut(text)
        if breaks {
            change { state in state.breaking = state.breaking.filter { !text.hasPrefix($0) } }
            transport.disconnect()
            transport.connect()
            return nil
        }
        return response
    }

    private func carryOut(_ text: String) -> String {
        let words = text.split(separator: " ").map(String.init)
        if text == "/user" { return #"{"type":"activeUser",\#(Self.user)}"# }
        if text == "/network" { return #"{"type":"networkConfig","networkConfig":{"socksMode":"always"}}"# }
        if text.hasPrefix("/_get chats") {
            let chats = state.withLock { $0.contacts.keys.sorted() }.map {
                #"{"chatInfo":\#(info($0)),"chatItems":[]}"#
            }
            return #"{"type":"apiChats","chats":[\#(chats.joined(separator: ","))]}"#
        }
        if text.hasPrefix("/_get chat ") { return page(words) }
        if text.hasPrefix("/freceive ") { return receive(Int64(words[1]) ?? 0) }
        if text.hasPrefix("/_send ") { return send(text) }
        if text.hasPrefix("/_delete item ") { return delete(words) }
        if text.hasPrefix("/sql chat ") { return rows(text) }
        return #"{"type":"cmdOk"}"#
    }

    private func page(_ words: [String]) -> String {
        let contact = Int64(words[2].dropFirst()) ?? 0
        var items = state.withLock { $0.messages.filter { $0.contact == contact } }.sorted { $0.id < $1.id }
        let count = Int(words.last?.split(separator: "=").last ?? "") ?? 0
        if let anchor = words.dropFirst(3).first(where: { !$0.hasPrefix("count=") }) {
            let id = Int64(anchor.split(separator: "=").last ?? "") ?? 0
            guard items.contains(where: { $0.id == id }) else {
                return """
                    {"type":"chatCmdError","chatError":{"type":"errorStore",\
                    "storeError":{"type":"chatItemNotFound","itemId":\(id)}}}
                    """
            }
            if anchor.hasPrefix("before=") { items = items.filter { $0.id < id } }
            if anchor.hasPrefix("around=") { items = items.filter { abs($0.id - id) <= Int64(count) } }
        }
        let shown = items.suffix(count).map(item).joined(separator: ",")
        return #"{"type":"apiChat","chat":{"chatInfo":\#(info(contact)),"chatItems":[\#(shown)]}}"#
    }

    private func receive(_ file: Int64) -> String {
        let message = change { state -> Message? in
            guard let index = state.messages.firstIndex(where: { $0.id + 1000 == file }) else { return nil }
            state.messages[index].status = #"{"type":"rcvAccepted"}"#
            return state.messages[index]
        }
        guard let message else { return #"{"type":"chatCmdError","chatError":{"type":"errorStore"}}"# }
        return #"{"type":"rcvFileAccepted",\#(Self.user),"chatItem":\#(pair(message))}"#
    }

    private func send(_ text: String) -> String {
        let path = text.firstMatch(of: /"filePath":"([^"]*)"/).map { String($0.1) } ?? ""
        let contact = Int64(text.split(separator: " ")[1].dropFirst()) ?? 0
        let message = change { state -> Message in
            let message = Message(
                id: (state.messages.map(\.id).max() ?? 0) + 1, contact: contact, isSent: true,
                name: path.split(separator: "/").last.map(String.init) ?? "",
                status: #"{"type":"sndStored"}"#, path: path)
            state.messages.append(message)
            return message
        }
        return #"{"type":"newChatItems",\#(Self.user),"chatItems":[\#(pair(message))]}"#
    }

    private func delete(_ words: [String]) -> String {
        let ids = words[3].split(separator: ",").compactMap { Int64($0) }
        let gone = change { state in
            defer { state.messages.removeAll { ids.contains($0.id) } }
            return state.messages.filter { ids.contains($0.id) }
        }
        let deletions = gone.map { #"{"deletedChatItem":\#(pair($0))}"# }.joined(separator: ",")
        return #"{"type":"chatItemsDeleted",\#(Self.user),"chatItemDeletions":[\#(deletions)]}"#
    }

    private func rows(_ text: String) -> String {
        let (answers, messages, descriptions) = state.withLock {
            ($0.answersQuestions, $0.messages, $0.descriptions)
        }
        guard answers else { return #"{"type":"chatCmdError","chatError":{"type":"error"}}"# }
        var rows = ["header"]
        if text.contains("file_descr_text"), let match = text.firstMatch(of: /r\.file_id = (\d+)/),
            let description = descriptions[Int64(match.1) ?? 0]
        {
            rows.append(Hexadecimal.encode(Array(description.utf8)).uppercased())
        } else if text.contains("count(*)") {
            for (contact, items) in Dictionary(grouping: messages, by: \.contact) {
                rows.append("\(contact)|0|0|\(items.count)")
            }
        }
        return #"{"type":"sQLResult","rows":[\#(rows.map { "\"\($0)\"" }.joined(separator: ","))]}"#
    }
}

/// A profile of the scripted core, opened, with everything in a folder of its own.
struct Stage {
    let folder: TemporaryFolder
    let simplex: ScriptedSimpleX

    init(_ prepare: (inout ScriptedSimpleX.State) -> Void = { _ in }) throws {
        folder = try TemporaryFolder()
        simplex = ScriptedSimpleX()
        simplex.change(prepare)
    }

    func settings(_ ownership: OfficialCoreSettings.Ownership = .attached) -> OfficialCoreSettings {
        var settings = OfficialCoreSettings(
            ownership: ownership, filesFolder: folder.path, temporaryFolder: folder.path,
            folder: folder.path + "/kept")
        settings.lookInterval = .milliseconds(50)
        settings.looksForLostSend = [.zero, .milliseconds(20)]
        return settings
    }

    func open(_ ownership: OfficialCoreSettings.Ownership = .attached) async throws -> OfficialCore {
        try await OfficialCore.open(simplex.transport, settings(ownership))
    }

    /// A file handed over for sending, as the outbox does.
    func compose(_ name: String, id: String) throws -> ComposedMessage {
        let path = try folder.write(Array("content".utf8), to: "staged-\(id)")
        return ComposedMessage(
            id: id, fileName: name, size: 7, source: FileSourceLocation(path: path, arguments: nil),
            content: MessageContent(kind: .file))
    }
}

/// Waits until `condition` holds, at most ten seconds; whether it came to hold.
func eventually(_ condition: () async throws -> Bool) async rethrows -> Bool {
    let end = ContinuousClock.now + .seconds(10)
    while ContinuousClock.now < end {
        if try await condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return false
}
