import Base
import ChatCore
import Testing

@Suite("Where a file stands, and what follows from it")
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

    @Test("what was sent is here in every state, what is received only when it is complete")
    func content() {
        #expect(Self.readable.allSatisfy { $0.isReadable })
        #expect(!Self.unreadable.contains { $0.isReadable })
    }

    @Test("a core has given up what failed for a reason that may pass, and nothing else")
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

    @Test("what is left is said behind the reason, and nothing where nothing is left")
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

    @Test("a file that is here, or was taken back, does not expire any more; any other does")
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

    @Test("only what lies on XFTP relays expires, two days after its message")
    func retention() {
        let time = Timestamp(seconds: 1000)
        #expect(ChatFile.expiry(.xftp, of: time) == Timestamp(seconds: 1000 + 172_800))
        for transport in [ChatFile.Transport.inline, .smp, .local] {
            #expect(ChatFile.expiry(transport, of: time) == nil)
        }
    }

    @Test(
        "the order in which relays drop files: by time, then by item; a time alone stands behind all of its items"
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
        "what is received at arrival: small pictures, voice and videos, to the byte",
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

    @Test("notes take files of any size, links up to 5 GiB, chats what the core takes")
    func limits() {
        let limits = ChatLimits(maxFileSize: 77)
        #expect(limits.maxFileSize(in: .direct(1)) == 77 && limits.maxFileSize(in: .group(1)) == 77)
        #expect(limits.maxFileSize(in: .notes(1)) == nil)
        #expect(limits.maxFileSize(in: .links) == 5_368_709_120)
        #expect(limits.maxSentTogether == 1)
    }

    @Test("a preview is what pictures and videos carry")
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
