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
            guard !entries.isEmpty || isWanted else {
                if connection.leave({ $0.entries.isEmpty }) != nil { return }
                continue
            }
            let left = schedule.nextTry(isAsked: !entries.isEmpty) - now
            if left > .zero { wait(left) } else { connectAndServe() }
        }
        let rest = connection.leave { _ in true }?.entries ?? []
        for entry in entries + rest { entry.answer(.failure(ServerConnection.closed)) }
    }

    private mutating func takeWork() {
        let work = connection.takeWork()
        entries += work.entries
        isStopping = work.isStopping
        if work.networkChanged { schedule.networkChanged() }
    }

    private func wait(_ duration: Duration) {
        let seconds = duration.components.seconds
        let milliseconds = seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000 + 1
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
            // Nothing was asked, and nobody is to wait for better times.
            if entries.contains(where: { $0.request.subscribes }) { (isWanted, owesConnected) = (true, true) }
            for entry in entries { entry.answer(.failure(isStopping ? ServerConnection.closed : error)) }
            entries = []
            return Log("smp").debug("\(connection.server.text): \(sentenceWithCauses(of: error))")
        }
        schedule.connected(now: now)
        if owesConnected { connection.mailbox.tell(.connected(connection.server)) }
        owesConnected = false
        var session = established
        let asked = entries
        entries = []
        let end = session.serve(asked)
        isStopping = end.isStopping
        isWanted = end.wasSubscribed
        if end.wasSubscribed {
            connection.mailbox.disconnected(connection.server)
            owesConnected = true
        }
        if !end.isIdle { schedule.failed(now: now) }
        if let reason = end.reason {
            Log("smp").debug("\(connection.server.text): \(sentenceWithCauses(of: reason))")
        }
    }
}
