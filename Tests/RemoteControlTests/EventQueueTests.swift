import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import RemoteControl

@Suite struct EventQueueTests {
    private let folder = try? TemporaryFolder()

    private func queue(limit: Int, longest: UInt64 = 1 << 20) throws -> EventQueue {
        let path = try #require(folder).path("events")
        return EventQueue(limit: limit, longest: longest) { () throws(SystemError) in
            try OpenFile(path, flags: O_RDWR | O_CREAT | O_TRUNC)
        }
    }

    private static func event(_ number: Int) -> [UInt8] { Array("event \(number)".utf8) }

    @Test(arguments: [0, 100, 1 << 20])
    func eventsComeInTheirOrderHoweverManyWait(limit: Int) throws {
        let queue = try queue(limit: limit)
        var (given, taken) = (0, 0)
        for round in 1...20 {
            for _ in 0..<round * 3 {
                queue.append(Self.event(given))
                given += 1
            }
            for _ in 0..<round {
                #expect(queue.next() == .event(Self.event(taken)))
                taken += 1
            }
        }
        while taken < given {
            #expect(queue.next() == .event(Self.event(taken)))
            taken += 1
        }
        #expect(queue.next() == nil)
    }

    @Test func notedLossComesAfterEventsInMemory() throws {
        let queue = try queue(limit: 1 << 20)
        queue.append(Self.event(0))
        queue.noteLoss()
        #expect(queue.next() == .event(Self.event(0)))
        #expect(queue.next() == .lost)
        #expect(queue.next() == nil)
    }

    @Test func droppedEventsAreReportedOnce() throws {
        let queue = try queue(limit: 20, longest: 30)
        for number in 0..<10 { queue.append(Self.event(number)) }
        #expect(queue.next() == .event(Self.event(0)))
        #expect(queue.next() == .event(Self.event(1)))
        #expect(queue.next() == .lost)
        #expect(queue.next() == nil)
        // The state was read again, so further events count.
        queue.append(Self.event(10))
        #expect(queue.next() == .event(Self.event(10)))
    }

    @Test func aFullDiskLosesOnlyEvents() {
        let queue = EventQueue(limit: 8) { () throws(SystemError) in
            throw SystemError(code: ENOSPC, operation: "make a file")
        }
        queue.append(Self.event(0))
        queue.append(Self.event(1))
        #expect(queue.next() == .event(Self.event(0)))
        #expect(queue.next() == .lost)
    }

    @Test func eventsAreEncryptedOnTheDisk() throws {
        let queue = try queue(limit: 0)
        queue.append(Array("a secret word".utf8))
        let stored = try #require(folder).read("events")
        #expect(!String(decoding: stored, as: UTF8.self).contains("secret"))
        #expect(queue.next() == .event(Array("a secret word".utf8)))
    }
}
