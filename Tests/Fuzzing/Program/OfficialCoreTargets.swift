import Base
import ChatCore

@testable import JSON
@testable import OfficialCore

extension Target {
    /// Transmissions of an official core, and commands to it.
    static let officialCore = [
        Target("json", "JSON of others", longest: 2048) { bytes in
            guard let document = JSONDocument(bytes) else { return }
            let count = document.nodes.count
            hold(count >= 1 && count <= bytes.count, "no more values than bytes")
            var strings = 0
            for (index, node) in document.nodes.enumerated() {
                hold(
                    node.start >= 0 && node.start <= node.end && node.end <= bytes.count, "values lie inside")
                hold(node.next > index && node.next <= count, "values follow each other")
                let value = JSONValue(document: document, index: index)
                _ = (value.integer, value.size, value.bool, value["type"], value.isNull)
                hold(value.elements.count < count, "an array is larger than its elements")
                if let string = value.string, strings < 16 {
                    strings += 1
                    let text = JSONText.string(string)
                    hold(text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "written JSON is one line")
                    hold(JSONValue.parse(Array(text.utf8))?.string == string, "a written string is the same")
                }
            }
        },
        Target("core-frame", "answers and events of the official core", longest: 4096) { bytes in
            guard let frame = APIFrame(bytes) else { return }
            do throws(OfficialCoreError) {
                check(try frame.answer())
            } catch {
                checkSentence(error.chatError.sentence)
                if let refusal = error.refusal { checkSentence(refusal.fileProblem.sentence) }
            }
            check(frame.event)
        },
        Target("migration-result", "what the library says of its databases", longest: 512) { bytes in
            guard let error = MigrationResult.error(in: bytes) else {
                return hold(JSONValue.parse(bytes)?.type == "ok", "only what is well is well")
            }
            checkSentence(error.sentence)
        },
        Target("core-command", "names and captions in commands to the core", longest: 512) { bytes in
            var input = Input(bytes)
            let (kind, first, second) = (input.number(below: 6), input.text(), input.text())
            let source = FileSourceLocation(
                path: first, arguments: FileArguments(key: input.take(32), nonce: input.take(24)))
            let message = APIComposedMessage(
                source: source,
                content: MessageContent(
                    kind: kind == 0 ? .image(preview: first) : .video(preview: second, seconds: -1),
                    text: second))
            let commands: [APICommand] = [
                .send(APIChatReference(.direct(1)), [message]), .createNotes(1, [message]),
                .createUser(displayName: first), .filesFolder(first),
                .receiveFile(FileID(1), approvedRelays: true, encrypted: nil, path: first),
                .download(user: 1, link: first, path: second),
            ]
            guard let text = try? commands[kind].text() else { return }
            hold(text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "a command is one line")
            guard kind < 2, let start = text.firstIndex(of: "[") else { return }
            let json = JSONValue.parse(Array(text[start...].utf8))
            let said = json?.elements.first
            hold(said?["msgContent"]?["text"]?.string == second, "a caption arrives as it was")
            hold(said?["fileSource"]?["filePath"]?.string == first, "a path arrives as it was")
        },
    ]

    private static func check(_ event: APIEvent) {
        switch event.kind {
        case .newChatItems(let items): items.forEach(check)
        case .chatItemsDeleted(let deletions): for deletion in deletions { check(deletion.item) }
        case .chatItemUpdated(let item), .rcvFileDescrReady(let item, _), .rcvFileAccepted(let item),
            .rcvFileStart(let item), .rcvFileComplete(let item), .rcvFileSndCancelled(let item),
            .sndFileStart(let item), .sndFileComplete(let item), .sndFileRcvCancelled(let item),
            .sndFileCompleteXFTP(_, let item):
            check(item)
        case .rcvFileError(let file, let item, let error), .rcvFileWarning(let file, let item, let error):
            hold(file.rawValue > 0, "files have numbers")
            if let item { check(item) }
            checkSentence(error.fileProblem.sentence)
        case .sndFileError(_, _, let problem), .sndFileWarning(_, _, let problem):
            checkSentence(problem.sentence)
        case .errors(let errors): for error in errors { checkSentence(error.chatError.sentence) }
        case .chatUpdated(let chat): check(chat)
        default: break
        }
    }

    private static func check(_ answer: APIResponse) {
        switch answer {
        case .chats(let chats): chats.forEach(check)
        case .newChatItems(let items): items.forEach(check)
        case .chatPage(let page):
            hold(page.items.count <= page.count, "no more items than were given")
            page.items.forEach(check)
        case .chatItemsDeleted(let deletions): for deletion in deletions { check(deletion.item) }
        case .version(let version): _ = version.isSupported
        case .activeUser(let user): hold(user.id > 0, "users have numbers")
        default: break
        }
    }

    private static func check(_ chat: APIChatInfo) {
        switch chat.reference.chat {
        case .direct(let id), .group(let id), .notes(let id): hold(id > 0, "chats have numbers")
        case .links: hold(false, "no core has the folder of links")
        }
        hold(APIChatReference(text: chat.reference.description) == chat.reference, "a chat can be named")
        if let refused = chat.sendingRefused { checkSentence(refused) }
    }

    private static func check(_ item: APIItem) {
        check(item.chat)
        hold(item.id.rawValue > 0, "items have numbers")
        guard let shown = item.chatItem(own: "me", filesFolder: "/files"), let file = shown.file else {
            return
        }
        hold(file.id.rawValue > 0 && file.size <= UInt64(Int64.max), "files have numbers and sizes")
        if let path = file.source?.path {
            hold(path.hasPrefix("/") && !path.utf8.contains(0), "a file lies somewhere")
            let inside = path.hasPrefix("/files/") && item.file?.source?.path.hasPrefix("/") == false
            hold(!inside || !path.split(separator: "/").contains(".."), "no path leads out of the folder")
        }
        if case .rcvError(let problem) = file.status { checkSentence(problem.sentence) }
    }

    /// Texts for users contain no cursor movements.
    private static func checkSentence(_ sentence: String) {
        hold(!sentence.isEmpty && sentence.utf8.count < 2_000, "a sentence has a length")
        hold(
            sentence.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F..<0xA0).contains($0.value) },
            "a sentence can be printed")
    }
}
