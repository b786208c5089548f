import Base
import ChatCore
import Glibc
import TestSupport
import Testing

@testable import Links

@Suite("Claims of files of added links")
struct LinkClaimsTests {
    private let stage: LinkStage
    private let links: LinkedCore
    private let file: FileID
    private let item: ItemID

    init() async throws {
        stage = try LinkStage()
        let row = try stage.store().add(stage.addition(1))
        (file, item) = (row.file, row.item)
        links = stage.open()
    }

    private func staged(_ bytes: [UInt8] = Array("hello".utf8)) throws -> FileSourceLocation {
        try stage.message("x", bytes).source
    }

    private func status() async throws -> FileStatus? { try await links.item(item, in: .links).file?.status }

    private func code(_ body: () async throws -> Void) async -> ChatErrorCode? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? ChatError)?.code
        }
    }

    @Test("a file has one claim at a time")
    func once() async throws {
        #expect(try await links.claimFile(file, approvedRelays: false) != nil)
        #expect(await code { _ = try await links.claimFile(file, approvedRelays: true) } == .alreadyReceiving)
        await links.abandonClaim(file, problem: nil)
        #expect(try await links.claimFile(file, approvedRelays: false)?.isReceivedByCore == false)
        await links.abandonClaim(file, problem: FileProblem(.unreachable, "Away."))
        #expect(try await status() == .rcvInvitation(described: true), "that may pass")
        _ = try await links.claimFile(file, approvedRelays: false)
        await links.abandonClaim(file, problem: FileProblem(.damaged, "Damaged."))
        #expect(try await status() == .rcvError(FileProblem(.damaged, "Damaged.")))
        #expect(await code { _ = try await links.claimFile(file, approvedRelays: false) } == .file(.damaged))
        await links.close()
    }

    @Test("unapproved relays are refused without a claim")
    func approval() async throws {
        stage.core.state.withLock { $0.unapproved = true }
        #expect(
            await code { _ = try await links.claimFile(file, approvedRelays: true) } == .file(.notApproved))
        stage.core.state.withLock { $0.unapproved = false }
        #expect(try await links.claimFile(file, approvedRelays: false) != nil)
        await links.close()
    }

    @Test(
        "a file of wrong length ends its claim")
    func lengths() async throws {
        for bytes in ["", "hell", "hello!"] {
            _ = try await links.claimFile(file, approvedRelays: false)
            let staged = try staged(Array(bytes.utf8))
            #expect(await code { _ = try await links.completeClaim(file, staged: staged) } == .file(.damaged))
            #expect(try await status() == .rcvInvitation(described: true))
        }
        #expect(stage.kept.isEmpty)
        _ = try await links.claimFile(file, approvedRelays: false)
        _ = try await links.completeClaim(file, staged: staged())
        #expect(try await status() == .rcvComplete)
        await links.close()
    }

    @Test("nothing stays of a removed link's file")
    func removed() async throws {
        _ = try await links.claimFile(file, approvedRelays: false)
        try await links.deleteItems([item], in: .links, mode: .internal)
        let staged = try staged()
        #expect(await code { _ = try await links.completeClaim(file, staged: staged) } == .noSuchFile)
        #expect(access(staged.path, F_OK) != 0 && stage.kept.isEmpty)
        #expect(await code { _ = try await links.claimFile(file, approvedRelays: false) } == .noSuchFile)
        #expect(await code { _ = try await links.location(of: file) } == .noSuchFile)
        await links.close()
    }

    @Test("concurrent damage reports offer the file again")
    func damagedTwice() async throws {
        _ = try await links.claimFile(file, approvedRelays: false)
        let place = try await links.completeClaim(file, staged: staged())
        for _ in 0..<2 {
            guard case .offered(let item) = try await links.giveUpCopy(of: file, at: place) else {
                Issue.record("it is taken for lost")
                continue
            }
            #expect(item.file?.status == .rcvInvitation(described: true) && item.file?.source == nil)
        }
        // A report with the old path gets the new copy.
        _ = try await links.claimFile(file, approvedRelays: false)
        let next = try await links.completeClaim(file, staged: staged())
        #expect(access(place.path, F_OK) != 0 && access(next.path, F_OK) == 0, "the damaged one is gone now")
        guard case .offered(let item) = try await links.giveUpCopy(of: file, at: place) else {
            Issue.record("the new copy is taken for lost")
            return
        }
        #expect(item.file?.status == .rcvComplete && item.file?.source == next)
        await links.close()
    }

    @Test("uploads cannot be received again")
    func uploads() async throws {
        let sent = try await links.send(stage.message("a.bin", [1, 2]), to: .links)
        let id = try #require(sent.file).id
        let place = try #require(try await links.location(of: id))
        guard case .lost(let problem) = try await links.giveUpCopy(of: id, at: place) else {
            Issue.record("it is offered again")
            return
        }
        #expect(problem == .damagedCopy)
        #expect(await code { _ = try await links.claimFile(id, approvedRelays: false) } == .file(.damaged))
        #expect(await code { try await links.receiveFile(file, approvedRelays: true) } == .invalidCommand)
        #expect(
            await code { try await links.setFileToReceive(file, approvedRelays: true) } == .invalidCommand)
        #expect(await code { try await links.cancelFile(file) } == .invalidCommand)
        #expect(
            await code { try await links.send(ComposedText(id: "1", text: "x"), to: .links) }
                == .sendingRefused)
        #expect(try await links.preview(of: sent.id, in: .links).isEmpty)
        await links.close()
    }

    @Test("files above 5 GiB are refused first")
    func tooLarge() async throws {
        var message = try stage.message("a.bin", [1, 2])
        message.size = FilePolicy.standaloneLimit + 1
        #expect(await code { _ = try await links.send(message, to: .links) } == .tooLarge)
        message.size = FilePolicy.standaloneLimit
        #expect(await code { _ = try await links.send(message, to: .links) } == .file(.damaged))
        #expect(stage.kept.isEmpty && access(message.source.path, F_OK) == 0)
        await links.close()
    }
}
