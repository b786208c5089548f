import JSON
import Testing

@testable import ScriptedCore

@Suite("Links, the address and its requests")
struct PeopleTests {
    @Test("an invitation has two links and a number")
    func inviting() throws {
        let invitation = try ScriptedSimpleX().response("/_connect 1")
        #expect(invitation.type == "invitation" && invitation["connection"]?["pccConnId"]?.integer == 7)
        let link = invitation["connLinkInvitation"]
        #expect(link?["connShortLink"]?.string == "https://a/i#b")
        #expect(link?["connFullLink"]?.string?.hasPrefix("simplex:/invitation#") == true)
    }

    @Test("a link's plan is that of the test")
    func plans() throws {
        let core = ScriptedSimpleX()
        core.change {
            $0.plans["https://a/i#own"] =
                #"{"type":"invitationLink","invitationLinkPlan":{"type":"ownLink"}}"#
        }
        let own = try core.response("/_connect plan 1 https://a/i#own")
        #expect(own["connectionPlan"]?["invitationLinkPlan"]?.type == "ownLink")
        let other = try core.response("/_connect plan 1 https://a/i#other")
        #expect(other["connectionPlan"]?["contactAddressPlan"]?.type == "ok")
        #expect(other["connLink"]?["connShortLink"]?.string == "https://a/i#other")
        #expect(try core.outcome("/_connect plan 1 nonsense") == "commandError")
        #expect(
            try core.response("/_connect 1 simplex:/x https://a/i#b")["connection"]?["pccConnId"]?.integer
                == 8)
    }

    @Test("both commands for automatic acceptance work")
    func acceptance() throws {
        let core = ScriptedSimpleX()
        func isAutomatic() throws -> Bool {
            try core.response("/_show_address 1")["contactLink"]?["addressSettings"]?["autoAccept"] != nil
        }
        #expect(try core.outcome("/_address 1") == "userContactLinkCreated")
        #expect(try !isAutomatic())
        for (command, expected) in [
            ("/_auto_accept 1 on", true), ("/_auto_accept 1 off", false),
            (#"/_address_settings 1 {"autoAccept":{"acceptIncognito":false}}"#, true),
            (#"/_address_settings 1 {"businessAddress":false}"#, false),
        ] {
            #expect(try core.outcome(command) == "userContactLink")
            #expect(try isAutomatic() == expected)
        }
    }

    @Test("only accepted contacts are listed")
    func requests() throws {
        let core = ScriptedSimpleX()
        core.change { $0.requests = [3: "dan", 4: "eve"] }
        let accepted = try core.response("/_accept incognito=off 3")
        #expect(accepted["contact"]?["localDisplayName"]?.string == "dan")
        #expect(try core.outcome("/_reject 4") == "contactRequestRejected")
        for command in ["/_accept incognito=off 3", "/_reject 4", "/_accept incognito=off x", "/_reject 99"] {
            #expect(try core.outcome(command) == "contactRequestNotFound")
        }
        #expect(try core.outcome("/_get chat @103 count=1") == "apiChat")
        #expect(try core.outcome("/_get chat @104 count=1") == "contactNotFound")
        let listed = try core.response("/_get chats 1 pcc=off")["chats"]?.elements.compactMap {
            $0["chatInfo"]?["contact"]?["contactId"]?.integer
        }
        #expect(listed == [1, 103])
    }

    @Test("a group is joined once")
    func groups() throws {
        let core = ScriptedSimpleX()
        core.change { state in
            state.groups = [5: "club", 6: "choir"]
            state.invitedInto = [5]
        }
        func status() throws -> String? {
            try core.response("/_get chat #5 count=1")["chat"]?["chatInfo"]?["groupInfo"]?["membership"]?[
                "memberStatus"]?.string
        }
        #expect(try status() == "invited")
        #expect(try core.outcome("/_join #5") == "userAcceptedGroupSent")
        #expect(try status() == "connected")
        for command in ["/_join #5", "/_join #6", "/_join #7", "/_join x"] {
            #expect(try core.outcome(command) == "groupNotFound")
        }
    }

    @Test("codes are shown and keys renewed")
    func keys() throws {
        let core = ScriptedSimpleX()
        let code = try core.response("/_get code @1")
        #expect(code["connectionCode"]?.string == "12345 67890")
        #expect(code["contact"]?["activeConn"]?["pqSndEnabled"]?.bool == true)
        #expect(try core.outcome("/_sync @1 force=on") == "contactRatchetSyncStarted")
    }
}
