import Base
import ChatCore
import CoreServices
import Store
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Upload table")
struct UploadTableTests {
    private let stage: StoreStage
    private static let arguments = FileArguments(key: [1, 2], nonce: [3, 4])
    private static let sent = StoredFileStatus.allCases.filter(\.isSent)
    private static let received = StoredFileStatus.allCases.filter { !$0.isSent }

    init() throws { stage = try StoreStage() }

    private func standalone(
        _ path: String, name: String? = nil, arguments: FileArguments? = arguments, link: String? = nil,
        of profile: Int64? = nil
    ) throws -> FileID {
        try stage.change(of: profile) {
            try $0.uploads.insertStandalone(
                path: path, name: name, size: 9, arguments: arguments, link: link, created: StoreStage.now,
                expires: StoreStage.now)
        }
    }

    private func set(_ file: FileID, _ columns: String) throws {
        try stage.execute("UPDATE file SET \(columns) WHERE id = \(file.rawValue)")
    }

    @Test("upload sources round-trip")
    func sources() throws {
        let stored = try stage.file(
            .sndStored, ["stored_name": "'s'", "key": "x'01'", "nonce": "x'02'", "recipients": "3"]
        ).file
        let first = try #require(try stage.change { try $0.uploads.upload(of: stored) })
        guard case .stored("s", let arguments) = first.source else {
            Issue.record("it is \(first.source)")
            return
        }
        #expect(arguments == FileArguments(key: [1], nonce: [2]))
        #expect(first.fileName == "a.pdf" && first.recipients == 3 && first.state == nil)
        func upload(_ file: FileID) throws -> UploadTable.Upload {
            try #require(try stage.change { try $0.uploads.upload(of: file) })
        }
        let sealed = try upload(standalone("/x/y.txt"))
        guard case .elsewhere("/x/y.txt", Self.arguments?) = sealed.source else {
            Issue.record("it is \(sealed.source)")
            return
        }
        #expect(sealed.fileName == "y.txt" && sealed.recipients == 1 && sealed.created == StoreStage.now)
        let plain = try upload(standalone("/", arguments: nil))
        guard case .elsewhere("/", nil) = plain.source else {
            Issue.record("it is \(plain.source)")
            return
        }
        #expect(plain.fileName == "file")
        #expect(try upload(standalone("/x/y", name: "z")).fileName == "z")
        #expect(try stage.change { try $0.uploads.upload(of: FileID(999)) } == nil)
    }

    @Test("state is stored only while running")
    func state() throws {
        for status in Self.sent {
            let file = try stage.file(status).file
            let isKept = try stage.change { try $0.uploads.keepState([5], of: file) }
            #expect(isKept == (status == .sndTransfer), "\(status)")
            #expect(
                try stage.change { try $0.uploads.uploadedChunks(of: file) }?.state == (isKept ? [5] : nil))
        }
    }

    @Test("completed upload keeps only its deletion data")
    func end() throws {
        let file = try stage.file(.sndTransfer, ["upload_state": "x'05'"]).file
        let link = UploadedLink(text: "simplex:/file", senderDescription: "of the link")
        try stage.change { try $0.uploads.complete(file, senderDescription: "sender", link: link) }
        let uploaded = try #require(try stage.change { try $0.uploads.uploadedChunks(of: file) })
        #expect(uploaded.senderDescription == "sender" && uploaded.state == nil)
        #expect(uploaded.linkDescription == "of the link")
        #expect(try stage.count("file", "link = 'simplex:/file'") == 1)
        try stage.change { try $0.uploads.forgetUploadedChunks(of: file) }
        let nothing = try #require(try stage.change { try $0.uploads.uploadedChunks(of: file) })
        #expect(nothing.senderDescription == nil && nothing.state == nil && nothing.linkDescription == nil)
        #expect(try stage.count("file", "link = 'simplex:/file'") == 1, "the link leads to what is there")
        #expect(try stage.change { try $0.uploads.uploadedChunks(of: FileID(999)) } == nil)
    }

    @Test("withdrawal spares received and failed files")
    func withdrawing() throws {
        for status in Self.received {
            let file = try stage.file(status, of: stage.bob).file
            try stage.change { try $0.uploads.describe(file, "the description") }
            let isBack = try stage.change { try $0.uploads.withdraw(file) }
            #expect(isBack == ![.rcvComplete, .rcvError].contains(status), "\(status)")
            let description = try stage.change(of: stage.bob) { try $0.downloads.description(of: file)?.text }
            #expect(description == (isBack ? nil : "the description"))
            let left = try #require(try stage.change(of: stage.bob) { try $0.downloads.offer(file) })
            #expect(left.status == (isBack ? .rcvCancelled : status))
        }
    }

    @Test("standalone upload is found by path")
    func byPath() throws {
        let file = try standalone("/x/y")
        _ = try standalone("/x/y", arguments: nil)
        _ = try standalone("/x/z")
        #expect(try stage.change { try $0.uploads.standaloneUpload(of: "/x/y") } == file)
        #expect(try stage.change { try $0.uploads.standaloneUpload(of: "/x") } == nil)
        #expect(try stage.change(of: stage.bob) { try $0.uploads.standaloneUpload(of: "/x/y") } == nil)
    }

    @Test("standalone outcome is a link or problem")
    func outcomes() throws {
        let file = try standalone("/x/y")
        func outcome() throws -> StandaloneOutcome? {
            try stage.change { try $0.uploads.standaloneOutcome(file) }
        }
        for status in Self.sent where ![.sndComplete, .sndError].contains(status) {
            try set(file, "status = '\(status.rawValue)'")
            #expect(try outcome() == nil)
        }
        try set(file, "status = 'snd_complete'")
        #expect(try outcome() == nil, "its link is not there yet")
        try set(file, "link = 'l'")
        #expect(try outcome() == .link("l"))
        try set(file, "status = 'snd_error', problem = 'noSpace', problem_sentence = 'It is full.'")
        #expect(try outcome() == .failed(FileProblem(.noSpace, "It is full.")))
        try set(file, "problem = 'of a later version'")
        // Read like elsewhere; `other` without a sentence would mislead.
        let damage = #expect(throws: StoreError.self) { try outcome() }
        #expect(damage?.code == .damaged)
        try set(file, "problem = NULL")
        #expect(try outcome() == .failed(FileProblem(.other, "It is full.")), "an earlier version gave none")
        for (profile, file) in [(stage.bob, file), (stage.alice, FileID(999))] {
            let error = #expect(throws: ChatError.self) {
                try stage.change(of: profile) { try $0.uploads.standaloneOutcome(file) }
            }
            #expect(error?.code == .noSuchFile)
        }
        let ofChat = try stage.file(.sndComplete, ["link": "'l'"]).file
        #expect(throws: ChatError.self) { try stage.change { try $0.uploads.standaloneOutcome(ofChat) } }
    }

    @Test("standalone download exists until its end")
    func downloads() throws {
        let file = try standalone("/x/y", arguments: nil, link: "l")
        let download = try #require(try stage.change { try $0.uploads.standaloneDownload(file) })
        #expect(download.path == "/x/y" && download.link == "l" && download.created == StoreStage.now)
        for status in Self.received where status != .rcvAccepted {
            try set(file, "status = '\(status.rawValue)'")
            #expect(try stage.change { try $0.uploads.standaloneDownload(file) } == nil)
        }
        let sent = try standalone("/x/z")
        #expect(try stage.change { try $0.uploads.standaloneDownload(sent) } == nil)
    }
}

