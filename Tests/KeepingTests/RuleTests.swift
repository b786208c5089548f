import Base
import ChatCore
import Testing

@testable import Keeping

@Suite("Keep rules")
struct RuleTests {
    private static let now = Timestamp(seconds: 1_800_000_000)
    private static let bob = ChatReference.direct(4)
    private static let family = ChatReference.group(2)

    private func candidate(
        _ chat: ChatReference = bob, isMedia: Bool = false, size: UInt64 = 1000, hours: Int64 = 40
    ) -> KeepCandidate {
        KeepCandidate(
            item: ItemID(1), file: FileID(1), chat: chat, isMedia: isMedia, size: size,
            expires: Self.now.advanced(by: .seconds(hours * 3600)), phase: .offered)
    }

    @Test("by default nothing is received")
    func never() {
        let rules = KeepRules()
        #expect(rules.verdict(on: candidate(isMedia: true), KeepConditions(), now: Self.now) == .leave)
        #expect(!rules.keepsAnything && !rules.dependsOnCost)
    }

    @Test(
        "each limit decides at its exact value",
        arguments: [
            (
                KeepOverride(kinds: .all), KeepConditions(), false, UInt64(1000), Int64(40),
                KeepVerdict.receive
            ),
            (KeepOverride(kinds: .media), KeepConditions(), false, 1000, 40, .leave),
            (KeepOverride(kinds: .media), KeepConditions(), true, 1000, 40, .receive),
            (KeepOverride(kinds: .all, largest: 1000), KeepConditions(), false, 1000, 40, .receive),
            (KeepOverride(kinds: .all, largest: 999), KeepConditions(), false, 1000, 40, .leave),
            (
                KeepOverride(kinds: .all, minimumFree: 50), KeepConditions(free: 1050), false, 1000, 40,
                .receive
            ),
            (
                KeepOverride(kinds: .all, minimumFree: 50), KeepConditions(free: 1049), false, 1000, 40,
                .wait(.disk)
            ),
            (KeepOverride(kinds: .all, minimumFree: .max), KeepConditions(), false, 1000, 40, .wait(.disk)),
            (KeepOverride(kinds: .all), KeepConditions(isMetered: true), false, 1000, 40, .wait(.metered)),
            (
                KeepOverride(kinds: .all, usesMetered: true), KeepConditions(isMetered: true), false, 1000,
                40,
                .receive
            ),
            (
                KeepOverride(kinds: .all, moment: .expiring), KeepConditions(), false, 1000, 25,
                .later(now.advanced(by: .seconds(3600)))
            ),
            (KeepOverride(kinds: .all, moment: .expiring), KeepConditions(), false, 1000, 24, .receive),
        ])
    func borders(
        rule: KeepOverride, conditions: KeepConditions, isMedia: Bool, size: UInt64, hours: Int64,
        verdict: KeepVerdict
    ) {
        let rules = KeepRules(profile: rule)
        let candidate = candidate(isMedia: isMedia, size: size, hours: hours)
        #expect(rules.verdict(on: candidate, conditions, now: Self.now) == verdict)
    }

    @Test("chats override single settings of the profile")
    func overrides() {
        var rules = KeepRules(profile: KeepOverride(kinds: .media, largest: 500))
        rules.chats[Self.family] = KeepOverride(kinds: .all)
        rules.chats[Self.bob] = KeepOverride(kinds: .never)
        #expect(rules.rule(for: Self.family) == KeepRule(kinds: .all, largest: 500))
        #expect(rules.rule(for: Self.bob).kinds == .never)
        #expect(rules.rule(for: .notes(1)) == KeepRule(kinds: .media, largest: 500))
        rules.profile.kinds = .never
        #expect(rules.keepsAnything && rules.dependsOnCost)
        rules.chats[Self.family]?.usesMetered = true
        #expect(rules.keepsAnything && !rules.dependsOnCost)
    }

    @Test(
        "candidates depend on the file's status",
        arguments: [
            (FileStatus.rcvInvitation(described: false), KeepCandidate.Phase?.some(.announced)),
            (.rcvInvitation(described: true), .offered), (.rcvAborted(.relaysNotApproved), .offered),
            (.rcvAccepted, .coming), (.rcvTransfer(received: 1, total: 2), .coming),
            (.rcvWarning(FileProblem(.unreachable, "")), .delayed),
            (.rcvError(FileProblem(.unreachable, "")), .offered), (.rcvError(FileProblem(.expired, "")), nil),
            (.rcvError(FileProblem(.damaged, "")), nil), (.rcvComplete, nil), (.rcvCancelled, nil),
            (.sndComplete, nil),
        ])
    func candidates(status: FileStatus, phase: KeepCandidate.Phase?) {
        let file = ChatFile(
            id: FileID(7), name: "a", size: 5, status: status, transport: .xftp, expires: Self.now)
        var item = ChatItem(
            id: ItemID(3), chat: Self.bob, direction: .received, sender: "bob", time: Self.now,
            content: MessageContent(kind: .voice(seconds: 1)), file: file)
        #expect(KeepCandidate(item)?.phase == phase)
        if phase != nil { #expect(KeepCandidate(item)?.isMedia == true) }
        item.file?.expires = nil
        #expect(KeepCandidate(item) == nil)
        item.file?.expires = Self.now
        item.direction = .sent
        #expect(KeepCandidate(item) == nil)
    }
}
