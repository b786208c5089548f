import Testing

@testable import Desktop

@Suite struct KeyHoldingTests {
    private let hour: Int64 = 3_600_000_000_000

    @Test func agentProvidesKeyUntilItsEnd() {
        var holding = KeyHolding(.agent, until: hour)
        #expect(holding.take(.asked, at: 0) == [.give])
        #expect(holding.remaining(at: hour - 7) == 7 && holding.remaining(at: hour + 7) == 0)
        #expect(holding.take(.asked, at: hour - 1) == [.give])
        #expect(holding.take(.asked, at: hour) == [.forget, .refuse])
        #expect(holding.take(.looked, at: hour) == [])
        #expect(holding.take(.asked, at: 0) == [.refuse], "a clock that goes back gives nothing back")
    }

    @Test(arguments: KeyHolding.Event.allCases)
    func onlyAgentForgetsAtEveryEnd(_ event: KeyHolding.Event) {
        let ends: Set<KeyHolding.Event> = [.locked, .sleeping, .awake, .sessionLocked, .folderGone]
        var agent = KeyHolding(.agent, until: hour)
        #expect(agent.take(event, at: 1).contains(.forget) == ends.contains(event))
        #expect(agent.isHeld != ends.contains(event))
        #expect(agent.take(.asked, at: 1) == [agent.isHeld ? .give : .refuse])
        var mount = KeyHolding(.mount, until: hour)
        _ = mount.take(event, at: hour * 9)
        #expect(mount.isHeld && mount.take(.asked, at: hour * 9) == [.give])
    }

    @Test func keyIsForgottenBeforeSleep() {
        var agent = KeyHolding(.agent)
        #expect(agent.take(.sleeping, at: 1) == [.forget, .letSleep])
        #expect(agent.take(.sleeping, at: 2) == [.letSleep])
        var mount = KeyHolding(.mount)
        #expect(mount.take(.sleeping, at: 1) == [.letSleep])
    }

    @Test func repliesSurviveEncoding() {
        for holder in KeyHolding.Holder.allCases {
            for seconds: Int64? in [nil, 0, 1, 28_800, .max] {
                let read = KeyMessage.holder(in: KeyMessage.head(holder, seconds: seconds))
                #expect(read?.holder == holder && read?.seconds == seconds)
            }
        }
        #expect(KeyMessage.holder(in: KeyMessage.head(nil, seconds: nil)) == nil)
        #expect(
            KeyMessage.holder(in: []) == nil
                && KeyMessage.holder(in: [9] + [UInt8](repeating: 0, count: 8)) == nil)
    }
}
