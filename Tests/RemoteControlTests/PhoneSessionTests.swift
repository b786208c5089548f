import Base
import Cryptography
import Glibc
import JSON
import Network
import Posix
import TestSupport
import Testing

@testable import RemoteControl

/// The computer's side of a session, listening on loopback.
final class Computer: Sendable {
    private struct Seen {
        var code: SessionCode?
        var connection: PhoneConnection?
        var gaveUp: [RemoteControlError] = []
        var refused: [NetworkError] = []
        var ended: [NetworkError?] = []
        var phones: [Pairing.Phone] = []
    }

    let pairing: Pairing
    let listener: PhoneListener
    private let seen: Lock<Seen>

    init(
        _ pairing: Pairing? = nil, limits: ReversedServer.Limits = .init(),
        confirmation: Duration = .seconds(300), timeout: Duration = .seconds(65),
        versions: AppVersionRange = RecordedSession.versions,
        remembers: @escaping @Sendable () -> Void = {}
    ) throws {
        let pairing = try pairing ?? .make()
        self.pairing = pairing
        let seen = Lock(Seen())
        self.seen = seen
        var settings = PhoneListenerSettings(
            endpoint: Endpoint(host: "127.0.0.1", port: 0), versions: versions, name: DeviceName("Computer"))
        settings.limits = limits
        (settings.confirmation, settings.timeout) = (confirmation, timeout)
        listener = try PhoneListener.start(
            settings, pairing: pairing, time: 1_800_000_000,
            remember: { phone in
                seen.withLock { $0.phones.append(phone) }
                remembers()
            },
            observe: { event in
                seen.withLock { seen in
                    switch event {
                    case .confirm(let code): seen.code = code
                    case .gaveUp(let error): seen.gaveUp.append(error)
                    case .refused(let error): seen.refused.append(error)
                    case .connected(let connection): seen.connection = connection
                    case .ended(let error): seen.ended.append(error)
                    }
                }
            })
    }

    func code() async throws -> SessionCode {
        try await wait(for: "a code") { seen.withLock { $0.code } }
    }

    func connection() async throws -> PhoneConnection {
        try await wait(for: "a session") { seen.withLock { $0.connection } }
    }

    func gaveUp() async throws -> RemoteControlError {
        try await wait(for: "an attempt that failed") { seen.withLock { $0.gaveUp.first } }
    }

    func refused() async throws -> NetworkError {
        try await wait(for: "a refusal") { seen.withLock { $0.refused.first } }
    }

    func end() async throws -> NetworkError? {
        try await wait(for: "the end") { seen.withLock { $0.ended.first } }
    }

    var phones: [Pairing.Phone] { seen.withLock { $0.phones } }
}

