import ChatCore
import CoreContract
import Glibc
import ScriptedCore
import TestSupport
import Testing

@testable import OfficialCore

@Suite("Core contract at an official core")
struct ContractTests {
    private func stage() throws -> Stage {
        try Stage { state in
            state.contacts = [1: "bob", 2: "carol"]
            for (id, status) in [
                (1, "rcvInvitation"), (2, "rcvComplete"), (3, "rcvCancelled"), (4, "sndComplete"),
            ] {
                var message = ScriptedMessage(id: Int64(id), contact: 1, name: "\(id).txt")
                message.isSent = status == "sndComplete"
                message.status = #"{"type":"\#(status)"}"#
                if status.hasSuffix("Complete") { message.path = "/files/\(id).txt" }
                state.history.append(message)
            }
            state.history.append(ScriptedMessage(id: 5, contact: 2, name: "carols.txt"))
        }
    }

    private func contract(_ core: OfficialCore, _ stage: Stage) async throws -> CoreContract {
        #expect(await eventually { (try? await core.itemCount()) == 5 })
        func item(_ id: Int64) async throws -> ChatItem { try await core.item(ItemID(id), in: .direct(1)) }
        let cast = CoreContract.Cast(
            chat: .direct(1), other: .direct(2), offered: try await item(1), complete: try await item(2),
            cancelled: try await item(3), sent: try await item(4))
        return CoreContract(
            core, cast, compose: { try stage.compose("\($0).txt", id: Self.mark($0)) },
            isThere: { access($0, F_OK) == 0 })
    }

    /// The text as part of a file name.
    private static func mark(_ text: String) -> String { text.replacing(" ", with: "-") }

    @Test(
        "every kind of core fulfils the contract",
        arguments: [
            OfficialCoreSettings.Ownership.library, .program, .attached,
        ])
    func contract(ownership: OfficialCoreSettings.Ownership) async throws {
        let stage = try stage()
        let core = try await stage.open(ownership)
        #expect(try await contract(core, stage).violations() == [])
        await core.shutDown()
    }

    @Test("limited cores fulfil the contract")
    func others() async throws {
        let stage = try stage()
        stage.simplex.change { $0.hidesAddress = true }
        let core = try await stage.open()
        #expect(try await contract(core, stage).violations() == [])
        await core.shutDown()
    }

    @Test("only contacts support a ratchet sync")
    func groups() async throws {
        let stage = try Stage { $0.groups = [3: "club"] }
        let core = try await stage.open()
        #expect(await eventually { (try? await core.chats().count) == 2 })
        for (group, code) in [(Int64(3), ChatErrorCode.invalidCommand), (4, .noSuchChat)] {
            await #expect {
                try await core.renewKeys(of: .group(group))
            } throws: { ($0 as? ChatError)?.code == code }
        }
        #expect(try await core.security(of: .group(3)) == nil)
        await #expect {
            _ = try await core.security(of: .group(4))
        } throws: { ($0 as? ChatError)?.code == .noSuchChat }
        #expect(stage.simplex.count("/_sync") + stage.simplex.count("/_get code") == 0)
        await core.shutDown()
    }

    @Test(
        "only receivable files are requested again"
    )
    func nothingIsOrderedInVain() async throws {
        let stage = try stage()
        let core = try await stage.open()
        let contract = try await contract(core, stage)
        _ = contract
        for file in [FileID(1003), FileID(1004), FileID(77)] {
            await #expect(throws: ChatError.self) {
                try await core.setFileToReceive(file, approvedRelays: true)
            }
        }
        try await core.setFileToReceive(FileID(1002), approvedRelays: true)
        #expect(stage.simplex.count("/_set_file_to_receive") == 0)
        try await core.setFileToReceive(FileID(1001), approvedRelays: true)
        #expect(stage.simplex.count("/_set_file_to_receive 1001") == 1)
        await core.shutDown()
    }
}
