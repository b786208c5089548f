import Base
import ChatCore
import ScriptedCore
import Testing

@testable import OfficialCore

@Suite("Connection commands at an official core")
struct ConnectionMakingTests {
    private func opened(
        _ change: (inout ScriptedState) -> Void = { _ in }
    ) async throws -> (Stage, OfficialCore) {
        let stage = try Stage { state in change(&state) }
        return (stage, try await OfficialCore.open(stage.transport, stage.settings(.attached)))
    }

    private func refusal<Result>(_ body: () async throws -> Result) async -> ChatError? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error as? ChatError
        }
    }

    @Test("an invitation names its contact after connecting")
    func inviting() async throws {
        let (stage, core) = try await opened()
        let invitation = try await core.invite()
        #expect(invitation.link == "https://a/i#b")
        #expect(try await core.contact(of: invitation.connection) == nil)
        stage.simplex.change { $0.connections[invitation.connection] = 1 }
        #expect(try await core.contact(of: invitation.connection)?.displayName == "bob")
        #expect(
            try await core.security(of: .direct(1))
                == ContactSecurity(code: "12345 67890", protection: .postQuantum))
        #expect(await refusal { try await core.verify(.direct(1), code: "1") }?.code == .invalidCommand)
        try await core.verify(.direct(1), code: "1234567890")
        #expect(try await core.security(of: .direct(1))?.verification == .verified)
        try await core.verify(.direct(1), code: nil)
        #expect(try await core.security(of: .direct(1))?.verification == .unverified)
        #expect(
            await refusal { try await core.requireVerification(of: .direct(1), true) }?.code
                == .invalidCommand)
        try await core.renewKeys(of: .direct(1))
        #expect(stage.simplex.commands.contains("/_sync @1 force=on"))
        #expect(await refusal { try await core.renewKeys(of: .group(1)) }?.code == .noSuchChat)
        try await core.moveQueue(of: .direct(1))
        #expect(stage.simplex.commands.contains("/_switch @1"))
        #expect(await refusal { try await core.moveQueue(of: .group(1)) }?.code == .noSuchChat)
        // A rotation in progress continues; other states are errors.
        let refusals: [(String, ChatErrorCode?)] = [
            ("switchConnectionAsync: already switching", nil), ("not duplex", .internalError),
        ]
        for (context, code) in refusals {
            stage.simplex.change {
                $0.refusals["/_switch"] = ErrorTests.agent(
                    #"{"type":"CMD","cmdErr":{"type":"PROHIBITED"},"errContext":"\#(context)"}"#)
            }
            #expect(await refusal { try await core.moveQueue(of: .direct(1)) }?.code == code)
        }
        await core.shutDown()
    }

    @Test("a link's plan is requested before its use")
    func accepting() async throws {
        let (stage, core) = try await opened()
        let number = try await core.accept("https://a/a#b")
        #expect(
            stage.simplex.commands.filter { $0.hasPrefix("/_connect") } == [
                "/_connect plan 1 https://a/a#b", "/_connect 1 simplex:/contact#/?v=2-7&smp=x https://a/a#b",
            ])
        stage.simplex.change { $0.connections[number] = 1 }
        #expect(try await core.contact(of: number)?.displayName == "bob")
        await core.shutDown()
    }

    @Test("used, own and invalid links are distinguished")
    func plans() async throws {
        let (stage, core) = try await opened { state in
            state.plans["x#known"] = """
                {"type":"contactAddress","contactAddressPlan":{"type":"known","contact":\
                {"contactId":1,"localDisplayName":"bob","profile":{"displayName":"bob"}}}}
                """
            state.plans["x#own"] = #"{"type":"invitationLink","invitationLinkPlan":{"type":"ownLink"}}"#
            state.plans["x#again"] = #"{"type":"invitationLink","invitationLinkPlan":{"type":"connecting"}}"#
            state.refusals["/_connect plan 1 x#used"] =
                #"{"type":"errorAgent","agentError":{"type":"SMP","smpErr":{"type":"AUTH"}}}"#
        }
        #expect(try await core.contact(of: core.accept("x#known"))?.reference == .direct(1))
        for (link, sentence) in [
            ("x#own", "belongs to this profile"), ("x#again", "has already used the link"),
            ("nonsense", "not a SimpleX link"), ("x#used", "used already"), ("x y", "not a link"),
        ] {
            let error = await refusal { try await core.accept(link) }
            #expect(error?.code == .invalidCommand && error?.sentence.contains(sentence) == true, "\(link)")
        }
        #expect(stage.simplex.count("/_connect 1 ") == 0)
        await core.shutDown()
    }

    @Test("an address is created, shown, changed, deleted")
    func address() async throws {
        let (stage, core) = try await opened()
        #expect(try await core.address() == nil)
        let made = ContactAddress(link: "https://a/a#b", acceptance: .ask)
        #expect(try await core.createAddress(nil) == made)
        #expect(try await core.createAddress(.ask) == made)
        #expect(stage.simplex.count("/_address ") == 1 && stage.simplex.count("/_address_settings") == 0)
        #expect(try await core.createAddress(.automatically).acceptance == .automatically)
        #expect(try await core.address()?.acceptance == .automatically)
        try await core.deleteAddress()
        #expect(await refusal { try await core.deleteAddress() }?.sentence.contains("no address") == true)
        await core.shutDown()
    }

    @Test("the older address command is a fallback")
    func older() async throws {
        let (stage, core) = try await opened { state in
            state.refusals["/_address_settings"] = #"{"type":"error","errorType":{"type":"commandError"}}"#
        }
        #expect(try await core.createAddress(.automatically).acceptance == .automatically)
        // The core may ask for pages of history meanwhile.
        #expect(stage.simplex.commands.last { !$0.hasPrefix("/sql ") } == "/_auto_accept 1 on")
        await core.shutDown()
    }

    @Test("requests are listed and answered once")
    func requests() async throws {
        let (_, core) = try await opened { state in state.requests = [3: "ca|rol\n", 4: "dave"] }
        let requests = try await core.requests()
        #expect(requests.map(\.number) == [3, 4] && requests.map(\.name) == ["ca|rol\n", "dave"])
        #expect(requests.first?.time == Timestamp(seconds: 1_800_000_000))
        #expect(try await core.acceptRequest(3) < 0)
        try await core.rejectRequest(4)
        #expect(try await core.requests().isEmpty)
        for number: Int64 in [3, 4, 99] {
            #expect(await refusal { try await core.acceptRequest(number) }?.code == .invalidCommand)
        }
        await core.shutDown()
    }

    @Test(
        "group invitations follow contact requests"
    )
    func groups() async throws {
        let (stage, core) = try await opened { state in
            state.requests = [3: "carol"]
            state.groups = [4: "c|ub", 5: "other"]
            state.invitedInto = [4, 5]
        }
        let requests = try await core.requests()
        #expect(requests.map(\.number) == [3, 1_000_000_004, 1_000_000_005])
        #expect(requests.map(\.group) == [nil, "c|ub", "other"] && requests[1].name == "bob")
        let number = try await core.acceptRequest(1_000_000_004)
        #expect(stage.simplex.commands.last { $0.hasPrefix("/_join") } == "/_join #4")
        try await core.rejectRequest(1_000_000_005)
        #expect(stage.simplex.commands.last { $0.hasPrefix("/_delete") } == "/_delete #5 full notify=on")
        #expect(try await core.requests().map(\.number) == [3])
        #expect(number < 0)
        for number: Int64 in [1_000_000_004, 1_000_000_099] {
            #expect(await refusal { try await core.acceptRequest(number) }?.code == .invalidCommand)
        }
        await core.shutDown()
    }

    @Test("a pending membership is not reported as joined")
    func notJoined() async throws {
        let (_, core) = try await opened { state in
            state.groups = [4: "club"]
            state.invitedInto = [4]
            state.plans["x#group"] = """
                {"type":"groupLink","groupLinkPlan":{"type":"known","groupInfo":{"groupId":4,\
                "localDisplayName":"club","groupProfile":{"displayName":"club"},\
                "membership":{"memberRole":"observer","memberStatus":"connected"}}}}
                """
        }
        let number = try await core.accept("x#group")
        #expect(try await core.contact(of: number) == nil)
        await core.shutDown()
    }

    @Test("without database queries an error names the remedy")
    func silent() async throws {
        let (_, core) = try await opened { $0.answersQuestions = false }
        #expect(await refusal { try await core.requests() }?.sentence.contains("use SimpleX Chat") == true)
        await core.shutDown()
    }
}