/// Answers like an empty official core, echoes events, and keeps files.
private func answering(_ files: Lock<[String: [UInt8]]> = Lock([:])) -> ScriptedPhone.Script {
    { json, attachment in
        if json.contains(#""type":"recv""#) { return nil }
        if json.contains("storeFile") {
            files.withLock { $0["stored"] = attachment ?? [] }
            return (#"{"type":"fileStored","filePath":"stored"}"#, nil)
        }
        if json.contains("getFile") {
            let file = files.withLock { $0["stored"] } ?? []
            let digest = Base64URL.encode(SHA512.hash(file))
            return (#"{"type":"file","fileSize":\#(file.count),"fileDigest":"\#(digest)"}"#, file)
        }
        return (#"{"type":"chatResponse","chatResponse":{"result":{"type":"cmdOk"}}}"#, nil)
    }
}

private let user: PhoneRequest = {
    guard let command = try? PhoneCommand("/user") else { fatalError("a command of the table") }
    return .command(command, retry: 0)
}()

private let fetch = PhoneRequest.fetchFile(
    PhoneFile(user: 1, file: 1, isSent: true, path: "stored", arguments: nil))

@Suite struct PhoneSessionTests {
    @Test func aPhoneThatScansTheLinkGetsACode() async throws {
        let computer = try Computer()
        let phone = try ScriptedPhone(link: computer.listener.link, script: answering())
        let code = try await computer.code()
        #expect(code == SessionCode(channelBinding: phone.channelBinding))
        #expect(computer.phones.isEmpty, "nothing is kept before the person has confirmed")
        #expect(try computer.listener.announcement() == nil)
        try phone.confirm()
        let connection = try await computer.connection()
        guard case .response(let result) = try await connection.ask(user) else {
            Issue.record("another answer")
            return
        }
        #expect(result.type == "cmdOk" && connection.phone.deviceName == "Telephone")
        #expect(
            computer.phones == [
                Pairing.Phone(
                    authority: phone.authority.fingerprint, agreementKey: phone.agreement.publicKey,
                    deviceName: "Telephone")
            ])
        phone.leave()
        #expect(try await computer.end()?.code == .closed)
        await computer.listener.stop()
    }

    @Test func lostAnswerToTheHelloEndsTheSession() async throws {
        let present = Lock<ScriptedPhone?>(nil)
        let computer = try Computer(remembers: { present.withLock { $0 }?.abort() })
        let phone = try ScriptedPhone(link: computer.listener.link, script: answering())
        present.withLock { $0 = phone }
        #expect(throws: (any Error).self) { try phone.confirm() }
        _ = try await computer.gaveUp()
        _ = try await computer.end()
        await computer.listener.stop()
    }

    @Test func aKnownPhoneFindsTheAnnouncement() async throws {
        var pairing = try Pairing.make()
        let earlier = AgreementKey.generate()
        let authority = try CertificateAuthority.make()
        pairing.phone = Pairing.Phone(
            authority: authority.fingerprint, agreementKey: earlier.publicKey, deviceName: "Telephone")
        let computer = try Computer(pairing)
        let announced = try computer.listener.announcement()
        var packet = ByteReader(try #require(announced))
        let (key, nonce) = (packet.byteString() ?? [], packet.bytes(24) ?? [])
        let link = MessageBox.openPadded(
            packet.rest(), key: try earlier.wipedSecret(with: key), nonce: nonce)
        #expect(link == Array(computer.listener.link.utf8))
        let phone = try ScriptedPhone(
            link: computer.listener.link, authority: authority, script: answering())
        try phone.confirm()
        _ = try await computer.connection().ask(user)
        await computer.listener.stop()
        try await wait(until: "the phone knows") { phone.shared.withLock { $0.hasEnded } }
    }

    @Test func otherPhonesAreRefusedInTheHandshake() async throws {
        var pairing = try Pairing.make()
        let authority = try CertificateAuthority.make()
        pairing.phone = Pairing.Phone(
            authority: authority.fingerprint, agreementKey: AgreementKey.generate().publicKey,
            deviceName: "Telephone")
        let computer = try Computer(pairing)
        let stranger = try ScriptedPhone(link: computer.listener.link, script: answering())
        let end = stranger.waitForEnd()
        let error = try #require(end)
        #expect(sentence(of: error).contains("unknown ca"), "\(error)")
        #expect(try await computer.refused().code == .handshake)
        // The listener continues.
        let phone = try ScriptedPhone(
            link: computer.listener.link, authority: authority, script: answering())
        try phone.confirm()
        _ = try await computer.connection().ask(user)
        await computer.listener.stop()
    }

    @Test func phonesWithoutAPairOfCertificatesAreRefused() async throws {
        let computer = try Computer()
        let nothing = try ScriptedPhone(link: computer.listener.link, showsNothing: true, script: answering())
        #expect(nothing.waitForEnd() != nil)
        let more = try ScriptedPhone(link: computer.listener.link, extra: .make(), script: answering())
        #expect(more.waitForEnd() != nil)
        await computer.listener.stop()
    }

    @Test func thereIsOneSessionAtATime() async throws {
        let computer = try Computer()
        let phone = try ScriptedPhone(link: computer.listener.link, script: answering())
        _ = try await computer.code()
        let second = try ScriptedPhone(link: computer.listener.link, script: answering())
        #expect(second.waitForEnd() != nil)
        try phone.confirm()
        _ = try await computer.connection().ask(user)
        await computer.listener.stop()
    }

    @Test func aPhoneMayLeaveBeforeConfirmingAndReturn() async throws {
        let computer = try Computer()
        let undecided = try ScriptedPhone(link: computer.listener.link, script: answering())
        _ = try await computer.code()
        undecided.hangUp()
        #expect(try await computer.gaveUp().code == .closed)
        let phone = try ScriptedPhone(link: computer.listener.link, script: answering())
        try phone.confirm()
        _ = try await computer.connection().ask(user)
        await computer.listener.stop()
    }

    @Test func aStrangerThatOnlyConnectsTimesOut() async throws {
        let computer = try Computer(confirmation: .milliseconds(300))
        let stranger = try ScriptedPhone(link: computer.listener.link, script: answering())
        #expect(stranger.waitForEnd() != nil)
        #expect(try await computer.gaveUp().code == .timeout)
        await computer.listener.stop()
    }

    @Test func stopDuringTheConfirmationFreesThePhone() async throws {
        let computer = try Computer()
        let phone = try ScriptedPhone(link: computer.listener.link, script: answering())
        _ = try await computer.code()
        await computer.listener.stop()
        #expect(try await computer.gaveUp().code == .cancelled)
        #expect(phone.waitForEnd() != nil)
        #expect(throws: (any Error).self, "a late confirmation fails") { try phone.confirm() }
        #expect(computer.phones.isEmpty)
    }

    /// Several events arrive without a reader: each is fetched in order.
    @Test func eventsAreFetchedWithoutAReader() async throws {
        let (computer, count) = (try Computer(), Lock(0))
        let phone = try ScriptedPhone(link: computer.listener.link) { json, _ in
            guard json.contains(#""type":"recv""#) else { return nil }
            let number = count.withLock { count in
                count += 1
                return count
            }
            guard number <= 300 else { return nil }
            return (#"{"type":"chatEvent","chatEvent":{"result":{"type":"x","number":\#(number)}}}"#, nil)
        }
        try phone.confirm()
        let folder = try TemporaryFolder()
        let path = folder.path("events")
        let pump = EventPump(try await computer.connection()) { () throws(SystemError) in
            try OpenFile(path, flags: O_RDWR | O_CREAT | O_TRUNC)
        }
        let fetching = Task { await pump.run() }
        try await wait(until: "all are fetched") { phone.shared.withLock { $0.requests.count } == 301 }
        for number in 1...300 {
            guard case .event(let event)? = await pump.next() else {
                Issue.record("no event \(number)")
                break
            }
            #expect(event["number"]?.integer == Int64(number))
        }
        phone.leave()
        #expect(await pump.next() == nil)
        await fetching.value
        await computer.listener.stop()
    }

    @Test func failedEventRequestIsReportedAsLoss() async throws {
        let count = Lock(0)
        let pump = EventPump(
            ask: {
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                if number == 2 { throw RemoteControlError(.closed, "The phone gave up the request.") }
                if number > 3 { try await Task.sleep(for: .seconds(60)) }
                return .event(JSONValue.parse(Array(#"{"number":\#(number)}"#.utf8)))
            }, isOpen: { true }, makeFile: { () throws(SystemError) in try OpenFile.inMemory() })
        let fetching = Task { await pump.run() }
        var told: [String] = []
        for _ in 1...3 {
            switch await pump.next() {
            case .event(let event)?: told.append("\(event["number"]?.integer ?? 0)")
            case .lost?: told.append("lost")
            case nil: told.append("end")
            }
        }
        fetching.cancel()
        await fetching.value
        #expect(told == ["1", "3", "lost"])
    }

    @Test func refusedEventRequestsAreNotRepeatedAtOnce() async throws {
        let computer = try Computer()
        let phone = try ScriptedPhone(link: computer.listener.link) { _, _ in
            (#"{"type":"chatResponse","chatResponse":{"error":{"type":"error"}}}"#, nil)
        }
        try phone.confirm()
        let pump = EventPump(try await computer.connection()) { () throws(SystemError) in
            try OpenFile.inMemory()
        }
        let fetching = Task { await pump.run() }
        try await wait(until: "it is refused") { phone.shared.withLock { !$0.requests.isEmpty } }
        try await Task.sleep(for: .milliseconds(500))
        #expect(phone.shared.withLock { $0.requests.count } == 1)
        phone.leave()
        await fetching.value
        await computer.listener.stop()
    }

    @Test func phoneWithAnotherVersionIsRefused() async throws {
        let computer = try Computer()
        let phone = try ScriptedPhone(link: computer.listener.link, script: answering())
        phone.version = "6.4.4.1"
        #expect(throws: (any Error).self) { try phone.confirm() }
        #expect(try await computer.gaveUp().code == .incompatible)
        #expect(computer.phones.isEmpty)
        await computer.listener.stop()
    }

    @Test(arguments: [0, 1, 16_384, 3_000_001])
    func filesGoBothWays(size: Int) async throws {
        let (computer, files) = (try Computer(), Lock<[String: [UInt8]]>([:]))
        let phone = try ScriptedPhone(link: computer.listener.link, script: answering(files))
        try phone.confirm()
        let connection = try await computer.connection()
        let content = SystemRandomSource().bytes(size)
        let answer = try await connection.ask(
            .storeFile(name: "a.bin", size: UInt64(size), digest: SHA512.hash(content)),
            attachment: BytesBody(content))
        guard case .stored("stored") = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(files.withLock { $0["stored"] } == content)
        let fetched = CollectedBody(limit: size)
        _ = try await connection.ask(fetch, file: fetched)
        #expect(fetched.bytes == content)
        await computer.listener.stop()
    }

    @Test func filesOtherThanAnnouncedAreRefused() async throws {
        for announced in [
            #""fileSize":3,"fileDigest":"\#(Base64URL.encode(SHA512.hash([1, 2])))""#,
            #""fileSize":2,"fileDigest":"\#(Base64URL.encode(SHA512.hash([1, 2, 3])))""#,
        ] {
            let computer = try Computer()
            let phone = try ScriptedPhone(link: computer.listener.link) { _, _ in
                (#"{"type":"file",\#(announced)}"#, [1, 2, 3])
            }
            try phone.confirm()
            let connection = try await computer.connection()
            await #expect(throws: RemoteControlError.self) {
                _ = try await connection.ask(fetch, file: CollectedBody(limit: 100))
            }
            await computer.listener.stop()
        }
    }

    /// One `recv` waits while commands are answered, so the phone's numbers differ from those of requests.
    @Test func requestsAreAnsweredDuringAWaitingOne() async throws {
        let computer = try Computer()
        let phone = try ScriptedPhone(link: computer.listener.link) { [released = Lock(false)] json, _ in
            guard json.contains("recv") else {
                return (#"{"type":"chatResponse","chatResponse":{"result":{"type":"cmdOk"}}}"#, nil)
            }
            let isFirst = released.withLock { isReleased in
                defer { isReleased = true }
                return !isReleased
            }
            return isFirst ? nil : (#"{"type":"chatEvent","chatEvent":{"result":{"type":"x"}}}"#, nil)
        }
        try phone.confirm()
        let connection = try await computer.connection()
        let event = Task { try await connection.ask(.nextEvent(.seconds(30))) }
        try await wait(until: "it waits") { phone.shared.withLock { $0.requests.count } == 1 }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<40 { group.addTask { _ = try await connection.ask(user) } }
            try await group.waitForAll()
        }
        phone.release()
        guard case .event(let told?) = try await event.value else {
            Issue.record("no event")
            return
        }
        #expect(told.type == "x")
        await computer.listener.stop()
    }

    @Test func noStreamIsEverReset() async throws {
        let (computer, files) = (
            try Computer(), Lock<[String: [UInt8]]>(["stored": SystemRandomSource().bytes(4 << 20)])
        )
        let phone = try ScriptedPhone(link: computer.listener.link, script: answering(files))
        try phone.confirm()
        let connection = try await computer.connection()
        // Cancelled while it waits, and while its file arrives.
        let event = Task { try await connection.ask(.nextEvent(.seconds(30))) }
        try await wait(until: "it waits") { phone.shared.withLock { $0.requests.count } == 1 }
        event.cancel()
        await #expect(throws: RemoteControlError.self) { _ = try await event.value }
        await #expect(throws: (any Error).self) {
            _ = try await connection.ask(fetch, file: CollectedBody(limit: 100))
        }
        _ = try await connection.ask(user)
        _ = try await connection.ask(user)
        #expect(phone.shared.withLock { $0.resets } == 0)
        #expect(phone.shared.withLock { $0.failure } == nil)
        await computer.listener.stop()
    }

    /// Returns the error of a request.
    private static func failure(
        of request: PhoneRequest, _ connection: PhoneConnection
    ) async -> RemoteControlErrorCode? {
        do {
            _ = try await connection.ask(request, file: CollectedBody(limit: 100))
            return nil
        } catch {
            return (error as? RemoteControlError)?.code
        }
    }

    @Test func unansweredRequestsTimeOutWithoutEndingTheSession() async throws {
        let computer = try Computer(timeout: .seconds(2))
        let isAwake = Lock(false)
        let answer = answering(Lock(["stored": [1, 2, 3]]))
        let phone = try ScriptedPhone(link: computer.listener.link) { json, file in
            guard isAwake.withLock({ $0 }) else { return nil }
            guard json.contains(#""type":"recv""#) else { return answer(json, file) }
            return (#"{"type":"chatEvent","chatEvent":{"result":{"type":"x"}}}"#, nil)
        }
        try phone.confirm()
        let connection = try await computer.connection()
        let event = Task { try await connection.ask(.nextEvent(.seconds(30))) }
        async let command = Self.failure(of: user, connection)
        async let file = Self.failure(of: fetch, connection)
        #expect(await [command, file] == [.timeout, .timeout])
        #expect(connection.isOpen && !connection.isSilent)
        // The late answers are dropped. The request for an event has waited for its own.
        isAwake.withLock { $0 = true }
        phone.release()
        guard case .event(let told?) = try await event.value else {
            Issue.record("no event")
            return
        }
        #expect(told.type == "x")
        let fetched = CollectedBody(limit: 100)
        _ = try await connection.ask(fetch, file: fetched)
        #expect(fetched.bytes == [1, 2, 3])
        #expect(phone.shared.withLock { $0.resets == 0 && $0.failure == nil })
        await computer.listener.stop()
    }

    @Test func requestsThatThePhoneGivesUpEndAlone() async throws {
        let computer = try Computer()
        let isFirst = Lock(true)
        let answer = answering()
        let phone = try ScriptedPhone(link: computer.listener.link) { json, file in
            let isFirst = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            return isFirst ? nil : answer(json, file)
        }
        try phone.confirm()
        let connection = try await computer.connection()
        let givenUp = Task { await Self.failure(of: user, connection) }
        try await wait(until: "the phone has it") { phone.shared.withLock { !$0.requests.isEmpty } }
        phone.giveUp()
        #expect(await givenUp.value == .closed)
        #expect(connection.isOpen)
        _ = try await connection.ask(user)
        await computer.listener.stop()
    }

    @Test func idleSessionOutlastsItsLimits() async throws {
        var limits = ReversedServer.Limits()
        (limits.question, limits.silence, limits.end) = (.milliseconds(200), .seconds(1), .seconds(2))
        let computer = try Computer(limits: limits)
        let phone = try ScriptedPhone(link: computer.listener.link, script: answering())
        try phone.confirm()
        let connection = try await computer.connection()
        try await Task.sleep(for: .seconds(4))
        #expect(connection.isOpen && !connection.isSilent)
        _ = try await connection.ask(user)
        await computer.listener.stop()
    }

    @Test func aFrozenPhoneIsSilentAndContinues() async throws {
        var limits = ReversedServer.Limits()
        (limits.question, limits.silence) = (.milliseconds(200), .milliseconds(600))
        let computer = try Computer(limits: limits)
        let phone = try ScriptedPhone(link: computer.listener.link, script: answering())
        try phone.confirm()
        let connection = try await computer.connection()
        _ = try await connection.ask(user)
        phone.freeze(true)
        try await wait(until: "it is silent") { connection.isSilent }
        let late = Task { try await connection.ask(user) }
        phone.freeze(false)
        _ = try await late.value
        try await wait(until: "it is there again") { !connection.isSilent }
        await computer.listener.stop()
    }

    @Test func aLongSilentPhoneIsDropped() async throws {
        var limits = ReversedServer.Limits()
        (limits.question, limits.silence, limits.end) = (
            .milliseconds(100), .milliseconds(300), .milliseconds(900)
        )
        let computer = try Computer(limits: limits)
        let phone = try ScriptedPhone(link: computer.listener.link, script: answering())
        phone.freeze(true)
        try phone.confirm()
        #expect(try await computer.end()?.code == .timeout)
        phone.leave()
        await computer.listener.stop()
    }

    @Test func requestsFailAfterTheSession() async throws {
        let computer = try Computer()
        let phone = try ScriptedPhone(link: computer.listener.link, script: answering())
        try phone.confirm()
        let connection = try await computer.connection()
        let event = Task { try await connection.ask(.nextEvent(.seconds(30))) }
        try await wait(until: "it waits") { phone.shared.withLock { $0.requests.count } == 1 }
        phone.leave()
        do {
            _ = try await event.value
            Issue.record("an answer")
        } catch let error as RemoteControlError {
            #expect(error.code == .closed)
        }
        #expect(!connection.isOpen)
        await #expect(throws: RemoteControlError.self) { _ = try await connection.ask(user) }
        await computer.listener.stop()
    }
}

@Suite struct SessionMachineTests {
    @Test func oneConnectionHasTheSession() {
        var machine = SessionMachine()
        #expect(machine.connected(1) == .confirm)
        #expect(machine.connected(2) == .refuse)
        #expect(machine.greeted(2) == .refuse)
        #expect(machine.ended(2) == .refuse)
        #expect(machine.greeted(1) == .begin)
        #expect(machine.greeted(1) == .refuse)
        #expect(machine.connected(3) == .refuse)
        #expect(machine.ended(1) == .end)
        #expect(machine.connected(4) == .refuse)
        #expect(machine.phase == .over)
    }

    @Test func aFailedAttemptPermitsTheNextOne() {
        var machine = SessionMachine()
        _ = machine.connected(1)
        #expect(machine.ended(1) == .waitAgain)
        #expect(machine.connected(2) == .confirm)
        #expect(machine.ended(1) == .refuse)
        #expect(machine.greeted(2) == .begin)
    }
}
