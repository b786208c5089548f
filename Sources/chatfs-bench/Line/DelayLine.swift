import Base
import Glibc
import Posix

/// A line with a delay on this machine: a connection to its port reaches `target` through it. One thread moves all
/// bytes. The windows of the connections bound the bytes in transit.
final class DelayLine: Sendable {
    let port: UInt16
    private let stop: WakeUp
    private let accepted = Lock(0)

    /// The number of connections so far.
    var connections: Int { accepted.withLock { $0 } }

    /// - Parameter target: A port of 127.0.0.1.
    init(to target: UInt16, _ settings: LineSettings = LineSettings()) throws(SystemError) {
        let listener = try LocalPort.listen(buffer: LineConnection.kernelBuffer)
        port = try LocalPort.number(of: listener)
        stop = try WakeUp()
        let (stop, accepted) = (stop, accepted)
        try Thread.begin("delay-line") {
            var loop = LineLoop(listener: listener, target: target, settings: settings, stop: stop)
            loop.run { accepted.withLock { $0 += 1 } }
        }
    }

    /// Ends the line with all bytes in transit.
    func close() { stop.notify() }

    deinit { close() }
}

/// The work of the line's thread.
private struct LineLoop {
    let listener: OpenFile
    let target: UInt16
    let settings: LineSettings
    let stop: WakeUp
    private var forward: SharedLine
    private var back: SharedLine
    private var connections: [LineConnection] = []

    init(listener: OpenFile, target: UInt16, settings: LineSettings, stop: WakeUp) {
        self.listener = listener
        self.target = target
        self.settings = settings
        self.stop = stop
        forward = SharedLine(settings)
        back = SharedLine(settings)
    }

    mutating func run(whenAccepted note: () -> Void) {
        while true {
            var requests = [
                pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            var next: LinePath.Instant?
            for connection in connections {
                requests += connection.interests
                if let event = connection.nextEvent { next = min(next ?? event, event) }
            }
            guard wait(&requests, until: next) else { return }
            if requests[1].revents != 0, let connection = accept() {
                connections.append(connection)
                note()
            }
            for connection in connections { connection.move(&forward, &back) }
            connections.removeAll(where: \.hasEnded)
        }
    }

    /// In milliseconds, the 80th part of a round trip. Returns false at the end.
    private func wait(_ requests: inout [pollfd], until next: LinePath.Instant?) -> Bool {
        let limit = next.map {
            Int32(clamping: Int(((max(.zero, $0 - .now)) / .milliseconds(1)).rounded(.up)))
        }
        poll(&requests, milliseconds: limit ?? -1)
        return requests[0].revents == 0
    }

    private func accept() -> LineConnection? {
        let client = Glibc.accept(listener.descriptor, nil, nil)
        guard client >= 0 else { return nil }
        let file = OpenFile(adopting: client)
        guard let server = try? LocalPort.connect(target, buffer: LineConnection.kernelBuffer) else {
            return nil
        }
        return LineConnection(client: file, server: server, settings)
    }
}

/// A connection: two sockets and a path in each direction. Belongs to the line's thread.
private final class LineConnection {
    /// The buffers of the sockets at both sides, so that the line itself holds the bytes in transit.
    static let kernelBuffer = 256 << 10
    private var up: Flow
    private var down: Flow

    init(client: OpenFile, server: OpenFile, _ settings: LineSettings) {
        // The client learns of the connection after one round trip; it sends nothing until then.
        up = Flow(from: client, to: server, opens: .now + settings.roundTrip, settings)
        down = Flow(from: server, to: client, opens: .now, settings)
        for file in [client, server] {
            _ = fcntl(file.descriptor, F_SETFL, O_NONBLOCK)
            LocalPort.sendWithoutDelay(file)
        }
    }

    var hasEnded: Bool { up.hasFailed || down.hasFailed || up.hasEnded && down.hasEnded }
    var nextEvent: LinePath.Instant? {
        [up.nextEvent, down.nextEvent].compactMap(\.self).min()
    }

    var interests: [pollfd] { up.interests + down.interests }

    func move(_ forward: inout SharedLine, _ back: inout SharedLine) {
        up.move(&forward)
        down.move(&back)
    }
}

/// One direction of a connection: reads from the sender within the window, and writes to the receiver on arrival.
private struct Flow {
    private let source: OpenFile
    private let target: OpenFile
    private let opens: LinePath.Instant
    private var path: LinePath
    private var bytes = ByteStore()
    /// The arrived ones of the kept bytes.
    private var due = 0
    private var mayRead = true
    private var isTargetFull = false
    private var hasSourceEnded = false
    private(set) var hasEnded = false
    private(set) var hasFailed = false

    init(from source: OpenFile, to target: OpenFile, opens: LinePath.Instant, _ settings: LineSettings) {
        self.source = source
        self.target = target
        self.opens = opens
        path = LinePath(settings)
    }

    var interests: [pollfd] {
        var interests: [pollfd] = []
        if mayRead && !hasSourceEnded && opens <= .now {
            interests.append(pollfd(fd: source.descriptor, events: Int16(POLLIN), revents: 0))
        }
        if isTargetFull {
            interests.append(pollfd(fd: target.descriptor, events: Int16(POLLOUT), revents: 0))
        }
        return interests
    }

    var nextEvent: LinePath.Instant? {
        if hasEnded { return nil }
        return opens > .now ? opens : path.nextEvent
    }

    private static let piece = 64 << 10

    mutating func move(_ line: inout SharedLine) {
        guard !hasEnded, !hasFailed, opens <= .now else { return }
        deliver()
        read(into: &line)
        if hasSourceEnded && bytes.isEmpty {
            shutdown(target.descriptor, Int32(SHUT_WR))
            hasEnded = true
        }
    }

    private mutating func deliver() {
        due += path.arrived(by: .now)
        isTargetFull = false
        while due > 0 {
            let part = bytes.first(due)
            let count = part.withUnsafeBytes {
                Glibc.send(target.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else {
                isTargetFull = errno == EAGAIN
                if !isTargetFull && errno != EINTR { hasFailed = true }
                return
            }
            bytes.removeFirst(count)
            due -= count
            path.take(count, at: .now)
        }
    }

    private mutating func read(into line: inout SharedLine) {
        while true {
            // Called at the end too, to process acknowledgements.
            let allowance = path.allowance(at: .now)
            mayRead = allowance > 0
            guard mayRead, !hasSourceEnded else { return }
            var piece = [UInt8](repeating: 0, count: min(allowance, Self.piece))
            let count = recv(source.descriptor, &piece, piece.count, 0)
            if count > 0 {
                piece.removeLast(piece.count - count)
                bytes.append(piece)
                path.send(count, at: .now, into: &line)
            } else if count == 0 {
                hasSourceEnded = true
            } else {
                if errno != EAGAIN && errno != EINTR { hasFailed = true }
                return
            }
        }
    }
}

/// Bytes in order, in the received pieces.
private struct ByteStore {
    private var pieces = ElementQueue<[UInt8]>()
    /// The removed bytes of the first piece.
    private var gone = 0

    var isEmpty: Bool { pieces.first == nil }

    mutating func append(_ piece: [UInt8]) { pieces.append(piece) }

    /// Returns some of the first bytes, at most `count`.
    func first(_ count: Int) -> ArraySlice<UInt8> {
        let piece = pieces.first ?? []
        return piece[gone..<min(piece.count, gone + count)]
    }

    /// The first piece.
    mutating func removeFirst(_ count: Int) {
        gone += count
        guard gone == pieces.first?.count else { return }
        gone = 0
        _ = pieces.popFirst()
    }
}
