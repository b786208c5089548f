import Agent
import Base
import ChatCore
import ChatProtocol
import Store
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("File table")
struct FileTableTests {
    private let stage: StoreStage

    init() throws { stage = try StoreStage() }

    private func standalone(link: String?) throws -> FileID {
        try stage.change {
            try $0.uploads.insertStandalone(
                path: "/x/y", size: 1, link: link, created: StoreStage.now, expires: StoreStage.now)
        }
    }

    /// All pairs of states.
    @Test("status changes only from expected states")
    func transitions() throws {
        let problem = FileProblem(.noSpace, "It is full.")
        for from in StoredFileStatus.allCases {
            let file = try stage.file(from, ["problem": "'expired'", "problem_sentence": "'Old.'"]).file
            for to in StoredFileStatus.allCases where to != from {
                let isSet = try stage.change { try $0.files.setStatus(to, of: file, from: [to]) }
                #expect(!isSet)
            }
            #expect(try stage.count("file", "id = \(file.rawValue) AND problem = 'expired'") == 1)
            let to = StoredFileStatus.allCases.first { $0 != from }!
            #expect(
                try stage.change {
                    try $0.files.setStatus(
                        to, of: file, from: StoredFileStatus.allCases, problem: problem)
                })
            #expect(try stage.change { try $0.files.status(of: file) } == to)
            #expect(
                try stage.count(
                    "file",
                    "id = \(file.rawValue) AND problem = 'noSpace' AND problem_sentence = 'It is full.'")
                    == 1)
            #expect(try stage.change { try $0.files.setStatus(from, of: file, from: [to]) })
            #expect(try stage.count("file", "id = \(file.rawValue) AND problem IS NULL") == 1)
            #expect(
                try stage.change(of: stage.bob) {
                    try $0.files.setStatus(to, of: file, from: StoredFileStatus.allCases)
                } == false, "another profile's")
        }
        #expect(try stage.change { try $0.files.status(of: FileID(999)) } == nil)
        #expect(
            try stage.change {
                try $0.files.setStatus(.sndError, of: FileID(999), from: StoredFileStatus.allCases)
            } == false)
    }

    @Test("resumable transfers are listed oldest first")
    func unfinished() throws {
        var expected: [String] = []
        func note(_ file: FileID, _ isUpload: Bool, _ isStandalone: Bool = false) {
            expected.append("\(file.rawValue) \(isUpload) \(isStandalone)")
        }
        for status in StoredFileStatus.allCases {
            for description in ["NULL", "'d'"] {
                for transport in ["xftp", "smp", "local"] {
                    let file = try stage.file(
                        status, ["description": description, "transport": "'\(transport)'"]
                    ).file
                    guard transport == "xftp" else { continue }
                    if StoredFileStatus.uploading.contains(status) { note(file, true) }
                    if StoredFileStatus.downloading.contains(status), description != "NULL" {
                        note(file, false)
                    }
                }
            }
            _ = try stage.file(status, of: stage.bob, ["description": "'d'"])
        }
        note(try standalone(link: nil), true, true)
        note(try standalone(link: "l"), false, true)
        let found = try stage.change { try $0.files.unfinished() }
        #expect(found.map { "\($0.file.rawValue) \($0.isUpload) \($0.isStandalone)" } == expected)
    }

    @Test("cancellable columns and standalone removal")
    func cancelling() throws {
        let (ofChat, alone) = (try stage.file(.sndTransfer).file, try standalone(link: "l"))
        let found = try stage.change { tables in
            try [ofChat, alone].map { try #require(try tables.files.cancellable($0)) }
        }
        #expect(found.map(\.isStandalone) == [false, true])
        #expect(found.map(\.status) == [.sndTransfer, .rcvAccepted])
        #expect(found.map(\.transport) == [.xftp, .xftp])
        #expect(try stage.change(of: stage.bob) { try $0.files.cancellable(ofChat) } == nil)
        try stage.change { try $0.files.remove(alone) }
        #expect(try stage.change { try $0.files.cancellable(alone) } == nil)
        try stage.execute("UPDATE file SET transport = 'by pigeon'")
        #expect(throws: StoreError.self) { try stage.change { try $0.files.cancellable(ofChat) } }
    }

    @Test("CryptoFile names belong to profiles")
    func sources() throws {
        let file = try stage.file(.rcvComplete).file
        #expect(try stage.change { try $0.files.hasStored("s") } == false)
        try stage.change { try $0.files.setSource(of: file, "s", FileArguments(key: [1], nonce: [2])) }
        #expect(try stage.change { try $0.files.hasStored("s") })
        #expect(try stage.change(of: stage.bob) { try $0.files.hasStored("s") } == false)
        #expect(try stage.count("file", "key = x'01' AND nonce = x'02'") == 1)
        try stage.change { try $0.files.setSource(of: file, "t", nil) }
        #expect(try stage.count("file", "stored_name = 't' AND key IS NULL AND nonce IS NULL") == 1)
        _ = try stage.file(.rcvComplete, of: stage.bob, ["stored_name": "'u'"])
        let stored = try stage.change { try $0.directory.selection.storedFiles() }
        #expect(stored.map { "\($0.profile) \($0.name)" } == ["\(stage.alice) t", "\(stage.bob) u"])
    }

    @Test("messages for the agent keep commit order")
    func outgoing() throws {
        let messages = try (1...5).map { number in
            var message = try OutgoingMessage(
                ChatMessage(
                    .message(NewMessage(ChatContent(.text, text: "\(number)"))),
                    id: StoreStage.message(number)), to: ConnectionID(Int64(number % 2)),
                of: number == 3 ? ItemID(7) : nil, ends: number == 5)
            message.delivery = number == 4 ? 9 : nil
            message.announces = number == 2
            return message
        }
        let farewell = try OutgoingMessage(
            ChatMessage(.contactDeleted, id: StoreStage.message(9)), to: ConnectionID(1))
        #expect(messages[0].notifies && messages[0].id == StoreStage.message(1))
        #expect(farewell.id == nil, "only what can be known again has one")
        try stage.change { tables in for message in messages { try tables.outgoing.add(message) } }
        try stage.change(of: stage.bob) { try $0.outgoing.add(farewell) }
        var last: Int64 = 0
        for (place, message) in messages.enumerated() {
            let next = try #require(try stage.change { try $0.outgoing.first() })
            #expect(next.number > last)
            last = next.number
            #expect(next.body == message.body && next.connection == message.connection)
            #expect(next.id == message.id && next.item == message.item && next.notifies == message.notifies)
            #expect(next.ends == (place == 4) && next.delivery == message.delivery)
            #expect(next.announces == (place == 1))
            #expect(try stage.change { try $0.network.hasPendingDecisions() })
            try stage.change { try $0.outgoing.remove(next.number) }
        }
        #expect(try stage.change { try $0.outgoing.first() } == nil)
        #expect(try stage.change { try $0.network.hasPendingDecisions() } == false)
        try stage.change { try $0.requests.reject(ContactRequestID(4)) }
        #expect(try stage.change { try $0.network.hasPendingDecisions() }, "a request is to be forgotten")
        #expect(try stage.change(of: stage.bob) { try $0.outgoing.first() }?.body == farewell.body)
    }
}
