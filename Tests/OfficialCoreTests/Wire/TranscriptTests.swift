import ChatCore
import JSON
import Testing

@testable import OfficialCore

@Suite("Recorded frames")
struct TranscriptTests {
    @Test("every recorded frame decodes")
    func everyFrame() throws {
        let ignored: Set = [
            "contactSubSummary", "userContactSubSummary", "terminalEvent", "hostConnected", "invitation",
            "connectionPlan", "sentConfirmation", "chatItemsStatusesUpdated", "standaloneFileInfo",
        ]
        var count = 0
        for entry in try Transcript.all() where entry.isReceived {
            let frame = try #require(APIFrame(entry.frame))
            count += 1
            guard case .response(let json) = frame.content else { continue }
            let type = try #require(json.type)
            if frame.correlation != nil {
                if case .other = try frame.answer(), !ignored.contains(type) {
                    Issue.record("the answer \(type) is not understood")
                }
            } else if case .other = frame.event.kind, !ignored.contains(type) {
                Issue.record("the event \(type) is not understood")
            }
        }
        #expect(count == 278)
    }

    @Test("items keep file, sender and time")
    func items() throws {
        var files = 0
        for frame in try Transcript.received().compactMap(APIFrame.init) {
            for item in Self.items(of: frame.event.kind) {
                if item.content == nil { continue }
                #expect(item.time.seconds > 1_795_000_000)
                #expect(item.direction == .sent || item.sender == "alice" || item.sender == "bob")
                guard let file = item.file else { continue }
                files += 1
                #expect(!file.name.isEmpty)
                if case .notes = item.chat.reference.chat {
                    #expect(file.transport == .local)
                } else {
                    #expect(file.transport == .xftp)
                }
                let whole = try #require(item.chatItem(own: "me", filesFolder: "/files"))
                #expect(whole.sender == (item.sender ?? "me"))
                #expect(whole.file?.source?.path.hasPrefix("/") ?? true)
            }
        }
        #expect(files > 150)
    }

    private static func items(of kind: APIEvent.Kind) -> [APIItem] {
        switch kind {
        case .newChatItems(let items): items
        case .rcvFileDescrReady(let item, _), .rcvFileAccepted(let item), .rcvFileStart(let item),
            .rcvFileComplete(let item), .rcvFileSndCancelled(let item), .sndFileCompleteXFTP(_, let item):
            [item]
        case .rcvFileProgressXFTP(_, let item, _, _), .sndFileProgressXFTP(_, let item, _, _):
            item.map { [$0] } ?? []
        default: []
        }
    }

    @Test("the first file has its recorded states")
    func encryptedFile() throws {
        let frames = try Transcript("03-files-encrypt-on").entries.filter(\.isReceived)
        let kinds = frames.compactMap { APIFrame($0.frame)?.event.kind }
        let described = kinds.contains {
            if case .rcvFileDescrReady(_, let description) = $0 {
                return description.isComplete && description.text.hasPrefix("chunkSize:")
                    && description.description == "APIFileDescription(…)"
            }
            return false
        }
        #expect(described)
        let arguments = kinds.compactMap { kind -> APIFileSource? in
            if case .rcvFileComplete(let item) = kind { return item.file?.source }
            return nil
        }.compactMap(\.arguments)
        #expect(!arguments.isEmpty)
        #expect(arguments.allSatisfy { $0.key.count == 32 && $0.nonce.count == 24 })
    }

    @Test("cancelled, deleted and standalone files decode")
    func outcomes() throws {
        let frames = try Transcript("04-errors-cancel-etc").entries.filter(\.isReceived)
        var outcomes: Set<String> = []
        var refusals: [[String]] = []
        for frame in frames.compactMap({ APIFrame($0.frame) }) {
            switch frame.content {
            case .failure(let error): refusals.append(error.path)
            case .response:
                switch frame.event.kind {
                case .sndFileCancelled(_, let item):
                    #expect(item?.file?.status == .sndCancelled)
                    outcomes.insert("sndFileCancelled")
                case .rcvFileSndCancelled(let item):
                    #expect(item.file?.status == .rcvCancelled)
                    outcomes.insert("rcvFileSndCancelled")
                case .rcvFileCancelled(_, let item):
                    #expect(item?.file?.status == .rcvInvitation(described: false))
                    outcomes.insert("rcvFileCancelled")
                case .chatItemsDeleted(let deletions):
                    #expect(
                        deletions.allSatisfy { $0.replacement == nil || $0.replacement?.deletion == .deleted }
                    )
                    outcomes.insert("chatItemsDeleted")
                case .sndFileRedirectStartXFTP: outcomes.insert("redirect")
                case .sndStandaloneFileComplete(let file, let links):
                    #expect(file == FileID(35) && links.allSatisfy { $0.hasPrefix("simplex:/file#/?desc=") })
                    outcomes.insert("sndStandalone")
                case .rcvStandaloneFileComplete(_, let path):
                    #expect(path == "/srv/simplex/standalone.out")
                    outcomes.insert("rcvStandalone")
                default: break
                }
            }
        }
        #expect(
            outcomes == [
                "sndFileCancelled", "rcvFileSndCancelled", "rcvFileCancelled", "chatItemsDeleted", "redirect",
                "sndStandalone", "rcvStandalone",
            ])
        #expect(refusals.contains(["error", "fileAlreadyReceiving"]))
        #expect(refusals.contains(["errorStore", "userNotFoundByFileId"]))
    }

    @Test("commands equal the recorded commands")
    func commands() throws {
        let recorded = Set(
            try Transcript.all().filter { !$0.isReceived }.compactMap {
                JSONValue.parse($0.frame)?["cmd"]?.string
            })
        let ours: [APICommand] = [
            .user, .start, .relays(user: 1), .encryptFiles(true),
            .receiveFile(FileID(1), approvedRelays: true, encrypted: false, path: nil),
            .setFileToReceive(FileID(31), approvedRelays: false, encrypted: false),
            .upload(user: 1, path: "/srv/simplex/outgoing/standalone.bin"),
            .deleteItems(APIChatReference(.direct(4)), [ItemID(41)], .broadcast),
            .chatPage(APIChatReference(.direct(4)), .last(5)),
        ]
        for command in ours {
            let text = try command.text()
            #expect(recorded.contains(text), "\(text)")
        }
    }
}
