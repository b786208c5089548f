import Base
import ChatCore
import Glibc
import JSON
import ScriptedCore
import Testing

@testable import OfficialCore

/// The merge of a file's status from the core with the status in the index: every index status, every core
/// status, every kind of message.
@Suite("File states from core and index")
struct IndexTakingTests {
    private static let problem = FileProblem(
        .expired, "The relay no longer has this file: it has expired or was deleted.")
    private static let passing = FileProblem(.other, "The SimpleX core gave up this file.")

    /// The core's JSON and the status that it means without an index.
    private static let said: [(json: String, status: FileStatus)] = [
        (#"{"type":"sndStored"}"#, .sndStored),
        (#"{"type":"sndTransfer","sndProgress":1,"sndTotal":2}"#, .sndTransfer(sent: 1, total: 2)),
        (#"{"type":"sndComplete"}"#, .sndComplete), (#"{"type":"sndCancelled"}"#, .sndCancelled),
        (#"{"type":"sndError","sndFileError":{"type":"auth"}}"#, .sndError(problem)),
        (#"{"type":"sndWarning"}"#, .sndWarning(passing)),
        (#"{"type":"rcvInvitation"}"#, .rcvInvitation(described: false)),
        (#"{"type":"rcvAccepted"}"#, .rcvAccepted),
        (#"{"type":"rcvTransfer","rcvProgress":1,"rcvTotal":2}"#, .rcvTransfer(received: 1, total: 2)),
        (#"{"type":"rcvAborted"}"#, .rcvAborted(.relaysNotApproved)),
        (#"{"type":"rcvComplete"}"#, .rcvComplete),
        (#"{"type":"rcvCancelled"}"#, .rcvCancelled),
        (#"{"type":"rcvError","rcvFileError":{"type":"auth"}}"#, .rcvError(problem)),
        (#"{"type":"rcvError"}"#, .rcvError(passing)), (#"{"type":"rcvWarning"}"#, .rcvWarning(passing)),
    ]

    private static let occasions: [(occasion: IndexChange.Occasion, isTold: Bool)] = [
        (.arrival, false), (.look, false), (.look, true), (.described, true), (.sending, false),
    ]

    private static func item(_ json: String, _ place: IndexPlace) throws -> APIItem {
        var message = ScriptedMessage(id: 7, contact: 1, name: "film.mp4")
        message.status = json
        let pair = try #require(JSONValue.parse(Array(place.simplex.pair(message).utf8)))
        return try #require(APIItem(pair: pair))
    }

    private static let kept = FileSourceLocation(
        path: "/kept",
        arguments: FileArguments(
            key: [UInt8](repeating: 1, count: 32), nonce: [UInt8](repeating: 2, count: 24)))

    /// The merge rules as users see the result.
    private func expected(
        _ told: FileStatus, _ before: FileStatus?, _ occasion: IndexChange.Occasion, isTold: Bool,
        hasCopy: Bool
    ) -> FileStatus {
        let isUpload =
            switch told {
            case .sndStored, .sndTransfer, .sndWarning: true
            default: false
            }
        switch (before, told) {
        // ChatFS's complete copy takes precedence over the core's failure.
        case (_, .rcvComplete) where hasCopy, (_, .rcvError(Self.passing)) where hasCopy: return .rcvComplete
        // The core lost the result of an upload.
        case (.sndError(let problem)?, _) where isUpload: return .sndError(problem)
        case (.sndComplete?, _) where isUpload: return .sndComplete
        // The reason why the file was not received at arrival remains.
        case (.rcvAborted(let problem)?, .rcvInvitation): return .rcvAborted(problem)
        // The core does not know that its copy is damaged, until it reports a new reception.
        case (IndexChange.damagedCopy?, .rcvComplete) where !isTold: return IndexChange.damagedCopy
        // An item found by a comparison counts as described, and a described file remains described.
        case (_, .rcvInvitation):
            let isMetLater = before == nil && occasion == .look
            return .rcvInvitation(
                described: occasion == .described || isMetLater || before == .rcvInvitation(described: true))
        default: return told
        }
    }

    @Test("an unknown file gets the core's state", arguments: occasions.indices)
    func first(_ index: Int) async throws {
        let place = try IndexPlace()
        let (occasion, isTold) = Self.occasions[index]
        for (json, status) in Self.said {
            let item = try Self.item(json, place)
            try place.index.commit { change in
                let shown = try change.take(item, occasion, isTold ? .described : nil)
                let wanted = expected(status, nil, occasion, isTold: isTold, hasCopy: false)
                #expect(shown?.file?.status == wanted, "\(json)")
                try change.tables.items.remove(item.id)
            }
            // The sender has its answer; other listeners get a new item, whatever the core reported.
            #expect(await place.told() == (occasion == .sending ? [] : ["newChatItems"]))
        }
    }

    @Test(
        "a known file merges both states", arguments: occasions.indices,
        [false, true])
    func again(_ index: Int, hasCopy: Bool) async throws {
        let place = try IndexPlace()
        let (occasion, isTold) = Self.occasions[index]
        let aborted = FileProblem(.notApproved, "On relays that nobody approved.")
        let before =
            Self.said.map(\.status) + [
                .rcvInvitation(described: true), IndexChange.damagedCopy, .rcvAborted(aborted),
            ]
        for status in before {
            for (json, said) in Self.said {
                let item = try Self.item(json, place)
                var isSame = false
                try place.index.commit { change in
                    let tables = change.tables
                    var known = try #require(item.chatItem(own: "alice", filesFolder: "/files"))
                    known.file?.status = status
                    try tables.items.put(known, #require(known.file), reference: "@1")
                    if hasCopy {
                        try tables.keptCopies.put(
                            FileID(1007), at: Self.kept.path, #require(Self.kept.arguments))
                    }
                    let earlier = try tables.items.item(item.id)
                    let shown = try #require(
                        try change.take(item, occasion, isTold ? .described : nil))
                    let wanted = expected(said, status, occasion, isTold: isTold, hasCopy: hasCopy)
                    #expect(shown.file?.status == wanted, "\(status), then \(json)")
                    isSame = shown == earlier
                    let isOurs = wanted == .rcvComplete && hasCopy
                    #expect(try tables.items.place(of: item.id)?.path == (isOurs ? Self.kept.path : nil))
                    try tables.items.remove(item.id)
                }
                #expect(
                    await place.told() == (isTold ? ["rcvFileDescrReady"] : isSame ? [] : ["chatItemUpdated"])
                )
            }
        }
    }

    @Test("a status alone keeps the file's place")
    func places() async throws {
        let place = try IndexPlace()
        let item = try Self.item(#"{"type":"rcvComplete"}"#, place)
        for arguments in [Self.kept.arguments, nil] {
            try place.index.commit { change in
                var known = try #require(item.chatItem(own: "alice", filesFolder: "/files"))
                known.file?.source = FileSourceLocation(path: "/f", arguments: arguments)
                let items = change.tables.items
                try items.put(known, #require(known.file), reference: "@1")
                try change.setStatus(.rcvAccepted, of: FileID(1007), .accepted)
                #expect(try items.place(of: item.id)?.path == "/f")
                #expect(try items.place(of: item.id)?.isSealed == (arguments != nil))
                #expect(change.touched == [item.id])
                try change.setStatus(.rcvComplete, of: FileID(1007), source: Self.kept, .completed)
                #expect(try items.place(of: item.id)?.path == "/kept")
                #expect(try items.place(of: item.id)?.isSealed == true)
                try change.setStatus(.rcvComplete, of: FileID(9), .completed)
                #expect(change.touched == [item.id, item.id])
            }
            #expect(await place.told() == ["rcvFileAccepted", "rcvFileComplete"])
        }
    }

    @Test(
        "a removal deletes copy and staging folder"
    )
    func removal() async throws {
        let place = try IndexPlace()
        let disappearing = ScriptedMessage(id: 1, contact: 1, name: "a")
        var timed = disappearing
        timed.disappears = true
        _ = try place.take("newChatItems", [timed, ScriptedMessage(id: 2, contact: 1, name: "b")])
        let folder = try place.folder.makeFolder("outbox/message-1")
        let copy = try place.folder.write([1], to: "outbox/kept-1002")
        try place.index.commit { change in
            let tables = change.tables
            try tables.sends.begin("m", size: 1, in: .direct(1), folder: "message-1", run: "x")
            try tables.sends.end("m", as: ItemID(1))
            try tables.keptCopies.put(FileID(1002), at: copy, #require(Self.kept.arguments))
        }
        _ = await place.told()
        try place.index.commit { try $0.removeUntold([ItemID(1), ItemID(2), ItemID(3)]) }
        #expect(await place.told() == ["chatItemsDeleted disappeared", "chatItemsDeleted deleted"])
        #expect(try place.folder.names(in: "outbox").isEmpty)
        #expect(access(folder, F_OK) != 0)
        #expect(try place.index.read { try $0.sends.send(of: "m") } == nil)
        #expect(try place.index.read { try $0.keptCopies.source(of: FileID(1002)) } == nil)
    }

    @Test("a failed change has no effect")
    func failure() async throws {
        let place = try IndexPlace()
        _ = try place.take("newChatItems", [ScriptedMessage(id: 1, contact: 1, name: "a")])
        let copy = try place.folder.write([1], to: "outbox/kept-1001")
        try place.index.commit {
            try $0.tables.keptCopies.put(FileID(1001), at: copy, #require(Self.kept.arguments))
        }
        _ = await place.told()
        #expect(throws: ChatError.self) {
            try place.index.commit { change in
                try change.remove([ItemID(1)], .deleted)
                throw ChatError(.storage, "No.")
            }
        }
        #expect(await place.told().isEmpty)
        #expect(try place.item(1) != nil)
        #expect(try place.folder.names(in: "outbox") == ["kept-1001"])
    }
}
