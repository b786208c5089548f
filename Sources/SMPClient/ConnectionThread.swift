import Base
import Cryptography
import Glibc
import Network
import Posix
import SMP

/// The thread of one server's connection. Connects on demand, serves the connection, and reconnects.
struct ConnectionThread {
    private let connection: ServerConnection
    private var schedule: ConnectionSchedule
    /// Requests that no connection has taken yet.
    private var entries: [ServerConnection.Entry] = []
    /// The listener has subscribed to this server.
    private var isWanted = false
    /// The listener knows from an event or failed requests that there is no connection.
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

    /// Runs until the server has neither requests nor subscriptions.
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

    /// Fails pending requests. Listeners get an event once there is a connection.
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

    /// - Parameter duration: The time limit, or nil to wait for a change.
    private func wait(_ duration: Duration?) {
        let milliseconds = duration.map { Int64($0 / .milliseconds(1)) + 1 } ?? -1
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
            // There are no requests and no subscriptions to retry for.
            fail(isStopping ? ServerConnection.closed : error)
            return Log("smp").debug("\(connection.server.text): \(sentenceWithCauses(of: error))")
        }
        schedule.connected(now: now)
        connection.outages.connected(connection.server)
        let server = connection.server
        Log("smp").information("server connected: server=\(server.hosts.first ?? "?"):\(server.port)")
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
