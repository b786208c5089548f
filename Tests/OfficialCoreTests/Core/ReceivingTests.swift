import Base
import ChatCore
import Glibc
import Posix
import ScriptedCore
import Testing
import XFTP

@testable import OfficialCore

@Suite("Reception of files")
struct ReceivingTests {
    private static let offered = ScriptedMessage(id: 1, contact: 1, name: "film.mp4")
    private static let notApproved = """
        {"type":"error","errorType":{"type":"fileNotApproved","fileId":1001,\
        "unknownServers":["xftp://AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=@relay.example"]}}
        """

    private func known(_ core: OfficialCore, _ file: Int64) async -> Bool {
        await eventually {
            (try? await core.items(of: .direct(1), before: nil, count: 10).contains {
                $0.file?.id == FileID(file)
            })
                ?? false
        }
    }

    @Test func claimStartsReceptionToo() async throws {
        let stage = try Stage { state in
            state.history.append(Self.offered)
            state.descriptions[1001] = "party: recipient\nname: ä"
        }
        let core = try await stage.open()
        #expect(await known(core, 1001))
        let claim = try await core.claimFile(FileID(1001), approvedRelays: false)
        #expect(claim?.description == "party: recipient\nname: ä" && claim?.isReceivedByCore == true)
        #expect(stage.simplex.count("/freceive 1001 encrypt=on") == 1)
        // A second reader does not start another reception.
        _ = try await core.claimFile(FileID(1001), approvedRelays: false)
        #expect(stage.simplex.count("/freceive") == 1)
        await core.shutDown()
    }

