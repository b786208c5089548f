import Base
import Cryptography
import Glibc
import Network
import Posix
import SMP

/// The thread of one server's connection: makes it when it is needed, serves it, and makes it again.
struct ConnectionThread {
    private let connection: ServerConnection
    private var schedule: ConnectionSchedule
    /// Asked, and not yet given to a connection.
    private var entries: [ServerConnection.Entry] = []
    /// Somebody has subscribed, and waits to hear of this server.
    private var isWanted = false
    /// Who listens was told, by an event or by failed requests, that there is no connection.
    private var owesConnected = false
    private var isStopping = false
    private var isSuspended = false
    private let start = ContinuousClock.now

    private var settings: ConnectionSettings { connection.settings }
    private var now: Duration { start.duration(to: .now) }

    init(_ connection: ServerConnection) {
        self.connection = connection
        schedule = ConnectionSchedule(connection.settings.retry)
    }

    /// Returns when nobody wants anything of this server any more.
    mutating func run() {
        while true {
            takeWork()
            if isStopping { break }
            if isSuspended { fail(ServerConnection.suspended) }
            guard !entries.isEmpty || isWanted else {
                if connection.leaveUnused() { return }
                continue
            }
            guard !isSuspended else {
                wait(nil)
                continue
            }
            let left = schedule.nextTry(isAsked: !entries.isEmpty) - now
            if left > .zero { wait(left) } else { connectAndServe() }
        }
        let rest = connection.leave { _ in true }?.entries ?? []
        for entry in entries + rest { entry.answer(.failure(ServerConnection.closed)) }
    }

    /// Whoever waits for an answer gets none; who waits for messages hears when there is a connection.
    private mutating func fail(_ error: SMPError) {
        if entries.contains(where: { $0.request.subscribes }) { (isWanted, owesConnected) = (true, true) }
        for entry in entries { entry.answer(.failure(error)) }
        entries = []
    }

    private mutating func takeWork() {
        let work = connection.takeWork()
        entries += work.entries
        isStopping = work.isStopping
        isSuspended = work.isSuspended
        if work.networkChanged { schedule.networkChanged() }
    }

    /// - Parameter duration: nil: until there is something new.
    private func wait(_ duration: Duration?) {
        var milliseconds: Int64 = -1
        if let (seconds, rest) = duration?.components {
            milliseconds = seconds * 1000 + rest / 1_000_000_000_000_000 + 1
        }
        var requests = [pollfd(fd: connection.wakeUp.descriptor, events: Int16(POLLIN), revents: 0)]
        poll(&requests, milliseconds: Int32(clamping: milliseconds))
        connection.wakeUp.clear()
    }

    private mutating func connectAndServe() {
        let established: EstablishedConnection
        do throws(SMPError) {
            established = try EstablishedConnection.make(connection, start: start)
        } catch {
            schedule.failed(now: now)
            takeWork()
            if !isStopping, !isSuspended { connection.outages.failed(connection.server, error.sentence) }
            // Nothing was asked, and nobody is to wait for better times.
            fail(isStopping ? ServerConnection.closed : error)
            return Log("smp").debug("\(connection.server.text): \(sentenceWithCauses(of: error))")
        }
        schedule.connected(now: now)
        connection.outages.connected(connection.server)
        if owesConnected { connection.mailbox.tell(.connected(connection.server)) }
        owesConnected = false
        var session = established
        let asked = entries
        entries = []
        let end = session.serve(asked)
        isStopping = end.isStopping
        isSuspended = end.isSuspended
        isWanted = end.wasSubscribed
        if end.wasSubscribed {
            connection.mailbox.disconnected(connection.server)
            owesConnected = true
        }
        if !end.isIdle, !end.isSuspended { schedule.failed(now: now) }
        if let reason = end.reason {
            Log("smp").debug("\(connection.server.text): \(sentenceWithCauses(of: reason))")
        }
    }
}
