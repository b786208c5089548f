import Testing

@testable import Network

@Suite struct LivenessTests {
    private static let limits = Liveness.Limits(
        question: .seconds(10), silence: .seconds(20), end: .seconds(120))
    private let start = ContinuousClock.now

    @Test func silentPeerIsPingedOnceThenReportedThenDropped() {
        var liveness = Liveness(limits: Self.limits, now: start)
        #expect(liveness.step(heard: 0, now: start + .seconds(9)) == .nothing)
        #expect(liveness.step(heard: 0, now: start + .seconds(10)) == .ask)
        #expect(liveness.step(heard: 0, now: start + .seconds(19)) == .nothing && !liveness.isSilent)
        #expect(liveness.step(heard: 0, now: start + .seconds(20)) == .nothing && liveness.isSilent)
        #expect(liveness.step(heard: 0, now: start + .seconds(119)) == .nothing)
        #expect(liveness.step(heard: 0, now: start + .seconds(120)) == .giveUp)
    }

    @Test func everyByteIsASignOfLife() {
        var liveness = Liveness(limits: Self.limits, now: start)
        _ = liveness.step(heard: 0, now: start + .seconds(30))
        #expect(liveness.isSilent)
        #expect(liveness.step(heard: 1, now: start + .seconds(31)) == .nothing && !liveness.isSilent)
        #expect(liveness.step(heard: 1, now: start + .seconds(40)) == .nothing)
        #expect(liveness.step(heard: 1, now: start + .seconds(41)) == .ask)
    }

    @Test func sleepEndsAtTheNextStep() {
        var liveness = Liveness(limits: Self.limits, now: start)
        #expect(liveness.next(now: start + .seconds(4)) == .seconds(6))
        _ = liveness.step(heard: 0, now: start + .seconds(10))
        #expect(liveness.next(now: start + .seconds(15)) == .seconds(5))
        _ = liveness.step(heard: 0, now: start + .seconds(115))
        #expect(liveness.next(now: start + .seconds(115)) == .seconds(5))
        #expect(liveness.next(now: start + .seconds(200)) == .zero)
    }
}
