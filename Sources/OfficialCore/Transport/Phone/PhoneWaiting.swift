import Base
import Glibc
import JSON
import Network
import Posix
import RemoteControl

/// Receives events of a phone's sessions.
struct PhoneSessionListener: Sendable {
    var began: @Sendable (PhoneConnection) -> Void
    /// Events were lost.
    var lost: @Sendable () -> Void
    /// Returns when the next event may follow.
    var told: @Sendable (APIEvent) async -> Void
    var ended: @Sendable (PhoneConnection) -> Void
    /// The phone stopped answering (true), or answers again.
    var silent: @Sendable (PhoneConnection, Bool) -> Void
}

/// Waits for one phone at a link and drives its sessions, one after another.
struct PhoneWaiting: Sendable {
    private let settings: PhoneTransportSettings
    private let store: PairingStore

    init(_ settings: PhoneTransportSettings, _ store: PairingStore) {
        (self.settings, self.store) = (settings, store)
    }

    /// Events that advance the wait.
    private enum Step: Sendable {
        case heard(PhoneListenerEvent)
        /// The address in the link is no longer valid.
        case moved
        /// The phone stopped answering (true), or answers again.
        case silent(Bool)
    }

    /// Runs one session, from the link to the end of the session or the task. Errors are reported to the
    /// user, and the caller tries again.
    func haveSession(_ sessions: PhoneSessionListener) async {
        let (steps, next) = AsyncStream.makeStream(of: Step.self)
        let place = await ThreadPool.shared.run { [settings] in settings.place() }
        let (listener, isKnown): (PhoneListener, Bool)
        do {
            (listener, isKnown) = try await listen(at: place) { next.yield(.heard($0)) }
        } catch {
            settings.observe(.failed(sentence(of: error)))
            try? await Task.sleep(for: settings.lookInterval)
            return
        }
        settings.observe(.waiting(link: listener.link, at: listener.endpoint, isKnown: isKnown))
        let helpers = [
            Task { await announce(listener) },
            Task { await follow(place) { next.yield(.moved) } },
        ]
        var session: (connection: PhoneConnection, tasks: [Task<Void, Never>])?
        waiting: for await step in steps {
            switch step {
            case .moved where session != nil: continue
            case .moved: break waiting
            case .silent(let isSilent):
                guard let connection = session?.connection else { continue }
                sessions.silent(connection, isSilent)
                settings.observe(
                    isSilent
                        ? .left(PhoneErrors.silent.sentence)
                        : .connected(device: connection.phone.deviceName))
            case .heard(.confirm(let code)): settings.observe(.code(code))
            case .heard(.gaveUp(let error)): settings.observe(.left(error.sentence))
            case .heard(.refused(let error)):
                // Any program in the network can cause this.
                log.information("connection of a phone refused: error=\(error.sentence)")
            case .heard(.connected(let connection)):
                for helper in helpers { helper.cancel() }
                sessions.began(connection)
                let watch = Task { await watchSilence(of: connection) { next.yield(.silent($0)) } }
                session = (connection, pump(connection, sessions) + [watch])
                settings.observe(.connected(device: connection.phone.deviceName))
            case .heard(.ended):
                settings.observe(.left(PhoneErrors.away.sentence))
                break waiting
            }
        }
        for helper in helpers { helper.cancel() }
        if let session {
            sessions.ended(session.connection)
            session.connection.close()
            for task in session.tasks { task.cancel() }
        }
        await listener.stop()
    }

    /// Listens on the port of the last link if any port is allowed and it is free, because a firewall may
    /// allow it.
    /// - Returns: The listener, and whether the phone is paired.
    private func listen(
        at place: PhonePlace, _ observe: @escaping @Sendable (PhoneListenerEvent) -> Void
    ) async throws -> (PhoneListener, Bool) {
        var listening = PhoneListenerSettings(
            endpoint: place.endpoint, versions: settings.versions, name: settings.computer)
        (listening.advertisedHost, listening.advertisedPort) = (place.host, place.port)
        listening.limits = settings.limits
        return try await ThreadPool.shared.run { [store, listening] () throws(any Error) in
            let pairing = try store.pairing()
            func start(_ port: UInt16) throws -> PhoneListener {
                var listening = listening
                listening.endpoint = Endpoint(host: place.endpoint.host, port: port)
                return try PhoneListener.start(
                    listening, pairing: pairing, time: Int64(time(nil)),
                    remember: { try store.remember($0) }, observe: observe)
            }
            let last = place.endpoint.port == 0 ? try store.port() : nil
            let listener = try last.flatMap { try? start($0) } ?? start(place.endpoint.port)
            if last != listener.endpoint.port { try store.note(port: listener.endpoint.port) }
            return (listener, pairing.phone != nil)
        }
    }

    /// Announces the link until the task is cancelled. Without an announcement the phone finds it by its
    /// code.
    private func announce(_ listener: PhoneListener) async {
        do {
            try await listener.announce(every: settings.announceInterval)
        } catch {
            log.information("announcement to the phone failed: error=\(sentence(of: error))")
        }
    }

    private func follow(_ place: PhonePlace, moved: @Sendable () -> Void) async {
        while (try? await Task.sleep(for: settings.lookInterval)) != nil {
            let present = await ThreadPool.shared.run { [settings] in settings.place() }
            if present != place { return moved() }
        }
    }

    private func watchSilence(of connection: PhoneConnection, tell: @Sendable (Bool) -> Void) async {
        var wasSilent = false
        while connection.isOpen, (try? await Task.sleep(for: settings.silenceInterval)) != nil {
            guard connection.isSilent != wasSilent else { continue }
            wasSilent.toggle()
            tell(wasSilent)
        }
    }

    private func pump(
        _ connection: PhoneConnection, _ sessions: PhoneSessionListener
    ) -> [Task<Void, Never>] {
        let pump = EventPump(connection, makeFile: settings.makeFile)
        return [
            Task { await pump.run() },
            Task {
                while let next = await pump.next() {
                    switch next {
                    case .event(let json): await sessions.told(APIEvent(json))
                    case .lost: sessions.lost()
                    }
                }
            },
        ]
    }
}
