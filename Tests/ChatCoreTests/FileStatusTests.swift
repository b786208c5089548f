import Base
import ChatCore
import Testing

@Suite("File states")
struct FileStatusTests {
    private static func problem(_ kind: FileProblem.Kind) -> FileProblem { FileProblem(kind, "It is so.") }

    private static let readable: [FileStatus] = [
        .rcvComplete, .sndStored, .sndTransfer(sent: 0, total: 9), .sndComplete, .sndCancelled,
        .sndError(problem(.other)),
        .sndWarning(problem(.other)),
    ]

    private static let unreadable: [FileStatus] = [
        .rcvInvitation(described: true), .rcvInvitation(described: false), .rcvAccepted,
        .rcvTransfer(received: 9, total: 9), .rcvAborted(.relaysNotApproved), .rcvCancelled,
        .rcvError(problem(.other)),
        .rcvWarning(problem(.other)),
    ]

    @Test("sent files are always readable, received when complete")
    func content() {
        #expect(Self.readable.allSatisfy { $0.isReadable })
        #expect(!Self.unreadable.contains { $0.isReadable })
    }

    @Test("only temporary errors count as given up")
    func givenUp() {
        let passing: Set<FileProblem.Kind> = [
            .unreachable, .timedOut, .noSpace, .relayFull, .noRelay, .other,
        ]
        for kind in FileProblem.Kind.allCases {
            #expect(FileStatus.rcvError(Self.problem(kind)).isGivenUp == passing.contains(kind), "\(kind)")
            #expect(!FileStatus.rcvWarning(Self.problem(kind)).isGivenUp)
            #expect(!FileStatus.sndError(Self.problem(kind)).isGivenUp)
            #expect(!FileStatus.rcvAborted(Self.problem(kind)).isGivenUp)
            let isFinal = !passing.contains(kind) && kind != .notApproved
            #expect(Self.problem(kind).isFinal == isFinal, "\(kind)")
        }
        #expect(!FileStatus.rcvComplete.isGivenUp && !FileStatus.rcvCancelled.isGivenUp)
    }

    @Test("remains are appended to the problem")
    func remains() {
        let problem = FileProblem(.expired, "It expired.")
        #expect(problem.mentioning(nil) == problem)
        #expect(problem.mentioning("A part is here.") == FileProblem(.expired, "It expired. A part is here."))
    }

    // MARK: - Expiry

    private static func item(_ status: FileStatus, expires: Timestamp?, id: Int64 = 1) -> ChatItem {
        ChatItem(
            id: ItemID(id), chat: .direct(1), direction: .received, sender: "bob",
            time: Timestamp(seconds: 5),
            content: MessageContent(kind: .file),
            file: ChatFile(
                id: FileID(1), name: "a", size: 1, status: status, transport: .xftp, expires: expires))
    }

    @Test("local and cancelled files do not expire")
    func expiry() {
        let time = Timestamp(seconds: 9)
        let over: [FileStatus] = [.rcvComplete, .rcvCancelled, .sndCancelled]
        for status in Self.readable + Self.unreadable {
            #expect(
                Self.item(status, expires: time).relayExpiry == (over.contains(status) ? nil : time),
                "\(status)")
            #expect(Self.item(status, expires: nil).relayExpiry == nil)
            #expect(Self.item(status, expires: time).expiryPosition == ExpiryPosition(time, ItemID(1)))
        }
        var item = Self.item(.rcvAccepted, expires: time)
        item.file = nil
        #expect(item.relayExpiry == nil && item.expiryPosition == nil)
    }

    @Test("only XFTP files expire, after two days")
    func retention() {
        let time = Timestamp(seconds: 1000)
        #expect(ChatFile.expiry(.xftp, of: time) == Timestamp(seconds: 1000 + 172_800))
        for transport in [ChatFile.Transport.inline, .smp, .local] {
            #expect(ChatFile.expiry(transport, of: time) == nil)
        }
    }

    @Test(
        "expiry order is by time, then item"
    )
    func order() {
        let (early, late) = (Timestamp(seconds: 1), Timestamp(seconds: 2))
        let ordered = [
            ExpiryPosition(early, ItemID(1)), ExpiryPosition(early, ItemID(2)), ExpiryPosition(early),
            ExpiryPosition(late, ItemID(1)), ExpiryPosition(late),
        ]
        for (left, first) in ordered.enumerated() {
            for (right, second) in ordered.enumerated() { #expect((first < second) == (left < right)) }
        }
        #expect(ordered.reversed().sorted() == ordered)
    }

    // MARK: - Sizes

    @Test(
        "automatic receiving obeys exact size limits",
        arguments: [
            (MessageContent.Kind.image(preview: "data:"), UInt64(522_240)), (.voice(seconds: 1), 522_240),
            (.video(preview: "", seconds: 1), 1_047_552),
        ])
    func arrival(kind: MessageContent.Kind, limit: UInt64) {
        let content = MessageContent(kind: kind, text: "caption")
        for size in [0, limit - 1, limit] { #expect(FilePolicy.receivesAtArrival(content, size: size)) }
        for size in [limit + 1, .max] { #expect(!FilePolicy.receivesAtArrival(content, size: size)) }
        for kind in [MessageContent.Kind.file, .text] {
            #expect(!FilePolicy.receivesAtArrival(MessageContent(kind: kind), size: 0))
        }
    }

    @Test("size limits depend on the chat's kind")
    func limits() {
        let limits = ChatLimits(maxFileSize: 77)
        #expect(limits.maxFileSize(in: .direct(1)) == 77 && limits.maxFileSize(in: .group(1)) == 77)
        #expect(limits.maxFileSize(in: .notes(1)) == nil)
        #expect(limits.maxFileSize(in: .links) == 5_368_709_120)
        #expect(limits.maxSentTogether == 1)
    }

    @Test("only images and videos have previews")
    func previews() {
        #expect(MessageContent(kind: .image(preview: "p")).preview == "p")
        #expect(MessageContent(kind: .video(preview: "q", seconds: 1)).preview == "q")
        for kind in [MessageContent.Kind.file, .text, .voice(seconds: 1)] {
            #expect(MessageContent(kind: kind, text: "p").preview.isEmpty)
        }
        var item = Self.item(.rcvAccepted, expires: nil)
        #expect(!item.hasPreview)
        item = ChatItem(
            id: item.id, chat: item.chat, direction: .sent, sender: "", time: item.time,
            content: MessageContent(kind: .image(preview: "p")), file: nil)
        #expect(item.hasPreview)
    }
}
