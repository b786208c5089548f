import Base
import TestSupport
import Testing

@testable import OfficialCore

/// A phone may carry out concurrent requests in another order, so each lane has one at a time.
@Suite("Commands to a phone keep their order")
struct PhoneTransportTests {
    /// A connected phone that answers commands only when it is awake.
    private struct Place {
        let transport: PhoneTransport
        let phone: ScriptedPhone
        private let desk: PhoneDesk
        private let isAwake: Lock<Bool>

        init() async throws {
            let isAwake = Lock(false)
            desk = try PhoneDesk()
            self.isAwake = isAwake
            transport = try desk.transport()
            phone = try ScriptedPhone(link: try await desk.link()) { json, _ in
                guard !json.contains(#""type":"recv""#), isAwake.withLock({ $0 }) else { return nil }
                return (#"{"type":"chatResponse","chatResponse":{"result":{"type":"cmdOk"}}}"#, nil)
            }
            try phone.confirm()
            try await wait(until: "it is connected") { [transport] in
                transport.connection(of: .foreground) == 1
            }
        }

        func ask(_ command: APICommand, _ lane: TransportLane, timeout: Duration = .seconds(60))
            -> Task<OfficialCoreError.Code?, Never>
        {
            Task { [transport] in
                do throws(OfficialCoreError) {
                    _ = try await transport.request(
                        command, lane: lane, timeout: timeout, connection: nil)
                    return nil
                } catch {
                    return error.code
                }
            }
        }

        /// The commands that the phone has got, in order.
        var commands: [String] {
            phone.shared.withLock { $0.requests }.compactMap { request in
                request.firstMatch(of: /"command":"([^"]*)"/).map { String($0.1) }
            }
        }

        func wake() {
            isAwake.withLock { $0 = true }
            phone.release()
        }
    }

    @Test func laneWaitsForTheAnswerAndTheOtherDoesNot() async throws {
        let place = try await Place()
        let first = place.ask(.user, .foreground)
        try await wait(until: "the phone has it") { place.commands == ["/user"] }
        let second = place.ask(.users, .foreground)
        try await Task.sleep(for: .milliseconds(300))
        let other = place.ask(.version, .background)
        try await wait(until: "the phone has another") { place.commands.count == 2 }
        #expect(place.commands == ["/user", "/version"])
        place.wake()
        for outcome in [first, second, other] { #expect(await outcome.value == nil) }
        #expect(place.commands == ["/user", "/version", "/users"])
        await place.transport.close()
    }

    @Test func eventsOfASlowListenerWaitOnTheDisk() async throws {
        let desk = try PhoneDesk()
        let transport = try desk.transport()
        let (asked, count) = (Lock(0), 40)
        let text = String(repeating: "x", count: 100_000)
        let phone = try ScriptedPhone(link: try await desk.link()) { json, _ in
            guard json.contains(#""type":"recv""#) else { return nil }
            let number = asked.withLock { asked in
                asked += 1
                return asked
            }
            guard number <= count else { return nil }
            let event = #"{"type":"event \#(number)","text":"\#(text)"}"#
            return (#"{"type":"chatEvent","chatEvent":{"result":\#(event)}}"#, nil)
        }
        try phone.confirm()
        // The phone is asked although no event is taken.
        try await wait(until: "all are fetched") { asked.withLock { $0 } > count }
        try await wait(until: "some are on the disk") { desk.spills.withLock { $0 } > 0 }
        var names: [String] = []
        for await case .event(let event) in transport.events() {
            if case .other(let name) = event.kind { names.append(name) }
            if names.count == count { break }
        }
        #expect(names == (1...count).map { "event \($0)" })
        phone.leave()
        await transport.close()
    }

    @Test func commandWhoseTurnComesTooLateIsNotSent() async throws {
        let place = try await Place()
        let first = place.ask(.user, .foreground)
        try await wait(until: "the phone has it") { place.commands == ["/user"] }
        #expect(await place.ask(.users, .foreground, timeout: .milliseconds(200)).value == .disconnected)
        place.wake()
        #expect(await first.value == nil)
        #expect(await place.ask(.version, .foreground).value == nil)
        #expect(place.commands == ["/user", "/version"])
        await place.transport.close()
    }
}