    @Test func fileWithoutDescriptionIsNotAccepted() async throws {
        let stage = try Stage()
        let core = try await stage.open()
        stage.simplex.tellNew(Self.offered)
        #expect(await known(core, 1001))
        #expect(
            try await core.item(ItemID(1), in: .direct(1)).file?.status == .rcvInvitation(described: false))
        #expect(try await core.claimFile(FileID(1001), approvedRelays: false) == nil)
        #expect(stage.simplex.count("/freceive") == 0)
        let description = #","rcvFileDescr":{"fileDescrText":"yaml","fileDescrComplete":true}"#
        stage.simplex.tell("rcvFileDescrReady", Self.offered, more: description)
        #expect(
            await eventually {
                (try? await core.item(ItemID(1), in: .direct(1)).file?.status)
                    == .rcvInvitation(described: true)
            })
        #expect(try await core.claimFile(FileID(1001), approvedRelays: false)?.description == "yaml")
        await core.shutDown()
    }

    @Test func pictureWaitsForRelayApproval() async throws {
        let stage = try Stage { $0.refusals["/freceive 1001 encrypt"] = Self.notApproved }
        let core = try await stage.open()
        var picture = Self.offered
        picture.type = "image"
        stage.simplex.tellNew(picture)
        let problem = { () async -> FileProblem? in
            guard case .rcvAborted(let problem) = try? await core.item(ItemID(1), in: .direct(1)).file?.status
            else { return nil }
            return problem
        }
        #expect(await eventually { await problem()?.sentence.contains("relay.example") == true })
        // The core still reports the file as an invitation.
        stage.simplex.tell("chatItemUpdated", picture)
        stage.transport.disconnect()
        stage.transport.connect()
        #expect(await eventually { stage.simplex.count("/_get chats") >= 2 })
        #expect(await problem()?.kind == .notApproved)
        await core.relaysWereApproved()
        #expect(await problem() != nil)
        #expect(stage.simplex.count("/freceive 1001 approved_relays=on") == 0)
        let relay = try #require(
            RelayAddress("xftp://AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=@relay.example"))
        try core.trust.approve([relay])
        await core.relaysWereApproved()
        #expect(stage.simplex.count("/freceive 1001 approved_relays=on encrypt=on") == 1)
        #expect(await eventually { await problem() == nil })
        #expect(try core.trust.revoke([relay]) == [relay])
        #expect(try core.trust.revoke([relay]) == [] && core.trust.approved().isEmpty)
        await core.shutDown()
    }

    /// A core that accepts a picture without a description and refuses after the description arrived.
    private func stageOfLateRefusal() throws -> (Stage, ScriptedMessage) {
        var picture = Self.offered
        picture.type = "image"
        return (try Stage(), picture)
    }

    private func refuseLate(_ stage: Stage, _ picture: ScriptedMessage) {
        stage.simplex.change { $0.refusals["/freceive 1001 encrypt"] = Self.notApproved }
        stage.simplex.tell("chatItemUpdated", picture)
        stage.simplex.tell(#"{"type":"chatError","chatError":\#(Self.notApproved)}"#)
    }

    @Test func lateRefusalIsAnsweredWithApproval() async throws {
        let (stage, picture) = try stageOfLateRefusal()
        let core = try await stage.open()
        let relay = "xftp://AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=@relay.example"
        try core.trust.approve([try #require(RelayAddress(relay))])
        stage.simplex.tellNew(picture)
        #expect(await eventually { stage.simplex.count("/freceive 1001 encrypt=on") == 1 })
        refuseLate(stage, picture)
        #expect(
            await eventually { stage.simplex.count("/freceive 1001 approved_relays=on encrypt=on") == 1 })
        await core.shutDown()
    }

    @Test func lateRefusalNamesUnapprovedRelays() async throws {
        let (stage, picture) = try stageOfLateRefusal()
        let core = try await stage.open()
        stage.simplex.tellNew(picture)
        #expect(await eventually { stage.simplex.count("/freceive 1001 encrypt=on") == 1 })
        refuseLate(stage, picture)
        let isNamed = { () async -> Bool in
            guard case .rcvAborted(let problem) = try? await core.item(ItemID(1), in: .direct(1)).file?.status
            else { return false }
            return problem.kind == .notApproved && problem.sentence.contains("relay.example")
        }
        #expect(await eventually { await isNamed() })
        #expect(stage.simplex.count("/freceive 1001 approved_relays=on") == 0)
        await core.shutDown()
    }

    @Test func abortedTransferIsReceivedWithApproval() async throws {
        let (stage, picture) = try stageOfLateRefusal()
        let core = try await stage.open()
        let relay = "xftp://AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=@relay.example"
        try core.trust.approve([try #require(RelayAddress(relay))])
        stage.simplex.tellNew(picture)
        #expect(await eventually { stage.simplex.count("/freceive 1001 encrypt=on") == 1 })
        #expect(
            await eventually {
                (try? await core.item(ItemID(1), in: .direct(1)).file?.status) == .rcvAccepted
            })
        stage.simplex.change { $0.refusals["/freceive 1001 encrypt"] = Self.notApproved }
        var aborted = picture
        aborted.status = #"{"type":"rcvAborted"}"#
        stage.simplex.tell("chatItemUpdated", aborted)
        #expect(
            await eventually { stage.simplex.count("/freceive 1001 approved_relays=on encrypt=on") == 1 })
        await core.shutDown()
    }

    @Test func unapprovedRelaysAreNamedAndNotContacted() async throws {
        let stage = try Stage { state in
            state.history.append(Self.offered)
            state.descriptions[1001] = "yaml"
            state.refusals["/freceive 1001 encrypt"] = Self.notApproved
        }
        let core = try await stage.open()
        #expect(await known(core, 1001))
        await #expect {
            _ = try await core.claimFile(FileID(1001), approvedRelays: false)
        } throws: { error in
            let error = error as? ChatError
            return error?.code == .file(.notApproved) && error?.sentence.contains("relay.example") == true
        }
        #expect(stage.simplex.count("/freceive 1001 approved_relays=on") == 0)
        try await core.receiveFile(FileID(1001), approvedRelays: true)
        #expect(stage.simplex.count("/freceive 1001 approved_relays=on encrypt=on") == 1)
        await core.shutDown()
    }

    @Test func onlySmallPicturesAreReceivedAtArrival() async throws {
        let stage = try Stage()
        let core = try await stage.open()
        var picture = Self.offered
        picture.type = "image"
        stage.simplex.tellNew(picture)
        #expect(await eventually { stage.simplex.count("/freceive 1001") == 1 })
        var large = ScriptedMessage(id: 2, contact: 1, name: "large.jpg", size: 600_000)
        large.type = "image"
        stage.simplex.tellNew(large)
        stage.simplex.tellNew(.init(id: 3, contact: 1, name: "file.pdf"))
        #expect(await known(core, 1003))
        #expect(stage.simplex.count("/freceive") == 1)
        await core.shutDown()
    }

    @Test func unreportedCompletionIsFound() async throws {
        let stage = try Stage { $0.history.append(Self.offered) }
        let core = try await stage.open()
        #expect(await known(core, 1001))
        try await core.receiveFile(FileID(1001), approvedRelays: false)
        stage.simplex.change { state in
            state.history.change(1) { message in
                message.status = #"{"type":"rcvComplete"}"#
                message.path = "film.mp4"
            }
        }
        #expect(
            await eventually {
                (try? await core.item(ItemID(1), in: .direct(1)).file?.status) == .rcvComplete
            })
        let location = try await core.location(of: FileID(1001))
        #expect(location?.path == stage.folder.path + "/film.mp4")
        await core.shutDown()
    }

    @Test func completionBeforeAnswerIsKept() async throws {
        let stage = try Stage { $0.history.append(Self.offered) }
        var settings = stage.settings()
        // No comparison repairs the result.
        settings.reconcileInterval = .seconds(600)
        let core = try await OfficialCore.open(stage.transport, settings)
        #expect(await known(core, 1001))
        let isComplete: @Sendable () async throws -> Bool = {
            try await core.item(ItemID(1), in: .direct(1)).file?.status == .rcvComplete
        }
        stage.after("/freceive") { [simplex = stage.simplex] in
            simplex.complete(1, path: "film.mp4", cryptoArguments: nil)
            // The answer waits until the event was stored.
            #expect((try? await eventually(isComplete)) == true)
        }
        try await core.receiveFile(FileID(1001), approvedRelays: false)
        #expect(try await isComplete())
        await core.shutDown()
    }

    @Test func damagedCopyIsDownloadedAndKept() async throws {
        let description = "party: recipient"
        let stage = try Stage { state in
            var message = Self.offered
            message.status = #"{"type":"rcvComplete"}"#
            message.path = "film.mp4"
            state.history.append(message)
            state.descriptions[1001] = description
        }
        let file = FileID(1001)
        let core = try await stage.open()
        #expect(await known(core, 1001))
        let status = { try await core.item(ItemID(1), in: .direct(1)).file?.status }
        var number: Int64 = 10
        /// Requests the file's status and waits until the answer was stored.
        func look() async throws {
            let message = try #require(stage.simplex.change { $0.history.change(1) { _ in } })
            stage.simplex.tell("chatItemUpdated", message)
            number += 1
            stage.simplex.tellNew(.init(id: number, contact: 1, name: "next.bin"))
            #expect(await known(core, 1000 + number))
        }
        func keep(_ name: String) async throws -> FileSourceLocation {
            let staged = core.stagingFolder + "/" + name
            try OpenFile(staged, flags: O_WRONLY | O_CREAT).write(Array(name.utf8), at: 0)
            let arguments = FileArguments(
                key: [UInt8](repeating: 1, count: 32), nonce: [UInt8](repeating: 2, count: 24))
            return try await core.completeClaim(
                file, staged: FileSourceLocation(path: staged, arguments: arguments))
        }
        var location = try #require(try await core.location(of: file))
        for name in ["first", "second"] {
            guard case .offered(let item) = try await core.giveUpCopy(of: file, at: location) else {
                Issue.record("It was not offered.")
                return
            }
            #expect(item.file?.status.isGivenUp == true)
            try await look()
            #expect(try await status()?.isGivenUp == true)
            let claim = try #require(try await core.claimFile(file, approvedRelays: false))
            #expect(claim.description == description && !claim.isReceivedByCore)
            location = try await keep(name)
            try await look()
            #expect(try await status() == .rcvComplete)
            #expect(try await core.location(of: file) == location)
            #expect(try OpenFile(location.path, flags: O_RDONLY).readAll(limit: 100) == Array(name.utf8))
        }
        stage.simplex.change { $0.descriptions = [:] }
        guard case .lost(let problem) = try await core.giveUpCopy(of: file, at: location) else {
            Issue.record("It was offered without a description.")
            return
        }
        #expect(problem.kind == .damaged)
        #expect(try await status() == .rcvComplete)
        await core.shutDown()
    }

    @Test func historyWaitsDuringReception() async throws {
        let stage = try Stage { state in
            state.history.append((1...300).map { .init(id: $0, contact: 1, name: "\($0).jpg") })
        }
        stage.before("/_get chat @1 before") { try? await Task.sleep(for: .milliseconds(20)) }
        let core = try await stage.open()
        #expect(await known(core, 1300))
        let pages = { @Sendable in stage.simplex.count("/_get chat @1 before") }
        let during = LockedCount()
        stage.before("/freceive") {
            // The current page may end and one more may begin, but no third follows.
            try? await Task.sleep(for: .milliseconds(50))
            let before = pages()
            try? await Task.sleep(for: .milliseconds(300))
            during.note(pages() - before)
        }
        try await core.receiveFile(FileID(1300), approvedRelays: false)
        #expect(during.value <= 1)
        await core.shutDown()
    }

    @Test func outcomesSetStates() async throws {
        let stage = try Stage { $0.history.append(Self.offered) }
        let core = try await stage.open()
        #expect(await known(core, 1001))
        let file = #","rcvFileTransfer":{"fileId":1001}"#
        let status = { try? await core.item(ItemID(1), in: .direct(1)).file?.status }
        stage.simplex.change {
            $0.history.change(1) { $0.status = #"{"type":"rcvTransfer","rcvProgress":5,"rcvTotal":9}"# }
        }
        var accepted = Self.offered
        accepted.status = #"{"type":"rcvAccepted"}"#
        stage.simplex.tell("rcvFileAccepted", accepted)
        stage.simplex.tell(
            "rcvFileProgressXFTP", Self.offered, more: file + #","receivedSize":5,"totalSize":9"#)
        #expect(await eventually { await status() == .rcvTransfer(received: 5, total: 9) })
        stage.simplex.change {
            $0.history.change(1) { $0.status = #"{"type":"rcvError","rcvFileError":{"type":"auth"}}"# }
        }
        let gone = #","agentError":{"type":"XFTP","xftpErr":{"type":"AUTH"}}"#
        stage.simplex.tell("rcvFileError", Self.offered, more: file + gone)
        #expect(
            await eventually {
                if case .rcvError(let problem) = await status() { problem.kind == .expired } else { false }
            })
        stage.simplex.tellGone(1)
        #expect(await eventually { await status() == nil })
        await core.shutDown()
    }
}

/// A number that a closure of another task changes.
final class LockedCount: Sendable {
    private let count = Lock(0)
    var value: Int { count.withLock { $0 } }
    func note(_ number: Int) { count.withLock { $0 += number } }
}