@Suite("Download table")
struct DownloadTableTests {
    private let stage: StoreStage

    init() throws { stage = try StoreStage() }

    @Test("offers are received files of the profile")
    func offers() throws {
        for status in StoredFileStatus.allCases {
            let file = try stage.file(status).file
            let offer = try stage.change { try $0.downloads.offer(file) }
            #expect(offer?.status == (status.isSent ? nil : status))
            #expect(try stage.change(of: stage.bob) { try $0.downloads.offer(file) } == nil)
            if status.isSent {
                let error = #expect(throws: ChatError.self) {
                    try stage.change { try $0.downloads.existingOffer(file) }
                }
                #expect(error?.code == .noSuchFile)
            }
        }
        let standalone = try stage.change {
            try $0.uploads.insertStandalone(
                path: "/x", size: 1, link: "l", created: StoreStage.now, expires: StoreStage.now)
        }
        #expect(try stage.change { try $0.downloads.offer(standalone) } == nil)
        let described = try stage.file(
            .rcvWarning,
            [
                "description": "'d'", "problem": "'unreachable'", "problem_sentence": "'Away.'",
                "to_receive": "1", "approved": "1",
            ])
        let offer = try stage.change { try $0.downloads.existingOffer(described.file) }
        #expect(offer.isDescribed && offer.wish == .requested && offer.isApproved && offer.size == 7)
        #expect(offer.problem.sentence == "Away." && offer.created == Timestamp(nanoseconds: 3))
        let description = try stage.change { try $0.downloads.description(of: described.file) }
        #expect(description?.text == "d" && description?.size == 7)
        #expect(
            try stage.change(of: stage.bob) { try $0.downloads.description(of: described.file)?.text } == nil)
    }

    @Test("final states throw their reason")
    func over() throws {
        let cancelled = try stage.file(.rcvCancelled).file
        let failed = try stage.file(
            .rcvError, ["problem": "'expired'", "problem_sentence": "'It is gone.'"]
        ).file
        let errors = try [cancelled, failed].map { file in
            let offer = try stage.change { try $0.downloads.existingOffer(file) }
            return #expect(throws: ChatError.self) { try offer.refuseWhenOver() }
        }
        #expect(errors[0]?.code == .file(.cancelledBySender))
        #expect(errors[0]?.sentence == "The sender cancelled the file.")
        #expect(errors[1]?.code == .file(.expired) && errors[1]?.sentence == "It is gone.")
        for status in StoredFileStatus.allCases
        where !status.isSent && ![.rcvCancelled, .rcvError].contains(status) {
            let file = try stage.file(status).file
            let offer = try stage.change { try $0.downloads.existingOffer(file) }
            #expect(throws: Never.self) { try offer.refuseWhenOver() }
        }
    }

    @Test("automatic candidates are described and small or requested")
    func describedItems() throws {
        var (expected, requested): ([ItemID], Set<ItemID>) = ([], [])
        for kind in [StoredContentKind.file, .image, .video, .voice, .text] {
            for (isDescribed, isAsked) in [(true, true), (true, false), (false, true)] {
                let made = try stage.file(
                    .rcvInvitation, kind: kind,
                    ["description": isDescribed ? "'d'" : "NULL", "to_receive": isAsked ? "1" : "0"])
                if isDescribed, isAsked || [.image, .video, .voice].contains(kind) {
                    expected.append(made.item)
                    if isAsked { requested.insert(made.item) }
                }
            }
        }
        _ = try stage.file(.rcvComplete, kind: .image, ["description": "'d'"])
        _ = try stage.file(.rcvInvitation, kind: .image, of: stage.bob, ["description": "'d'"])
        func found(after seconds: Int) throws -> [ItemID] {
            let time = StoreStage.now.advanced(by: .seconds(seconds))
            return try stage.change {
                try $0.downloads.items(ofDescribed: StoredFileStatus.offered, at: time)
            }
        }
        for expires in ["NULL", "\(StoreStage.now.advanced(by: .seconds(1)).nanoseconds)"] {
            try stage.execute("UPDATE file SET expires = \(expires)")
            #expect(try Set(found(after: 0)) == Set(expected))
            #expect(try found(after: 0).count == expected.count)
        }
        #expect(try Set(found(after: 1)) == requested)
    }

    @Test("each request gets a new key")
    func requests() throws {
        let file = try stage.file(.rcvInvitation).file
        try stage.change { try $0.downloads.request(file, .rcvAccepted, isApproved: true) }
        var offer = try stage.change { try $0.downloads.existingOffer(file) }
        #expect(offer.status == .rcvAccepted && offer.wish == .requested && offer.isApproved)
        #expect(try stage.change { try $0.downloads.downloading() } == [file])
        #expect(try stage.change(of: stage.bob) { try $0.downloads.downloading() }.isEmpty)
        let keys = (1...3).map { FileArguments(key: [UInt8($0)], nonce: [UInt8($0), 0]) }
        for key in keys.prefix(2) {
            let known = try stage.change { try $0.downloads.arguments(of: file, orElse: key) }
            #expect(known == keys[0], "the same in every attempt")
        }
        try stage.change { try $0.downloads.decline(file) }
        offer = try stage.change { try $0.downloads.existingOffer(file) }
        #expect(offer.wish == .declined && !offer.isApproved && offer.status == .rcvAccepted)
        #expect(try stage.change { try $0.downloads.arguments(of: file, orElse: keys[2]) } == keys[2])
        try stage.change { try $0.downloads.forgetDecline(of: file) }
        #expect(try stage.change { try $0.downloads.existingOffer(file) }.wish == .none)
    }

    @Test("copies are replaceable or final")
    func copies() throws {
        let whole = ["stored_name": "'s'", "key": "x'01'", "nonce": "x'02'", "description": "'d'"]
        let replaceable = try stage.file(.rcvComplete, whole).file
        let alone = try stage.file(.rcvComplete, whole.filter { $0.key != "description" }).file
        let underWay = try stage.file(.rcvTransfer, whole).file
        let sent = try stage.file(.sndComplete, whole).file
        func names(_ file: FileID, of profile: Int64? = nil) throws -> [String?] {
            try stage.change(of: profile) {
                [try $0.downloads.replaceableCopy(of: file), try $0.downloads.receivedCopy(of: file)]
            }
        }
        #expect(try names(replaceable) == ["s", "s"] && names(alone) == [nil, "s"])
        #expect(try names(underWay) == [nil, nil] && names(sent) == [nil, nil])
        #expect(try names(replaceable, of: stage.bob) == [nil, nil])
        let lacking = try stage.change { tables in
            try [replaceable, alone, underWay, sent].map { try tables.downloads.lacksGoodCopy($0) }
        }
        #expect(lacking == [false, true, true, true])

        try stage.change { try $0.downloads.offerAgain(replaceable) }
        #expect(try stage.change { try $0.downloads.existingOffer(replaceable) }.status == .rcvInvitation)
        #expect(
            try stage.count("file", "id = \(replaceable.rawValue) AND stored_name IS NULL AND key IS NULL")
                == 1)
        try stage.execute("UPDATE file SET to_receive = 1 WHERE id = \(alone.rawValue)")
        try stage.change { try $0.downloads.letGo(of: alone, FileProblem(.expired, "Nobody has it.")) }
        let gone = try stage.change { try $0.downloads.existingOffer(alone) }
        #expect(gone.status == .rcvError && gone.problem == FileProblem(.expired, "Nobody has it."))
        #expect(try gone.wish == .none && names(alone) == [nil, nil])
    }
}
