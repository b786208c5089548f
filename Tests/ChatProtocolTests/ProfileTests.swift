import JSON
import Testing

@testable import ChatProtocol

@Suite("Profiles")
struct ProfileTests {
    /// The profile sent by an official program when connecting.
    static let official = #"""
        {"v":"1-16","event":"x.info","params":{"profile":{"displayName":"of1","fullName":"","preferences":{
        "calls":{"allow":"yes"},"commands":[],"files":{"allow":"always"},"fullDelete":{"allow":"no"},
        "reactions":{"allow":"yes"},"sessions":{"allow":"no"},"timedMessages":{"allow":"yes"},
        "voice":{"allow":"yes"}}}}}
        """#

    @Test("official profile decodes")
    func information() throws {
        let message = try ChatBody.readInformation(Array(Self.official.utf8), compression: nil)
        guard case .information(let profile) = message.event else {
            Issue.record("this is a profile")
            return
        }
        #expect(profile.displayName == "of1")
        #expect(profile.preferences[.files] == .always)
        #expect(profile.preferences[.fullDelete] == .no)
        #expect(message.versions == 1...16)
    }

    @Test(
        "features need permission of both sides",
        arguments: [
            (Preferences.Allowed?.some(.always), Preferences.Allowed?.some(.no), true),
            (.yes, .yes, true), (.yes, .no, false), (.no, .always, false), (nil, .no, false),
            (nil, nil, true),
        ])
    func preferences(_ theirs: Preferences.Allowed?, _ own: Preferences.Allowed?, _ isAllowed: Bool) {
        var (their, mine) = (Preferences(), Preferences())
        their[.voice] = theirs
        mine[.voice] = own
        #expect(their.allow(.voice, to: mine) == isAllowed)
    }

    @Test("default preferences allow files, not full deletion")
    func defaults() {
        let nothing = Preferences()
        #expect(nothing.allow(.files, to: nothing))
        #expect(!nothing.allow(.fullDelete, to: nothing))
        #expect(nothing.json == nil)
    }

    @Test("long names are cut, large images dropped")
    func limits() throws {
        let name = String(repeating: "é", count: 10_000)
        let picture = "data:image/png;base64," + String(repeating: "A", count: 12_500)
        let json = #"{"displayName":"\#(name)","fullName":"\#(name)","image":"\#(picture)"}"#
        let profile = try #require(
            JSONValue.parse(Array(json.utf8)).flatMap { ContactProfile($0) })
        #expect(profile.displayName.utf8.count == ProtocolLimits.name)
        #expect(profile.fullName.utf8.count == ProtocolLimits.name)
        #expect(profile.image == nil)
        #expect(!ContactProfile(displayName: "A", image: picture).json.contains("image"))
    }

    @Test("re-encoded profiles still fit a message")
    func saidAgain() throws {
        let scalars = "a" + String(repeating: "\u{301}", count: 31_000)
        let escaped = String(repeating: "\u{7F}", count: 2000)
        for name in [scalars + escaped, escaped + scalars] {
            let json = #"{"fileName":"\#(name)","fileSize":9,"fileInline":"offer"}"#
            let file = try #require(JSONValue.parse(Array(json.utf8)).flatMap { FileInvitation($0) })
            let id = try #require(SharedMessageID(bytes: [UInt8](repeating: 9, count: 255)))
            let accepted = ChatMessage(.fileAccepted(id, name: file.name), id: id)
            _ = try ChatBody.write(accepted, capacity: .postQuantumMessage, compression: nil)
        }
    }

    @Test("group profile omits address and preferences")
    func inGroups() {
        let profile = Sample.profile.forGroups
        #expect(profile.contactLink == nil && profile.preferences == Preferences())
        #expect(profile.displayName == Sample.profile.displayName && profile.image == Sample.profile.image)
        #expect(!profile.json.contains("example.org"))
    }

    @Test("short link data round-trips")
    func links() throws {
        let contact = LinkProfile.contact(
            Sample.profile, message: ChatContent(.text, text: "welcome"), isBusiness: false)
        #expect(LinkProfile(decoding: contact.encoded) == contact)
        let group = LinkProfile.group(Sample.group)
        #expect(LinkProfile(decoding: group.encoded) == group)
        for text in ["", "{}", "[]", #"{"profile":{}}"#, #"{"groupProfile":{"displayName":""}}"#] {
            #expect(LinkProfile(decoding: Array(text.utf8)) == nil)
        }
    }
}

@Suite("Group values")
struct GroupWordTests {
    @Test("roles are ordered, unknown ones have no rights")
    func roles() {
        #expect(MemberRole.allCases == MemberRole.allCases.sorted())
        #expect(!MemberRole.author.mayWrite && MemberRole.member.mayWrite)
        #expect(!MemberRole.member.mayModerate && MemberRole.moderator.mayModerate)
        #expect(!MemberRole.moderator.mayForward && MemberRole.admin.mayForward)
        #expect(MemberRole(word: "emperor") == .observer)
    }

    @Test("file permission may depend on the role")
    func preferences() {
        var preferences = GroupPreferences()
        #expect(preferences.allow(.files, to: .member) && !preferences.allow(.history, to: .owner))
        preferences[.files] = .init(isOn: true, role: .admin)
        #expect(!preferences.allow(.files, to: .moderator) && preferences.allow(.files, to: .owner))
        preferences[.files] = .init(isOn: false)
        #expect(!preferences.allow(.files, to: .owner))
    }

    @Test("unknown acceptance waits, missing one accepts")
    func acceptance() throws {
        func read(_ accepted: String) throws -> GroupLinkInvitation? {
            let text = #"""
                {"fromMember":{"memberId":"AAAA","memberRole":"owner"},"fromMemberName":"h",
                "invitedMember":{"memberId":"AAAB","memberRole":"member"},
                "groupProfile":{"displayName":"g","fullName":""}\#(accepted)}
                """#
            return GroupLinkInvitation(try #require(JSONValue.parse(Array(text.utf8))))
        }
        #expect(try read("")?.acceptance == .accepted)
        #expect(try read(#","accepted":"pending_review""#)?.acceptance == .pendingReview)
        #expect(try read(#","accepted":{"type":"accepted"}"#)?.acceptance == .accepted)
        #expect(try read(#","accepted":"by vote""#)?.acceptance == .pending)
    }
}
