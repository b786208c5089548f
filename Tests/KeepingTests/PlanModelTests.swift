import Base
import ChatCore
import TestSupport
import Testing

@testable import Keeping

/// The plan against a user's expectations over a day of changes.
@Suite("Keep plans against a model")
struct PlanModelTests {
    private static let start = Timestamp(seconds: 1_800_000_000)

    private static func at(_ minutes: Int) -> Timestamp { start.advanced(by: .seconds(Int64(minutes) * 60)) }

    private static func file(_ number: Int64, minutes: Int, size: UInt64, chat: ChatReference = .direct(1))
        -> KeepCandidate
    {
        KeepCandidate(
            item: ItemID(number), file: FileID(number), chat: chat, isMedia: number % 3 == 0, size: size,
            expires: at(minutes), phase: .offered)
    }

    /// A network with random failures, a disk that fills, a passive user: every matching file that fits is local before
    /// its expiry, unless failures are permanent.
    @Test("every fitting file arrives despite failures", arguments: 0..<12)
    func everything(seed: UInt64) {
        var random = SeededGenerator(state: seed &* 31 &+ 5)
        var plan = KeepPlan(KeepRules(profile: KeepOverride(kinds: .all, largest: 90, minimumFree: 0)))
        var left = (1...Int64(150)).map {
            Self.file(
                $0, minutes: Int.random(in: 1440...2880, using: &random),
                size: UInt64.random(in: 1...100, using: &random))
        }
        let wanted = Set(left.filter { $0.size <= 90 }.map(\.file))
        var (here, underWay, minute) = (Set<FileID>(), [FileID: KeepCandidate](), 0)
        var scans = true
        func perform(_ effects: [KeepPlan.Effect]) {
            for effect in effects {
                switch effect {
                case .receive(let file):
                    #expect(wanted.contains(file.file) && !here.contains(file.file))
                    #expect(underWay.updateValue(file, forKey: file.file) == nil)
                case .stop(let file): #expect(underWay.removeValue(forKey: file) != nil)
                case .tell(let file):
                    #expect(Self.at(minute) >= file.expires.advanced(by: .zero - KeepTimes.notice))
                case .scan: scans = true
                }
            }
            #expect(underWay.count <= KeepPlan.maxReceiving)
        }
        while minute < 1440, here.count < wanted.count {
            let now = Self.at(minute)
            if scans || plan.nextScan.map({ $0 <= now }) == true {
                scans = false
                plan.beginScan(KeepConditions())
                perform(left.sorted { $0.position < $1.position }.flatMap { plan.consider($0, now: now) })
                perform(plan.endScan(now: now))
            }
            for file in underWay.keys.sorted() {
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<5:
                    underWay[file] = nil
                    here.insert(file)
                    left.removeAll { $0.file == file }
                    perform(plan.ended(file, now: now))
                case 5: perform(plan.failed(file, .failure, now: now))
                default: plan.progressed(file, now: now)
                }
            }
            minute += 1
        }
        #expect(here == wanted, "\(wanted.subtracting(here).sorted()) of \(wanted.count) did not come")
    }

    @Test(
        "running downloads fit into the free space",
        arguments: 0..<8)
    func space(seed: UInt64) {
        var random = SeededGenerator(state: seed &* 131 &+ 17)
        let minimum: UInt64 = 50
        var plan = KeepPlan(KeepRules(profile: KeepOverride(kinds: .all, minimumFree: minimum)))
        var left = (1...Int64(60)).map {
            Self.file($0, minutes: 2000 + Int($0), size: UInt64.random(in: 1...100, using: &random))
        }
        var underWay: [FileID: UInt64] = [:]
        for minute in 0..<300 {
            let (now, free) = (Self.at(minute), UInt64.random(in: 0...400, using: &random))
            plan.beginScan(KeepConditions(free: free))
            let effects = left.flatMap { plan.consider($0, now: now) } + plan.endScan(now: now)
            for effect in effects {
                if case .receive(let file) = effect {
                    underWay[file.file] = file.size
                    #expect(underWay.values.reduce(0, +) + minimum <= free)
                }
                if case .stop(let file) = effect { underWay[file] = nil }
            }
            // The disk is not checked between scans, so a replacing file must fit as well.
            if let file = underWay.keys.sorted().randomElement(using: &random) {
                underWay[file] = nil
                left.removeAll { $0.file == file }
                for case .receive(let file) in plan.ended(file, now: now) {
                    underWay[file.file] = file.size
                    #expect(underWay.values.reduce(0, +) + minimum <= free)
                }
            }
        }
        #expect(left.count < 60)
    }

    @Test("counts match the files' states")
    func counts() {
        var plan = KeepPlan(
            KeepRules(
                profile: KeepOverride(kinds: .all, largest: 1000, minimumFree: 0),
                chats: [
                    .group(2): KeepOverride(kinds: .never),
                    .group(3): KeepOverride(usesMetered: true, moment: .expiring),
                ]))
        var announced = Self.file(1, minutes: 2000, size: 1)
        announced.phase = .announced
        var coming = Self.file(2, minutes: 2000, size: 1)
        coming.phase = .coming
        let files = [
            announced, coming, Self.file(4, minutes: 2000, size: 10),
            // Unwanted: reported shortly before expiry.
            Self.file(5, minutes: 700, size: 1001), Self.file(7, minutes: 719, size: 1, chat: .group(2)),
            Self.file(8, minutes: 721, size: 1, chat: .group(2)),
            // Later, and over metered connections too.
            Self.file(10, minutes: 1441, size: 1, chat: .group(3)),
            Self.file(11, minutes: 1440, size: 1, chat: .group(3)),
        ]
        plan.beginScan(KeepConditions(isMetered: true))
        let effects = files.flatMap { plan.consider($0, now: Self.start) } + plan.endScan(now: Self.start)
        #expect(effects == [.tell(files[3]), .tell(files[4]), .receive(files[7])])
        #expect(plan.counts.expiring == 2)
        #expect(plan.counts.obstacles == [.metered: 3])
        #expect(plan.counts.waiting == 4)
        // The last file of group 3 may start one minute later, when the last of group 2 is reported.
        #expect(plan.nextScan == Self.at(1))
    }

    @Test("an expired file is tried three more hours")
    func grace() {
        let file = Self.file(1, minutes: 60, size: 1)
        for (seconds, isTried) in [(0, true), (3 * 3600 - 1, true), (3 * 3600, false)] {
            var plan = KeepPlan(KeepRules(profile: KeepOverride(kinds: .all, minimumFree: 0)))
            let now = file.expires.advanced(by: .seconds(Int64(seconds)))
            plan.beginScan(KeepConditions())
            let effects = plan.consider(file, now: now) + plan.endScan(now: now)
            #expect(effects.contains(.receive(file)) == isTried)
            #expect(effects.contains(.tell(file)))
            #expect(plan.counts.expiring == 0, "it is over, not soon over")
        }
    }

    @Test("downloads time out after ten silent minutes")
    func timeout() {
        let file = Self.file(1, minutes: 2000, size: 1)
        for (seconds, hasFailed) in [(599, false), (600, true)] {
            var plan = KeepPlan(KeepRules(profile: KeepOverride(kinds: .all, minimumFree: 0)))
            plan.beginScan(KeepConditions())
            _ = plan.consider(file, now: Self.start) + plan.endScan(now: Self.start)
            plan.progressed(file.file, now: Self.at(5))
            let now = Self.at(5).advanced(by: .seconds(Int64(seconds)))
            plan.beginScan(KeepConditions())
            #expect(plan.consider(file, now: now) == (hasFailed ? [.stop(file.file)] : []))
            _ = plan.endScan(now: now)
            #expect(plan.isReceiving(file.file) == !hasFailed)
        }
    }

    @Test("ended downloads free their place")
    func room() {
        var plan = KeepPlan(KeepRules(profile: KeepOverride(kinds: .all, minimumFree: 0)))
        let files = (1...Int64(9)).map { Self.file($0, minutes: 2000 + Int($0), size: 1) }
        plan.beginScan(KeepConditions())
        _ = files.flatMap { plan.consider($0, now: Self.start) } + plan.endScan(now: Self.start)
        #expect(plan.handedOver(FileID(1), now: Self.start) == [.receive(files[4])])
        #expect(plan.handedOver(FileID(1), now: Self.start) == [])
        #expect(plan.declined(files[1], now: Self.start) == [.stop(FileID(2)), .receive(files[5])])
        // A waiting file leaves the queue.
        #expect(plan.declined(files[6], now: Self.start) == [])
        #expect(plan.ended(FileID(8), now: Self.start) == [])
        #expect(plan.failed(FileID(9), .failure, now: Self.start) == [], "it was not under way")
        #expect(plan.ended(FileID(3), now: Self.start) == [.receive(files[8])])
        #expect(plan.ended(FileID(4), now: Self.start) == [], "nothing waits any more")
    }
}
