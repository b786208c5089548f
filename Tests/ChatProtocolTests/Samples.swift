import Base
import Testing

@testable import ChatProtocol

/// One of every message.
enum Sample {
    static func id(_ byte: UInt8 = 1) throws -> SharedMessageID {
        try #require(SharedMessageID(bytes: [UInt8](repeating: byte, count: 12)))
    }

    static func member(_ byte: UInt8 = 1) throws -> MemberID {
        try #require(MemberID(bytes: [UInt8](repeating: byte, count: 16)))
    }

    static let time = Timestamp(nanoseconds: 1_795_163_395_179_571_558)
    static let picture = "data:image/jpg;base64,AAECAwQF"

    static var profile: ContactProfile {
        var preferences = Preferences()
        preferences[.files] = .always
        preferences[.timedMessages] = .yes
        preferences.timeToLive = 60
        return ContactProfile(
            displayName: "Alice \"A\" 😀", fullName: "Alice\nof Wonderland", shortDescription: "curious",
            image: picture, contactLink: "https://example.org/a#x", preferences: preferences, isBot: true)
    }

    static var group: GroupProfile {
        var preferences = GroupPreferences()
        preferences[.files] = .init(isOn: true, role: .admin)
        preferences[.history] = .init(isOn: false)
        return GroupProfile(
            displayName: "Tea", fullName: "Tea party", shortDescription: "at six", description: "Welcome.",
            image: picture, preferences: preferences)
    }

    static let contents: [ChatContent] = [
        ChatContent(.text, text: "hello \u{0} \u{2028} 😀"),
        ChatContent(
            .link(.init(address: "https://e.org", title: "T", description: "D", image: picture)),
            text: "see"),
        ChatContent(.image(preview: picture), text: "a caption"),
        ChatContent(.video(preview: picture, seconds: 61)), ChatContent(.voice(seconds: 300)),
        ChatContent(.file), ChatContent(.report(reason: "spam"), text: "no"),
    ]

    static func messages() throws -> [NewMessage] {
        let quote = Quote(
            id: try id(9), sentAt: time, isOwn: true, author: try member(3), content: contents[2])
        return contents.map { NewMessage($0) } + [
            NewMessage(contents[5], file: FileInvitation(name: "a/b.txt", size: 1 << 40)),
            NewMessage(contents[4], file: FileInvitation(name: "v.m4a", size: 9, way: .offeredInline)),
            NewMessage(contents[4], file: FileInvitation(name: "v.m4a", size: 9, way: .sentInline)),
            NewMessage(
                contents[0], quote: quote, timeToLive: 30, isLive: true,
                mentions: [Mention(name: "Bob \"B\"", member: try member(2))],
                scope: GroupScope(member: try member(4))),
            NewMessage(contents[0], isForwarded: true, scope: GroupScope(member: nil)),
        ]
    }

    static func groupEvents() throws -> [GroupEvent] {
        let (host, own) = (
            MemberReference(id: try member(1), role: .owner),
            MemberReference(id: try member(2), role: .member)
        )
        let information = MemberInformation(own, versions: 1...16, profile: profile)
        return [
            .invitation(
                GroupInvitation(host: host, invited: own, link: "simplex:/invitation#/?v=2", profile: group)),
            .acceptance(try member(2)),
            .linkInvitation(
                GroupLinkInvitation(
                    host: host, hostName: "Host", invited: own, profile: group, acceptance: .pendingReview)),
            .linkHost(profile), .linkAcceptance(.accepted, own), .linkRejection(reason: "rolesOrBlocked"),
            .newMember(information), .introduction(information),
            .introduction(MemberInformation(own, profile: profile, isBlocked: true)),
            .memberInvitation(try member(5), link: "simplex:/invitation#/?v=2"),
            .newcomer(information, link: "simplex:/invitation#/?v=2"), .memberConnected(try member(5)),
            .memberInformation(try member(5), profile),
            .role(own), .restriction(try member(5), isBlocked: true),
            .restriction(try member(5), isBlocked: false), .removal(try member(5), withMessages: true), .left,
            .deleted, .profile(group), .preferences(group.preferences),
            .forwarded(
                ForwardedMessage(
                    author: try member(6), authorName: "Carol",
                    message: ChatMessage(.message(NewMessage(contents[5])), id: try id(8)), time: time)),
        ]
    }

    static func events() throws -> [MessageEvent] {
        let plain: [MessageEvent] = [
            .information(profile),
            .contactRequest(.init(profile: profile, requestID: try id(7), message: contents[0])),
            .nothingToSay,
            .description(of: try id(2), DescriptionPart(text: "chunkSize: 4mb\n", number: 1, isLast: false)),
            .update(
                MessageUpdate(
                    try id(2), content: contents[0], timeToLive: 5, isLive: true,
                    mentions: [Mention(name: "B", member: try member(2))], scope: GroupScope(member: nil))),
            .deletion(try id(2), author: nil), .deletion(try id(2), author: try member(4)),
            .reaction(.init(to: try id(2), author: try member(4), emoji: "👍", isAdded: true)),
            .reaction(.init(to: try id(2), emoji: "❤", isAdded: false)), .fileCancelled(try id(2)),
            .fileAccepted(try id(2), name: "v.m4a"), .contactDeleted,
        ]
        return plain + (try messages().map { .message($0) }) + (try groupEvents().map { .group($0) })
    }
}

func expect<Result>(
    _ code: ChatProtocolErrorCode, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Result
) {
    #expect(sourceLocation: sourceLocation) {
        _ = try body()
    } throws: { ($0 as? ChatProtocolError)?.code == code }
}
