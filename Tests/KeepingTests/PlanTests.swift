import Base
import ChatCore
import TestSupport
import Testing

@testable import Keeping

@Suite("Keep plans")
struct PlanTests {
    private static let start = Timestamp(seconds: 1_800_000_000)
    private static let all = KeepRules(profile: KeepOverride(kinds: .all, minimumFree: 0))

    private static func hours(_ hours: Double) -> Timestamp {
        start.advanced(by: .seconds(Int64(hours * 3600)))
    }

    private static func file(
        _ number: Int64, hours: Double = 40, size: UInt64 = 10, phase: KeepCandidate.Phase = .offered
    ) -> KeepCandidate {
        KeepCandidate(
            item: ItemID(number), file: FileID(number), chat: .direct(1), isMedia: false, size: size,
            expires: Self.hours(hours), phase: phase)
    }

    private static func scan(
        _ plan: inout KeepPlan, at files: [KeepCandidate], _ conditions: KeepConditions = KeepConditions(),
        hours: Double = 0
    ) -> [KeepPlan.Effect] {
        let now = Self.hours(hours)
        plan.beginScan(conditions)
        return files.sorted { $0.position < $1.position }.flatMap { plan.consider($0, now: now) }
            + plan.endScan(now: now)
    }

    @Test("four files download in order of expiry")
    func order() {
        var plan = KeepPlan(Self.all)
        let files = (1...6).map { Self.file($0, hours: 47 - Double($0)) }
        #expect(
            Self.scan(&plan, at: files)
                == [6, 5, 4, 3].map { .receive(Self.file($0, hours: 47 - Double($0))) })
        #expect(plan.ended(FileID(5), now: Self.start) == [.receive(Self.file(2, hours: 45))])
        #expect(plan.ended(FileID(99), now: Self.start) == [])
        // Another scan starts no running download again.
        #expect(Self.scan(&plan, at: files.filter { $0.file != FileID(5) }) == [])
        #expect(plan.counts.waiting == 5 && plan.counts.expiring == 0)
    }

    @Test("failing files of one chat do not stop another's")
    func fullChat() {
        var plan = KeepPlan(Self.all)
        let failing = (1...Int64(KeepPlan.maxSetAside + 10)).map { Self.file($0) }
        var effects = Self.scan(&plan, at: failing)
        var failed = 0
        while let effect = effects.popLast() {
            switch effect {
            case .receive(let file):
                failed += 1
                effects += plan.failed(file.file, .approval, now: Self.start)
            case .scan: effects += Self.scan(&plan, at: failing)
            case .stop, .tell: break
            }
        }
        #expect((KeepPlan.maxSetAside..<KeepPlan.maxSetAside + 4).contains(failed))
        let other = KeepCandidate(
            item: ItemID(9_999), file: FileID(9_999), chat: .direct(2), isMedia: false, size: 10,
            expires: Self.hours(47), phase: .offered)
        #expect(Self.scan(&plan, at: failing + [other]) == [.receive(other)])
        #expect(plan.counts.waiting == failing.count + 1)
    }

    @Test("a full queue causes another scan")
    func more() {
        var plan = KeepPlan(Self.all)
        var left = (1...200).map { Self.file($0, hours: 40 + Double($0) / 100) }
        var (scans, received) = (0, [FileID]())
        var effects = Self.scan(&plan, at: left)
        while !effects.isEmpty {
            var next: [KeepPlan.Effect] = []
            for effect in effects {
                switch effect {
                case .receive(let file):
                    received.append(file.file)
                    left.removeAll { $0.file == file.file }
                    next += plan.ended(file.file, now: Self.start)
                case .scan:
                    scans += 1
                    next += Self.scan(&plan, at: left)
                case .stop, .tell: Issue.record("\(effect)")
                }
            }
            effects = next
        }
        #expect(received == (1...200).map { FileID($0) })
        #expect(scans >= 3 && scans < 10)
    }

    @Test(
        "unwanted files are reported in their last hours"
    )
    func notice() {
        var plan = KeepPlan(KeepRules())
        #expect(Self.scan(&plan, at: [Self.file(1, hours: 13)]) == [])
        #expect(plan.nextScan == Self.hours(1) && plan.counts.expiring == 0)
        #expect(Self.scan(&plan, at: [Self.file(1, hours: 13)], hours: 1) == [.tell(Self.file(1, hours: 13))])
        #expect(plan.counts.expiring == 1 && plan.counts.waiting == 0)
    }

    @Test("failed files are reported after expiry")
    func over() {
        var plan = KeepPlan(Self.all)
        let file = Self.file(1, hours: 1)
        // A running download is not reported.
        #expect(Self.scan(&plan, at: [file]) == [.receive(file)])
        plan.progressed(file.file, now: Self.hours(1))
        #expect(Self.scan(&plan, at: [file], hours: 1) == [.tell(file)])
        #expect(plan.isReceiving(file.file))
        plan.progressed(file.file, now: Self.hours(4))
        #expect(Self.scan(&plan, at: [file], hours: 4) == [.stop(file.file), .tell(file)])
        // Also for a mount that starts too late.
        var late = KeepPlan(Self.all)
        #expect(Self.scan(&late, at: [file], hours: 30) == [.tell(file)])
        #expect(late.nextScan == nil)
    }

    @Test("failures are retried with growing delays")
    func failures() {
        var plan = KeepPlan(Self.all)
        let file = Self.file(1)
        #expect(Self.scan(&plan, at: [file]) == [.receive(file)])
        #expect(plan.failed(file.file, .failure, now: Self.start) == [.stop(file.file)])
        #expect(plan.nextScan == Self.start.advanced(by: .seconds(30)))
        #expect(Self.scan(&plan, at: [file], hours: 20.0 / 3600) == [])
        #expect(plan.counts.obstacles == [.failure: 1])
        #expect(Self.scan(&plan, at: [file], hours: 31.0 / 3600) == [.receive(file)])
        let later = Self.hours(31.0 / 3600)
        #expect(plan.failed(file.file, .failure, now: later) == [.stop(file.file)])
        #expect(plan.nextScan == later.advanced(by: .seconds(60)))
        // A clock set far back does not prolong the wait.
        #expect(Self.scan(&plan, at: [file], hours: -30) == [.receive(file)])
        var soon = KeepPlan(Self.all)
        let last = Self.file(2, hours: 11)
        #expect(Self.scan(&soon, at: [last]) == [.receive(last)])
        #expect(soon.failed(last.file, .failure, now: Self.start) == [.stop(last.file), .tell(last)])
    }

    @Test("unapproved relays wait for a change")
    func approval() {
        var plan = KeepPlan(Self.all)
        let file = Self.file(1)
        _ = Self.scan(&plan, at: [file])
        #expect(plan.failed(file.file, .approval, now: Self.start) == [.stop(file.file)])
        #expect(Self.scan(&plan, at: [file], hours: 20) == [])
        #expect(plan.counts.obstacles == [.approval: 1])
        #expect(plan.nextScan == Self.hours(28))
        #expect(Self.scan(&plan, at: [file], hours: 28) == [.tell(file)])
        plan.tryAgain()
        #expect(Self.scan(&plan, at: [file], hours: 29) == [.receive(file)])
    }

    @Test("cancelled files wait for new rules")
    func declined() {
        var plan = KeepPlan(Self.all)
        let file = Self.file(1)
        _ = Self.scan(&plan, at: [file])
        #expect(plan.declined(file, now: Self.start) == [.stop(file.file)])
        #expect(Self.scan(&plan, at: [file], hours: 1) == [])
        #expect(plan.counts.waiting == 0)
        plan.change(KeepRules(profile: KeepOverride(kinds: .all, minimumFree: 1)))
        #expect(Self.scan(&plan, at: [file], hours: 1) == [.receive(file)])
    }

    @Test("changed rules and metered connections stop downloads")
    func changes() {
        var plan = KeepPlan(Self.all)
        let file = Self.file(1)
        _ = Self.scan(&plan, at: [file])
        #expect(Self.scan(&plan, at: [file], KeepConditions(isMetered: true)) == [.stop(file.file)])
        #expect(plan.counts.obstacles == [.metered: 1])
        #expect(Self.scan(&plan, at: [file]) == [.receive(file)])
        plan.change(KeepRules())
        #expect(Self.scan(&plan, at: [file]) == [.stop(file.file)])
        #expect(!plan.isReceiving(file.file))
    }

    @Test("downloads share the free space")
    func disk() {
        var plan = KeepPlan(Self.all)
        let files = (1...3).map { Self.file($0, hours: 40 + Double($0), size: 40) }
        #expect(
            Self.scan(&plan, at: files, KeepConditions(free: 100)) == [
                .receive(files[0]), .receive(files[1]),
            ])
        #expect(plan.nextScan != nil)
        #expect(Self.scan(&plan, at: files, KeepConditions(free: 100)) == [])
        #expect(plan.counts.obstacles == [.disk: 1])
        #expect(plan.ended(files[0].file, now: Self.start) == [])
        #expect(Self.scan(&plan, at: Array(files[1...]), KeepConditions(free: 100)) == [.receive(files[2])])
    }

    @Test("the core's downloads are not started twice")
    func others() {
        var plan = KeepPlan(Self.all)
        let files = [
            Self.file(1, phase: .coming), Self.file(2, phase: .announced),
            Self.file(3, hours: 11, phase: .delayed),
        ]
        #expect(Self.scan(&plan, at: files) == [.tell(files[2])])
        #expect(plan.counts.waiting == 3)
        #expect(plan.counts.obstacles == [.upload: 1, .failure: 1])
    }

    @Test("stalled downloads make room")
    func silence() {
        var plan = KeepPlan(Self.all)
        let files = (1...5).map { Self.file($0, hours: 40 + Double($0)) }
        _ = Self.scan(&plan, at: files)
        for number in 2...4 { plan.progressed(FileID(Int64(number)), now: Self.hours(0.2)) }
        #expect(
            Self.scan(&plan, at: files, hours: 0.2) == [.stop(FileID(1)), .receive(files[4])])
    }

    @Test(
        "random events keep the bounds",
        arguments: 0..<20)
    func random(seed: Int) {
        var generator = SeededGenerator(state: UInt64(seed) &* 77 &+ 1)
        var plan = KeepPlan(Self.all)
        var (underWay, hours) = (Set<FileID>(), 0.0)
        var left = (1...80).map {
            Self.file($0, hours: Double.random(in: 1...60, using: &generator), size: 10)
        }
        func perform(_ effects: [KeepPlan.Effect]) {
            for effect in effects {
                switch effect {
                case .receive(let file): #expect(underWay.insert(file.file).inserted)
                case .stop(let file): #expect(underWay.remove(file) != nil)
                case .tell, .scan: break
                }
            }
            #expect(underWay.count <= KeepPlan.maxReceiving)
            #expect(underWay.allSatisfy(plan.isReceiving))
        }
        for _ in 0..<400 {
            let some = underWay.sorted().randomElement(using: &generator) ?? FileID(1)
            let now = Self.hours(hours)
            switch Int.random(in: 0..<8, using: &generator) {
            case 0:
                underWay.remove(some)
                left.removeAll { $0.file == some }
                perform(plan.ended(some, now: now))
            case 1: perform(plan.failed(some, .failure, now: now))
            case 2: hours += Double.random(in: -0.5...2, using: &generator)
            case 3: plan.progressed(some, now: now)
            case 4: plan.change(Bool.random(using: &generator) ? Self.all : KeepRules())
            case 5: plan.tryAgain()
            case 6:
                underWay.remove(some)
                perform(plan.handedOver(some, now: now))
            default:
                let free = UInt64.random(in: 0...80, using: &generator)
                let isMetered = Int.random(in: 0..<4, using: &generator) == 0
                let conditions = KeepConditions(isMetered: isMetered, free: free)
                perform(Self.scan(&plan, at: left, conditions, hours: hours))
            }
            if let next = plan.nextScan, plan.counts.waiting > 0 { #expect(next > Self.hours(hours - 100)) }
        }
    }
}
